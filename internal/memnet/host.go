package memnet

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// connectTimeout is how long a dial without a deadline waits on a way that nothing passes, as on Linux.
const connectTimeout = 127 * time.Second

// Host is a node's view of the network. Dial and Listen are a dfs.DialFunc and a dfs.ListenFunc.
type Host struct {
	n    *Network
	name string
	ip   netip.Addr

	dial   dfs.DialFunc // of a wrapped host; nil in memory
	listen dfs.ListenFunc
	near   bool // a wrapped host that reaches others of the network in memory
}

// Name is the host's name, as verbs take it.
func (h *Host) Name() string { return h.name }

// IP is the host's address.
func (h *Host) IP() string { return h.ip.String() }

// Guest gives another host at h's address: a second program on the same machine, which verbs know by a name of its own.
func (h *Host) Guest(name string) *Host {
	g := *h
	g.name = name
	return &g
}

// Listen opens a listener; port 0 takes a free one.
func (h *Host) Listen(network, addr string) (net.Listener, error) {
	if h.listen != nil {
		return h.listenWrapped(network, addr)
	}
	n := h.n
	n.mu.Lock()
	defer n.mu.Unlock()
	at, err := n.parseLocked(addr, h)
	switch {
	case err != nil:
	case n.upLocked(h.name, h.name) != nil:
		err = n.upLocked(h.name, h.name)
	case network != "tcp" && network != "tcp4":
		err = net.UnknownNetworkError(network)
	default:
		at, err = n.takePortLocked(at.Addr(), at.Port())
	}
	if err != nil {
		return nil, opError("listen", nil, netAddr(at), err)
	}
	l := newListener(n, h.name, tcpAddr(at))
	n.listeners[at] = l
	n.owners[at] = h.name
	return l, nil
}

// Dial connects to the host that listens on addr. It waits while the rules let nothing pass.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if h.dial != nil {
		return h.dialWrapped(ctx, network, addr)
	}
	n := h.n
	n.mu.Lock()
	at, err := n.parseLocked(addr, h)
	n.mu.Unlock()
	if err == nil && network != "tcp" && network != "tcp4" {
		err = net.UnknownNetworkError(network)
	}
	if err == nil {
		err = n.pass(ctx, h.name, at)
	}
	if err != nil {
		return nil, opError("dial", nil, netAddr(at), err)
	}
	n.mu.Lock()
	l := n.listeners[at]
	n.mu.Unlock()
	if l == nil {
		return nil, opError("dial", nil, netAddr(at), syscall.ECONNREFUSED)
	}
	return h.connect(l.host, at, &l.queue)
}

// connect makes a connection in memory to the host that listens at an address, and puts its other end in the listener's
// queue.
func (h *Host) connect(to string, at netip.AddrPort, q *queue) (net.Conn, error) {
	near, far, err := h.ends(to, at)
	if err == nil && !q.offer(far) {
		_, _ = near.Close(), far.Close() // just made
		err = syscall.ECONNREFUSED
	}
	if err != nil {
		return nil, opError("dial", nil, netAddr(at), err)
	}
	return near, nil
}

// ends makes both ends of a connection.
func (h *Host) ends(to string, at netip.AddrPort) (near, far *Conn, err error) {
	n := h.n
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.upLocked(h.name, to); err != nil {
		return nil, nil, err
	}
	port, err := n.takePortLocked(h.ip, 0)
	if err != nil {
		return nil, nil, err
	}
	way := pair{h.name, to}
	there, back := newPipe(&n.pool, n.opts.Buffer), newPipe(&n.pool, n.opts.Buffer)
	there.arrived, back.arrived = back.peerClosed, there.peerClosed
	near = &Conn{n: n, way: way, local: tcpAddr(port), remote: tcpAddr(at), in: back, out: there, sent: n.counterLocked(way), dialled: true}
	far = &Conn{n: n, way: way.back(), local: near.remote, remote: near.local, in: there, out: back, sent: n.counterLocked(way.back())}
	n.conns[near], n.conns[far] = true, true
	near.refreshLocked()
	far.refreshLocked()
	return near, far, nil
}

// pass waits until a connection from a host to an address can be set up: there and back.
func (n *Network) pass(ctx context.Context, from string, at netip.AddrPort) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	giveUp := time.Now().Add(connectTimeout)
	for {
		n.mu.Lock()
		way := pair{from, n.ownerLocked(at)}
		there, back := n.ruleLocked(way), n.ruleLocked(way.back())
		err := n.upLocked(from, from)
		d := max(there.Delay, 0) + max(back.Delay, 0)
		passes := !there.silent() && !back.silent()
		if err == nil && passes && d == 0 {
			n.mu.Unlock()
			return nil
		}
		changed := n.waitLocked()
		n.mu.Unlock()
		if err != nil {
			return err
		}
		var arrival <-chan time.Time
		if passes {
			arrival = time.After(d)
		}
		select {
		case <-arrival:
			return nil
		case <-changed:
		case <-time.After(time.Until(giveUp)):
			return syscall.ETIMEDOUT
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ownerLocked is the host at an address: who listens there or was the last to, else whose IP it is.
func (n *Network) ownerLocked(at netip.AddrPort) string {
	if name, ok := n.owners[at]; ok {
		return name
	}
	if h := n.ips[at.Addr()]; h != nil {
		return h.name
	}
	return Outside
}

func tcpAddr(a netip.AddrPort) *net.TCPAddr { return net.TCPAddrFromAddrPort(a) }

// netAddr is nil for what could not be parsed.
func netAddr(a netip.AddrPort) net.Addr {
	if !a.IsValid() {
		return nil
	}
	return tcpAddr(a)
}
