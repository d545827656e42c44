package rpc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// What one connection may have under way: beyond it the server stops reading from it until answers have left. While
// it does not read, only a write notices that the connection has broken.
const (
	maxCalls   = 1024
	maxBytes   = 16 << 20 // of requests that run
	maxBacklog = 4 << 20  // of answers that the peer has not taken
)

// serverConn is one connection of a server. One worker at a time has its reading; the fields before mu belong to that
// worker, but for out and cancel, which any may use.
type serverConn struct {
	srv        *Server
	nc         net.Conn
	in         *bufio.Reader
	remote     string
	ctx        context.Context
	cancel     context.CancelFunc
	out        outbox
	greeted    bool // the connection header has come
	auth       auth
	identified bool // the connection context has come
	user, real string
	client     []byte // the client id of the last call: most connections have one

	mu     sync.Mutex
	calls  int
	bytes  int
	paused bool // nobody reads: the end of a call resumes it
}

func newServerConn(s *Server, nc net.Conn) *serverConn {
	c := &serverConn{srv: s, nc: nc, in: bufio.NewReaderSize(nc, readBuffer)}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	c.out.conn, c.out.pool = nc, &s.pool
	c.remote = nc.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(c.remote); err == nil {
		c.remote = host
	}
	return c
}

// turn reads frames until the reading has passed to another worker or the connection has ended.
func (c *serverConn) turn() {
	for {
		call, err := c.read()
		if err != nil {
			c.end(err)
			return
		}
		if call == nil { // a ping or the like
			continue
		}
		if !c.run(call) {
			return
		}
	}
}

// read reads one frame. No call and no error: it was a ping or the like, or has been answered already.
func (c *serverConn) read() (*Call, error) {
	if !c.greeted {
		if err := c.greet(); err != nil {
			return nil, err
		}
		c.greeted = true
	}
	frame, err := readFrame(c.in, &c.srv.pool, c.srv.maxFrame)
	if err != nil {
		return nil, err
	}
	call, err := c.dispatch(*frame)
	if call == nil {
		c.srv.pool.put(frame)
		return nil, err
	}
	call.frame, call.size = frame, len(*frame)
	return call, err
}

// end ends the connection after a failed read: with an answer where Hadoop gives one.
func (c *serverConn) end(err error) {
	var f *fatalError
	switch {
	case errors.As(err, &f):
		c.srv.log.Warn("rpc: connection refused", "peer", c.remote, "err", err)
		if c.out.sendLast(f.answer) == nil {
			return // whoever writes now closes the connection afterwards
		}
	case !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed):
		c.srv.log.Debug("rpc: connection broken", "peer", c.remote, "err", err)
	}
	c.close()
}

// close cuts the connection and then cancels its calls, whose errors thus reach nobody.
func (c *serverConn) close() {
	_ = c.nc.Close()
	c.cancel()
	c.srv.forget(c)
}

// admit counts a call in. It reports whether reading may go on beside it.
func (c *serverConn) admit(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.bytes += size
	c.paused = !c.roomLocked()
	return !c.paused
}

// leave counts a call out. It reports whether the caller must go on reading because nobody does.
func (c *serverConn) leave(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
	c.bytes -= size
	if !c.paused || !c.roomLocked() {
		return false
	}
	c.paused = false
	return true
}

func (c *serverConn) roomLocked() bool {
	return c.calls < maxCalls && c.bytes < maxBytes && c.out.backlog() < maxBacklog
}
