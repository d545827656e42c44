package memnet

import (
	"net"
	"sync"
	"syscall"
)

// backlog is how many connections wait for Accept; more are refused.
const backlog = 4096

// queue holds the connections that wait for Accept.
type queue struct {
	mu    sync.Mutex
	more  sync.Cond
	conns []queued
	once  error // what Accept gives one time
	ended error // what Accept gives for ever
}

type queued interface {
	net.Conn
	endpoint
}

// take waits for a connection.
func (q *queue) take() (net.Conn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.conns) == 0 {
		if err := q.ended; err != nil {
			return nil, err
		}
		if err := q.once; err != nil {
			q.once = nil
			q.more.Broadcast()
			return nil, err
		}
		q.more.Wait()
	}
	c := q.conns[0]
	q.conns[0] = nil
	q.conns = q.conns[1:]
	return c, nil
}

// offer reports whether c waits now.
func (q *queue) offer(c queued) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended != nil || len(q.conns) == backlog {
		return false
	}
	q.conns = append(q.conns, c)
	q.more.Broadcast()
	return true
}

// fail gives err to one Accept, and returns when that has it.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.once = err
	q.more.Broadcast()
	for q.once != nil && q.ended == nil {
		q.more.Wait()
	}
}

// end makes Accept give err from now on and resets the connections that nobody accepted. It reports whether it was the
// first to do so.
func (q *queue) end(err error) bool {
	q.mu.Lock()
	first := q.ended == nil
	if first {
		q.ended = err
	}
	conns := q.conns
	q.conns = nil
	q.more.Broadcast()
	q.mu.Unlock()
	for _, c := range conns {
		c.cut(syscall.ECONNRESET)
		_ = c.Close() // nobody else has it
	}
	return first
}
