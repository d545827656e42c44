package memnet

import (
	"net"
	"net/netip"
)

// Listener accepts connections in memory.
type Listener struct {
	host *Host
	addr *net.TCPAddr
	key  netip.AddrPort
	queue
}

// Accept waits for a connection.
func (l *Listener) Accept() (net.Conn, error) { return l.take() }

// Close ends Accept and resets the connections that nobody accepted.
func (l *Listener) Close() error {
	if !l.end(opError("accept", nil, l.addr, net.ErrClosed)) {
		return opError("close", nil, l.addr, net.ErrClosed)
	}
	n := l.host.n
	n.mu.Lock()
	delete(n.listeners, l.key)
	delete(n.ports, l.key)
	n.mu.Unlock()
	return nil
}

// Addr is a *net.TCPAddr.
func (l *Listener) Addr() net.Addr { return l.addr }
