package memnet

import (
	"context"
	"net"
	"net/netip"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Wrap gives a host whose connections are those of dial and listen, real sockets say, and obey the network's rules.
// Rules are carried out where bytes are read, so that a sender behaves as with a slow or silent receiver; bytes to
// someone Outside, whose reading is out of reach, are held or dropped before they are written. While no rule applies to a
// connection its reads and writes go straight to the one below, and its ReadFrom keeps what that one can do (sendfile).
func (n *Network) Wrap(name string, dial dfs.DialFunc, listen dfs.ListenFunc) *Host {
	n.Host(name)
	return &Host{n: n, name: name, ip: netip.AddrFrom4([4]byte{127, 0, 0, 1}), dial: dial, listen: listen}
}

// WrappedListener accepts connections of a listener below.
type WrappedListener struct {
	net.Listener
	n    *Network
	host string
}

func (h *Host) listenWrapped(network, addr string) (net.Listener, error) {
	raw, err := h.listen(network, addr)
	if err != nil {
		return nil, err
	}
	n := h.n
	l := &WrappedListener{Listener: raw, n: n, host: h.name}
	n.mu.Lock()
	closed := n.closed
	if !closed {
		n.wrapped[l] = true
		n.served[addrPort(raw.Addr())] = h.name
	}
	n.mu.Unlock()
	if closed {
		return nil, opError("listen", nil, raw.Addr(), firstError(raw.Close(), net.ErrClosed))
	}
	return l, nil
}

// Accept waits for a connection.
func (l *WrappedListener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.n.adopt(raw, pair{from: l.host}, false)
}

// Close closes the listener below.
func (l *WrappedListener) Close() error {
	l.n.mu.Lock()
	delete(l.n.wrapped, l)
	delete(l.n.served, addrPort(l.Addr()))
	l.n.mu.Unlock()
	return l.Listener.Close()
}

func (h *Host) dialWrapped(ctx context.Context, network, addr string) (net.Conn, error) {
	n := h.n
	n.mu.Lock()
	at, err := n.parseLocked(addr, h)
	n.mu.Unlock()
	if err == nil { // the dial below has its own opinion of other addresses
		if err := n.pass(ctx, h.name, at); err != nil {
			return nil, opError("dial", nil, tcpAddr(at), err)
		}
	}
	raw, err := h.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	to := n.ownerLocked(addrPort(raw.RemoteAddr()))
	n.mu.Unlock()
	return n.adopt(raw, pair{h.name, to}, true)
}

// adopt takes a connection in. Who is at the other end of an accepted one is not known yet.
func (n *Network) adopt(raw net.Conn, way pair, dialled bool) (net.Conn, error) {
	c := &WrappedConn{raw: raw, n: n, way: way, dialled: dialled, gone: make(chan struct{})}
	c.idle.L = &c.mu
	n.mu.Lock()
	closed := n.closed
	if !closed {
		n.conns[c] = true
		if dialled {
			n.dialled[flow{addrPort(raw.LocalAddr()), addrPort(raw.RemoteAddr())}] = way.from
		}
		c.refreshLocked()
	}
	n.mu.Unlock()
	if closed {
		return nil, opError("dial", nil, raw.RemoteAddr(), firstError(raw.Close(), net.ErrClosed))
	}
	return c, nil
}

// flow is a connection as its dialling end sees it.
type flow struct{ local, remote netip.AddrPort }

func addrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	p := t.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

// resetRaw closes a real connection so that the other end sees a reset.
func resetRaw(c net.Conn) error {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // at worst the other end sees an orderly close
	}
	return c.Close()
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
