package memnet

import (
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// backlog is how many connections wait for Accept; more are refused.
const backlog = 4096

// Listener accepts connections in memory.
type Listener struct {
	host *Host
	addr *net.TCPAddr
	key  netip.AddrPort

	mu     sync.Mutex
	more   sync.Cond
	queue  []*Conn
	closed bool
}

// Accept waits for a connection.
func (l *Listener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.more.Wait()
	}
	if l.closed {
		return nil, opError("accept", nil, l.addr, net.ErrClosed)
	}
	c := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	return c, nil
}

// Close ends Accept and resets the connections that nobody accepted.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return opError("close", nil, l.addr, net.ErrClosed)
	}
	l.closed = true
	queue := l.queue
	l.queue = nil
	l.more.Broadcast()
	l.mu.Unlock()

	n := l.host.n
	n.mu.Lock()
	delete(n.listeners, l.key)
	delete(n.ports, l.key)
	n.mu.Unlock()
	for _, c := range queue {
		c.cut(syscall.ECONNRESET)
		_ = c.Close() // nobody else has it
	}
	return nil
}

// Addr is a *net.TCPAddr.
func (l *Listener) Addr() net.Addr { return l.addr }

func (l *Listener) offer(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.queue) == backlog {
		return false
	}
	l.queue = append(l.queue, c)
	l.more.Signal()
	return true
}
