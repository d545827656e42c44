package editlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// What a connection between two members is for; its first byte.
const (
	helloRaft  = 'R'
	helloProbe = 'P'
	helloWish  = 'W'
)

const (
	helloHeaderLen = 6 // kind, identity, length of the id
	helloTimeout   = 5 * time.Second
)

// raftNet is all connections of one member: raft's StreamLayer, and the probes.
type raftNet struct {
	id       string
	addr     string
	identity uint32
	listener net.Listener
	dial     dfs.DialFunc
	moved    map[string]string // id -> address, before what the log says
	log      *slog.Logger
	serve    func(kind byte, c net.Conn) // one that is not for raft; returns when it has ended

	ctx      context.Context // ends when the member is cut off
	cancel   context.CancelFunc
	accepted chan net.Conn  // for raft
	running  sync.WaitGroup // accepted connections, and who accepts them

	mu    sync.Mutex
	conns map[net.Conn]struct{} // the bare ones
}

var _ raft.StreamLayer = (*raftNet)(nil)

func newRaftNet(o RaftOptions, identity uint32) *raftNet {
	n := &raftNet{
		id: o.ID, addr: o.Addr, identity: identity, listener: o.Listener, dial: o.Dial, log: o.Logger,
		accepted: make(chan net.Conn), conns: map[net.Conn]struct{}{}, moved: map[string]string{},
	}
	for _, m := range o.Members {
		n.moved[m.ID] = m.Addr
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// start lets others in.
func (n *raftNet) start() { n.running.Go(n.acceptAll) }

func (n *raftNet) acceptAll() {
	delay := time.Millisecond
	for {
		c, err := n.listener.Accept()
		switch {
		case n.ctx.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			n.log.Warn("editlog: cannot accept a connection of another member", "err", err)
			select {
			case <-n.ctx.Done():
				return
			case <-time.After(delay):
			}
			delay = min(2*delay, time.Second)
			continue
		}
		delay = time.Millisecond
		n.running.Go(func() { n.welcome(c) })
	}
}

// welcome finds out what a connection is for.
func (n *raftNet) welcome(bare net.Conn) {
	c, err := n.track(bare)
	if err != nil {
		return
	}
	_ = c.SetReadDeadline(time.Now().Add(helloTimeout))
	kind, err := readHello(c, n.identity, n.id)
	if err != nil {
		n.log.Debug("editlog: refused a connection", "from", c.RemoteAddr(), "err", err)
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	if kind != helloRaft {
		n.serve(kind, c)
		_ = c.Close()
		return
	}
	n.hand(c)
}

// hand gives a connection to raft and waits until it is closed.
func (n *raftNet) hand(c *memberConn) {
	select {
	case n.accepted <- c:
		<-c.closed
	case <-n.ctx.Done():
		_ = c.Close()
	}
}

func (n *raftNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.accepted:
		return c, nil
	case <-n.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (n *raftNet) Addr() net.Addr { return memberAddr(serverAddress(n.id, n.addr)) }

// Dial connects raft with a member. The way to oneself is short: that is how a member is told to stand for election.
func (n *raftNet) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	id, addr, err := splitAddress(to)
	if err != nil {
		return nil, err
	}
	if id != n.id {
		ctx, cancel := context.WithTimeout(n.ctx, timeout)
		defer cancel()
		return n.connect(ctx, helloRaft, id, addr)
	}
	near, far := net.Pipe()
	a, err := n.track(near)
	if err != nil {
		_ = far.Close()
		return nil, err
	}
	b, err := n.track(far)
	if err != nil {
		_ = a.Close()
		return nil, err
	}
	n.running.Go(func() { n.hand(b) })
	return a, nil
}

// connect dials a member and says what for.
func (n *raftNet) connect(ctx context.Context, kind byte, id, addr string) (net.Conn, error) {
	if now, ok := n.moved[id]; ok {
		addr = now
	}
	bare, err := n.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c, err := n.track(bare)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetWriteDeadline(deadline)
	}
	if _, err := c.Write(appendHello(nil, kind, n.identity, id)); err != nil {
		_ = c.Close()
		return nil, err
	}
	_ = c.SetWriteDeadline(time.Time{})
	return c, nil
}

// Close is for raft; it cuts the member off.
func (n *raftNet) Close() error {
	n.cut()
	return nil
}

// cut ends every connection at once; when it returns, nobody hears from this member any more.
func (n *raftNet) cut() {
	n.cancel()
	_ = n.listener.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		_ = c.Close()
		delete(n.conns, c)
	}
}

// track takes note of a connection, or closes it when the member is cut off.
func (n *raftNet) track(bare net.Conn) (*memberConn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		_ = bare.Close()
		return nil, net.ErrClosed
	}
	n.conns[bare] = struct{}{}
	return &memberConn{Conn: bare, n: n, closed: make(chan struct{})}, nil
}

// A memberConn is a connection with another member.
type memberConn struct {
	net.Conn
	n      *raftNet
	once   sync.Once
	closed chan struct{} // by its owner
}

func (c *memberConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.n.mu.Lock()
		delete(c.n.conns, c.Conn)
		c.n.mu.Unlock()
		close(c.closed)
	})
	return err
}

// A memberAddr is a serverAddress.
type memberAddr string

func (a memberAddr) Network() string { return "tcp" }
func (a memberAddr) String() string  { return string(a) }

// appendHello is what begins a connection: for what, in which file system, with which member.
func appendHello(b []byte, kind byte, identity uint32, id string) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, identity)
	b = append(b, byte(len(id)))
	return append(b, id...)
}

// readHello reads what begins a connection to the member of that identity and id.
func readHello(r io.Reader, identity uint32, id string) (kind byte, err error) {
	var h [helloHeaderLen]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, err
	}
	kind = h[0]
	if kind != helloRaft && kind != helloProbe && kind != helloWish {
		return 0, fmt.Errorf("kind of connection %d is unknown", kind)
	}
	if got := binary.BigEndian.Uint32(h[1:]); got != identity {
		return 0, errors.New("it is from another file system")
	}
	to := make([]byte, h[5])
	if _, err := io.ReadFull(r, to); err != nil {
		return 0, err
	}
	if string(to) != id {
		return 0, fmt.Errorf("it looks for %q, this is %q", to, id)
	}
	return kind, nil
}
