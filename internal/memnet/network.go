package memnet

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// Outside is the host of whoever is not on the network: programs that connect to a wrapped listener from elsewhere.
const Outside = "outside"

const (
	defaultBuffer    = 256 << 10
	defaultFirstPort = 20000
)

// Options shape a Network. The zero value is the default.
type Options struct {
	Buffer    int    // bytes a direction of a connection holds: 256 KiB
	FirstPort uint16 // where to begin with handing out ports: 20000
	OwnIPs    bool   // gives each host an address of its own, 127.0.1.1 and on, instead of 127.0.0.1
}

// Network connects hosts. Its methods may be called at any time, by anyone.
type Network struct {
	opts Options
	pool sync.Pool // of *chunk

	mu        sync.Mutex
	closed    bool
	hosts     map[string]*Host
	ips       map[netip.Addr]*Host // of hosts with their own
	ports     map[netip.AddrPort]bool
	nextPort  uint16
	listeners map[netip.AddrPort]*Listener
	owners    map[netip.AddrPort]string // host that listens at an address, or did last
	dialled   map[flow]string           // host that dialled a wrapped connection, until the accepting end knows
	dialling  map[netip.AddrPort]int    // wrapped dials under way
	wrapped   map[netip.AddrPort]*WrappedListener
	conns     map[endpoint]bool // that are not closed
	rules     map[pair]Rule
	down      map[string]bool // hosts
	paused    map[string]bool // hosts
	sent      map[pair]*atomic.Int64
	changed   chan struct{} // closed when rules change; nil while nobody waits
}

// New makes a network without hosts.
func New(o Options) *Network {
	if o.Buffer <= 0 {
		o.Buffer = defaultBuffer
	}
	if o.FirstPort == 0 {
		o.FirstPort = defaultFirstPort
	}
	return &Network{
		opts:      o,
		pool:      sync.Pool{New: func() any { return new(chunk) }},
		hosts:     map[string]*Host{},
		ips:       map[netip.Addr]*Host{},
		ports:     map[netip.AddrPort]bool{},
		nextPort:  o.FirstPort,
		listeners: map[netip.AddrPort]*Listener{},
		owners:    map[netip.AddrPort]string{},
		dialled:   map[flow]string{},
		dialling:  map[netip.AddrPort]int{},
		wrapped:   map[netip.AddrPort]*WrappedListener{},
		conns:     map[endpoint]bool{},
		rules:     map[pair]Rule{},
		down:      map[string]bool{},
		paused:    map[string]bool{},
		sent:      map[pair]*atomic.Int64{},
	}
}

// Host gives the host of that name, which comes into being when it is first asked for.
func (n *Network) Host(name string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.hosts[name]
	if h == nil {
		h = &Host{n: n, name: name, ip: netip.AddrFrom4([4]byte{127, 0, 0, 1})}
		if k := len(n.hosts) + 1; n.opts.OwnIPs {
			h.ip = netip.AddrFrom4([4]byte{127, 0, byte(1 + k>>8), byte(k)})
			n.ips[h.ip] = h
		}
		n.hosts[name] = h
	}
	return h
}

// Close closes every listener, resets every connection and refuses what comes later. Ends of connections still count as
// open until their owners close them.
func (n *Network) Close() error {
	n.mu.Lock()
	n.closed = true
	var listeners []net.Listener
	for _, l := range n.listeners {
		listeners = append(listeners, l)
	}
	for _, l := range n.wrapped {
		listeners = append(listeners, l)
	}
	conns := make([]endpoint, 0, len(n.conns))
	for e := range n.conns {
		conns = append(conns, e)
	}
	n.wakeLocked()
	n.mu.Unlock()
	for _, l := range listeners {
		_ = l.Close() // closed by its owner in the meantime
	}
	for _, e := range conns {
		e.cut(syscall.ECONNRESET)
	}
	return nil
}

// Down takes a host off the network as the end of its process does: its connections are reset, dials to it are refused, and
// from now on it can neither dial nor listen. Its listeners stay, to be closed by their owner.
func (n *Network) Down(host string) {
	n.mu.Lock()
	n.down[host] = true
	n.wakeLocked()
	n.mu.Unlock()
	n.Cut(host, Any)
}

// Up ends Down.
func (n *Network) Up(host string) {
	n.mu.Lock()
	delete(n.down, host)
	n.mu.Unlock()
}

// Pause lets nothing reach or leave a host, as if its process had been stopped: nothing fails, nothing is lost. It is no
// rule: Heal does not end it.
func (n *Network) Pause(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused[host] = true
	n.refreshLocked()
}

// Resume ends Pause.
func (n *Network) Resume(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.paused, host)
	n.refreshLocked()
}

// upLocked says why one host cannot connect to another.
func (n *Network) upLocked(from, to string) error {
	switch {
	case n.closed:
		return net.ErrClosed
	case n.down[from]:
		return syscall.ENETDOWN
	case n.down[to]:
		return syscall.ECONNREFUSED
	}
	return nil
}

// Open counts the listeners and the ends of connections that a host has open; Any counts those of all.
func (n *Network) Open(host string) (listeners, conns int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.listeners {
		if host == Any || l.host == host {
			listeners++
		}
	}
	for _, l := range n.wrapped {
		if host == Any || l.host == host {
			listeners++
		}
	}
	for e := range n.conns {
		if host == Any || e.wayLocked().from == host {
			conns++
		}
	}
	return listeners, conns
}

// Conns describes every open end of a connection, sorted: what a leak check prints.
func (n *Network) Conns() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := make([]string, 0, len(n.conns))
	for e := range n.conns {
		s = append(s, e.describeLocked())
	}
	slices.Sort(s)
	return s
}

// Sent is how many bytes one host has written to another, lost ones included.
func (n *Network) Sent(from, to string) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.sent[pair{from, to}]; c != nil {
		return c.Load()
	}
	return 0
}

func (n *Network) counterLocked(p pair) *atomic.Int64 {
	c := n.sent[p]
	if c == nil {
		c = new(atomic.Int64)
		n.sent[p] = c
	}
	return c
}

// takePortLocked takes the port asked for, or with 0 the next one that is free.
func (n *Network) takePortLocked(ip netip.Addr, port uint16) (netip.AddrPort, error) {
	if port != 0 {
		a := netip.AddrPortFrom(ip, port)
		if n.ports[a] {
			return a, syscall.EADDRINUSE
		}
		n.ports[a] = true
		return a, nil
	}
	for range math.MaxUint16 {
		a := netip.AddrPortFrom(ip, n.nextPort)
		if n.nextPort++; n.nextPort == math.MaxUint16 {
			n.nextPort = n.opts.FirstPort
		}
		if !n.ports[a] {
			n.ports[a] = true
			return a, nil
		}
	}
	return netip.AddrPort{}, syscall.EADDRNOTAVAIL
}

// forget drops a connection that its owner has closed.
func (n *Network) forget(c *Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
	if c.dialled {
		delete(n.ports, c.local.AddrPort())
	}
}

// waitLocked gives a channel that is closed at the next change.
func (n *Network) waitLocked() <-chan struct{} {
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	return n.changed
}

func (n *Network) wakeLocked() {
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

// parseLocked reads ip:port. A host's name stands for its address, an empty one for def's.
func (n *Network) parseLocked(addr string, def *Host) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, err
	}
	num, err := net.LookupPort("tcp", port)
	if err != nil {
		return netip.AddrPort{}, err
	}
	ip, err := netip.ParseAddr(host)
	switch h := n.hosts[host]; {
	case err == nil:
		ip = ip.Unmap()
	case host == "":
		ip = def.ip
	case host == "localhost":
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case h != nil:
		ip = h.ip
	default:
		return netip.AddrPort{}, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if !ip.IsLoopback() {
		return netip.AddrPort{}, fmt.Errorf("memnet: %s is not a loopback address: %w", ip, syscall.EADDRNOTAVAIL)
	}
	return netip.AddrPortFrom(ip, uint16(num)), nil
}
