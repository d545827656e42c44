package memnet

import (
	"net"
	"sync"
	"syscall"
)

// backlog is how many connections wait for Accept; more are refused.
const backlog = 4096

// queue holds the connections in memory that wait for Accept.
type queue struct {
	changed func() // called with mu held when a connection has come, or the end

	mu    sync.Mutex
	conns []*Conn
	ended bool
}

// offer reports whether c waits now.
func (q *queue) offer(c *Conn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || len(q.conns) == backlog {
		return false
	}
	q.conns = append(q.conns, c)
	q.changed()
	return true
}

// takeLocked gives the connection that has waited longest; nil for none.
func (q *queue) takeLocked() *Conn {
	if len(q.conns) == 0 {
		return nil
	}
	c := q.conns[0]
	q.conns[0] = nil
	q.conns = q.conns[1:]
	return c
}

// end refuses connections from now on and resets those that nobody accepted. It reports whether it was the first to do so.
func (q *queue) end() bool {
	q.mu.Lock()
	first := !q.ended
	q.ended = true
	conns := q.conns
	q.conns = nil
	q.changed()
	q.mu.Unlock()
	for _, c := range conns {
		c.cut(syscall.ECONNRESET)
		_ = c.Close() // nobody else has it
	}
	return first
}

// Listener accepts connections in memory.
type Listener struct {
	host string
	n    *Network
	addr *net.TCPAddr
	queue
	more sync.Cond
}

func newListener(n *Network, host string, addr *net.TCPAddr) *Listener {
	l := &Listener{host: host, n: n, addr: addr}
	l.more.L = &l.mu
	l.changed = l.more.Broadcast
	return l
}

// Accept waits for a connection.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if c := l.takeLocked(); c != nil {
			return c, nil
		}
		if l.ended {
			return nil, opError("accept", nil, l.addr, net.ErrClosed)
		}
		l.more.Wait()
	}
}

// Close ends Accept and resets the connections that nobody accepted.
func (l *Listener) Close() error {
	if !l.end() {
		return opError("close", nil, l.addr, net.ErrClosed)
	}
	at := addrPort(l.addr)
	l.n.mu.Lock()
	delete(l.n.listeners, at)
	delete(l.n.ports, at)
	l.n.mu.Unlock()
	return nil
}

// Addr is a *net.TCPAddr.
func (l *Listener) Addr() net.Addr { return l.addr }
