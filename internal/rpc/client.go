package rpc

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// ClientOptions configure a Client.
type ClientOptions struct {
	Dial           dfs.DialFunc  // nil: real sockets
	User           string        // whose calls these are
	RealUser       string        // who speaks for User, "" for User itself
	Protocol       string        // the Java interface
	Version        uint64        // 0: 1
	ClientID       [16]byte      // zero: random
	PingAfter      time.Duration // of silence while calls wait, 0: 60 s
	ConnectTimeout time.Duration // 0: 20 s
	MaxFrame       int           // bytes of the longest answer, 0: DefaultMaxFrame
	Logger         *slog.Logger  // nil: discard
}

// Client sends the calls of one protocol and user to one server. It dials at the first call, and again at the first
// call after the connection broke. All methods may be called concurrently.
type Client struct {
	addr   string
	o      ClientOptions
	log    *slog.Logger
	pool   buffers
	waits  sync.Pool // of *wait
	lastID atomic.Int32
	ctx    context.Context // of dials
	cancel context.CancelFunc
	work   sync.WaitGroup // every goroutine of the client and its connections

	mu     sync.Mutex
	closed bool
	dial   *dial       // under way
	conn   *clientConn // in use
}

// dial is a connection in the making, for all calls that wait for it.
type dial struct {
	done chan struct{}
	conn *clientConn
	err  error
}

// CallID identifies a call to the server's retry cache: a retry has the ID of the first attempt and a higher Retry.
type CallID struct {
	ID    int32
	Retry int32
}

// NewClient makes a client of the server at addr (host:port). It does no I/O.
func NewClient(addr string, o ClientOptions) *Client {
	if o.Dial == nil {
		o.Dial = dfs.NetDial
	}
	if o.Version == 0 {
		o.Version = 1
	}
	if o.ClientID == ([16]byte{}) {
		rand.Read(o.ClientID[:]) // never fails
	}
	if o.PingAfter == 0 {
		o.PingAfter = time.Minute
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 20 * time.Second
	}
	if o.MaxFrame == 0 {
		o.MaxFrame = DefaultMaxFrame
	}
	c := &Client{addr: addr, o: o, log: o.Logger}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.lastID.Store(-1)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Addr returns the server's address.
func (c *Client) Addr() string { return c.addr }

// NextID takes a call id for CallAs. Ids are never negative and start again from 0 after the last one.
func (c *Client) NextID() int32 { return c.lastID.Add(1) & 0x7FFFFFFF }

// Call sends one call and waits for its answer, which it decodes into resp (nil: it is dropped). The error is a
// *dfs.RemoteError when the server answered one, a *ConnError when the connection failed, and the context's when that
// ended first: the connection stays good, but the call may be carried out all the same.
func (c *Client) Call(ctx context.Context, method string, req, resp proto.Message) error {
	return c.CallAs(ctx, CallID{ID: c.NextID()}, method, req, resp)
}

// CallAs is Call under an id of the caller's choice, from NextID.
func (c *Client) CallAs(ctx context.Context, id CallID, method string, req, resp proto.Message) error {
	frame := c.pool.get()
	defer c.pool.put(frame)
	var err error
	if *frame, err = c.appendRequest(*frame, id, method, req); err != nil {
		return err
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	return conn.call(ctx, id, method, *frame, resp)
}

// connect returns the connection, dialled if need be. The dial goes on for others when ctx ends.
func (c *Client) connect(ctx context.Context) (*clientConn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, &ConnError{Addr: c.addr, Op: "dial", Err: ErrClosed}
	}
	if conn := c.conn; conn != nil {
		c.mu.Unlock()
		return conn, nil
	}
	d := c.dial
	if d == nil {
		d = &dial{done: make(chan struct{})}
		c.dial = d
		c.work.Add(1)
		go c.runDial(d)
	}
	c.mu.Unlock()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) runDial(d *dial) {
	defer c.work.Done()
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.o.ConnectTimeout, errConnectTimeout)
	nc, err := c.o.Dial(ctx, "tcp", c.addr)
	if err != nil && errors.Is(context.Cause(ctx), errConnectTimeout) {
		err = errConnectTimeout
	}
	cancel()
	c.mu.Lock()
	if err == nil && c.closed {
		err = ErrClosed
	}
	if err == nil {
		d.conn = newClientConn(c, nc)
		c.conn = d.conn
		c.work.Add(2)
		go d.conn.readLoop()
		go d.conn.pingLoop()
	} else {
		if c.closed {
			err = ErrClosed
		}
		d.err = &ConnError{Addr: c.addr, Op: "dial", Err: err}
	}
	c.dial = nil
	c.mu.Unlock()
	if d.conn == nil && nc != nil {
		_ = nc.Close()
	}
	close(d.done)
}

// forget makes the next call dial again.
func (c *Client) forget(conn *clientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		c.conn = nil
	}
}

// Cut ends the connection unless it was made after a time: the network may have lost bytes of it without telling, and then
// nothing comes over it any more. Its calls fail with a ConnError, the next one dials.
func (c *Client) Cut(before time.Time) {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil && !conn.since.After(before) {
		conn.fail(errCut)
	}
}

// Close ends the connection and every call that waits, with ErrClosed in a ConnError. It returns when all of the
// client's goroutines have ended.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	conn := c.conn
	c.mu.Unlock()
	c.cancel()
	if conn != nil {
		conn.fail(ErrClosed)
	}
	c.work.Wait()
	return nil
}
