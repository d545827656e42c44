package client

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
)

// Client speaks to one HDFS as one user. Its methods may be called from many goroutines at once.
//
// Paths are slash-separated; relative ones start at the user's home, /user/NAME. Each method returns an *fs.PathError,
// with the *RemoteError in it where the namenode refused.
type Client struct {
	opt    Options
	log    *slog.Logger
	name   string
	nn     *namenodes
	pool   *connPool
	leases *leases

	ctx  context.Context // ends with Close, cause ErrClosed or a closedError
	stop context.CancelCauseFunc

	files   atomic.Int64 // files opened for writing: numbers their lease holders
	buffers sync.Pool    // of *packet

	mu         sync.Mutex
	defaults   ServerDefaults
	defaultsAt time.Time // zero: not asked yet
	closed     bool
	watched    sync.WaitGroup // connections that end with a context; none is added once closed is set
}

// New makes a Client. It opens no connection: the first call does.
func New(o Options) (*Client, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("client: no random bytes for a client id: %w", err)
	}
	c := &Client{
		opt:  o,
		log:  o.Logger,
		name: fmt.Sprintf("DFSClient_NONMAPREDUCE_%x_%d", id[:6], binary.BigEndian.Uint16(id[6:])),
	}
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	c.nn = newNamenodes(o, id, c.ctx)
	c.pool = newConnPool(o.IdleConns)
	c.leases = &leases{c: c, open: map[*Writer]struct{}{}}
	c.buffers.New = func() any { return newPacket(o.PacketSize) }
	return c, nil
}

// Close aborts the files that are open for writing, ends every call and closes every connection. Files should be closed
// before: what was not flushed is lost, and the lease of an aborted file runs on until the namenode ends it.
func (c *Client) Close() error { return c.close(ErrClosed) }

// CloseCause is Close for a reason, which later errors give in place of "file already closed". They have ErrClosed in
// their chain as well.
func (c *Client) CloseCause(reason error) error { return c.close(closedError{reason}) }

func (c *Client) close(cause error) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop(cause)
	c.leases.abortAll(context.Cause(c.ctx))
	c.watched.Wait()
	c.pool.close()
	return c.nn.close()
}

// endWith closes conn when ctx ends. stop ends that, and reports whether conn has been left open.
func (c *Client) endWith(ctx context.Context, conn net.Conn) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return func() bool { return false }
	}
	c.watched.Add(1)
	unwatch := context.AfterFunc(ctx, func() {
		defer c.watched.Done()
		conn.Close()
	})
	return func() bool {
		left := unwatch()
		if left {
			c.watched.Done()
		}
		return left
	}
}

// Name is what the namenode knows the client by. The files it writes have lease holders of their own, which begin with it.
func (c *Client) Name() string { return c.name }

// User is who calls are made for.
func (c *Client) User() string { return c.opt.User }

// Home is the user's home, where relative paths start.
func (c *Client) Home() string { return "/user/" + c.opt.User }

// abs gives the path as the namenode wants it. The empty path stays empty, for the namenode to refuse.
func (c *Client) abs(p string) string {
	switch {
	case p == "":
		return p
	case p[0] != '/':
		p = c.Home() + "/" + p
	}
	return path.Clean(p)
}

// call makes one call to the active namenode and puts the path around its error.
func (c *Client) call(ctx context.Context, op, path, method string, req, resp proto.Message) error {
	return pathError(op, path, c.nn.call(ctx, method, req, resp))
}

// within gives a context that ends with ctx or with the client, and carries the reason.
func (c *Client) within(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })
	return ctx, func(err error) { stop(); cancel(err) }
}
