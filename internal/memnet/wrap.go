package memnet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// dialWait bounds how long Accept waits to hear of a dial that is through for the kernel, not yet for the dialler.
const dialWait = time.Second

// Wrap gives a host whose connections are those of dial and listen, real sockets say, and obey the network's rules.
// Rules are carried out where bytes are read, so that a sender behaves as with a slow or silent receiver; bytes to
// someone Outside, whose reading is out of reach, are held or dropped before they are written. While no rule applies to a
// connection its reads and writes go straight to the one below, and its ReadFrom keeps what that one can do (sendfile).
// Once one has applied, the connection's reads take the long way to its end. What the system itself tells a writer (that
// the other end has closed) no rule holds back.
func (n *Network) Wrap(name string, dial dfs.DialFunc, listen dfs.ListenFunc) *Host {
	n.Host(name)
	return &Host{n: n, name: name, ip: netip.AddrFrom4([4]byte{127, 0, 0, 1}), dial: dial, listen: listen}
}

// Near gives the same wrapped host, at an address, which reaches the listeners of the network's other hosts in memory: the
// kernel carries only what comes from Outside or goes there.
func (h *Host) Near(ip netip.Addr) *Host {
	near := *h
	near.ip, near.near = ip, true
	return &near
}

// WrappedListener accepts connections of a listener below, and those in memory.
type WrappedListener struct {
	net.Listener
	below interruptible // the same; nil where it is none, and cannot accept connections in memory
	n     *Network
	host  string
	queue
}

func (h *Host) listenWrapped(network, addr string) (net.Listener, error) {
	raw, err := h.listen(network, addr)
	if err != nil {
		return nil, err
	}
	n := h.n
	l := &WrappedListener{Listener: raw, n: n, host: h.name}
	l.below, _ = raw.(interruptible)
	l.changed = l.interrupt
	n.mu.Lock()
	err = n.upLocked(h.name, h.name)
	if err == nil {
		n.wrapped[addrPort(raw.Addr())] = l
		n.owners[addrPort(raw.Addr())] = h.name
	}
	n.mu.Unlock()
	if err != nil {
		_ = raw.Close() // nobody has seen it
		return nil, opError("listen", nil, raw.Addr(), err)
	}
	return l, nil
}

// interruptible is a listener whose Accept can be made to return.
type interruptible interface{ SetDeadline(time.Time) error }

// interrupt makes Accept look at the queue.
func (l *WrappedListener) interrupt() {
	if l.below != nil {
		_ = l.below.SetDeadline(time.Unix(1, 0)) // a closed listener shows in Accept
	}
}

// next takes a connection from the queue; where there is none the listener below is to be asked.
func (l *WrappedListener) next() *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.takeLocked()
	if c == nil && !l.ended {
		_ = l.below.SetDeadline(time.Time{}) // likewise
	}
	return c
}

// Accept waits for a connection.
func (l *WrappedListener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if l.below != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			if c := l.next(); c != nil {
				return c, nil
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		from := l.n.dialler(flow{addrPort(raw.RemoteAddr()), addrPort(raw.LocalAddr())})
		if c, err := l.n.adopt(raw, pair{l.host, from}, from); err == nil {
			return c, nil
		}
	}
}

// Close closes the listener below and resets the connections that nobody accepted.
func (l *WrappedListener) Close() error {
	l.n.mu.Lock()
	if at := addrPort(l.Addr()); l.n.wrapped[at] == l {
		delete(l.n.wrapped, at)
	}
	l.n.mu.Unlock()
	err := l.Listener.Close()
	l.end()
	return err
}

func (h *Host) dialWrapped(ctx context.Context, network, addr string) (net.Conn, error) {
	n := h.n
	n.mu.Lock()
	at, err := n.parseLocked(addr, h)
	n.mu.Unlock()
	if err == nil { // the dial below has its own opinion of other addresses
		if err := n.pass(ctx, h.name, at); err != nil {
			return nil, opError("dial", nil, netAddr(at), err)
		}
	}
	n.mu.Lock()
	l := n.wrapped[at]
	if h.near && l != nil && l.below != nil {
		n.mu.Unlock()
		return h.connect(l.host, at, &l.queue)
	}
	n.dialling[at]++
	n.mu.Unlock()
	raw, err := h.dial(ctx, network, addr)
	n.mu.Lock()
	if n.dialling[at]--; n.dialling[at] == 0 {
		delete(n.dialling, at)
	}
	var to string
	if err == nil {
		f := flow{addrPort(raw.LocalAddr()), addrPort(raw.RemoteAddr())}
		n.dialled[f] = h.name
		to = n.ownerLocked(f.remote)
	}
	n.wakeLocked()
	n.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c, err := n.adopt(raw, pair{h.name, to}, h.name)
	if err != nil {
		return nil, opError("dial", nil, raw.RemoteAddr(), err)
	}
	return c, nil
}

// dialler says who dialled an accepted connection: a host of the network, which says so when its dial is through, or else
// someone Outside.
func (n *Network) dialler(f flow) string {
	patience := time.NewTimer(dialWait)
	defer patience.Stop()
	for {
		n.mu.Lock()
		host, ok := n.dialled[f]
		delete(n.dialled, f)
		busy := n.dialling[f.remote] > 0
		changed := n.waitLocked()
		n.mu.Unlock()
		if ok {
			return host
		}
		if !busy {
			return Outside
		}
		select {
		case <-changed:
		case <-patience.C:
			return Outside
		}
	}
}

// adopt takes a connection in, or resets it when the hosts are not to be connected.
func (n *Network) adopt(raw net.Conn, way pair, dialler string) (*WrappedConn, error) {
	c := &WrappedConn{raw: raw, n: n, way: way, gone: make(chan struct{})}
	c.idle.L = &c.mu
	to := way.to
	if to == dialler {
		to = way.from
	}
	n.mu.Lock()
	err := n.upLocked(dialler, to)
	if err == nil {
		c.sent = n.counterLocked(way)
		n.conns[c] = true
		c.refreshLocked()
	}
	n.mu.Unlock()
	if err != nil {
		_ = resetRaw(raw) // nobody has seen it
		return nil, err
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
	if t, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = t.SetLinger(0) // at worst the other end sees an orderly close
	}
	return c.Close()
}
