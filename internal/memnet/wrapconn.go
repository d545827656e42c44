package memnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// WrappedConn is a connection of another network that obeys this one's rules.
type WrappedConn struct {
	raw  net.Conn
	n    *Network
	way  pair
	sent *atomic.Int64 // the counter of way
	gone chan struct{} // closed by Close

	reset   atomic.Bool          // by Cut
	inRule  atomic.Pointer[Rule] // of what comes
	outRule atomic.Pointer[Rule] // of what goes, where the other end is Outside; nil for none

	mu            sync.Mutex
	idle          sync.Cond // no direct read is under way
	readers       int       // direct reads under way
	in            *pipe     // once a rule has applied: filled by pump, read instead of raw
	pumped        chan struct{}
	closed        bool
	readDeadline  time.Time
	writeDeadline time.Time
}

// Read reads from the connection below, or from what pump has read and the rules let through.
func (c *WrappedConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	in := c.in
	if in == nil {
		c.readers++
	}
	c.mu.Unlock()
	if in == nil {
		n, err := c.raw.Read(b)
		c.mu.Lock()
		if c.readers--; c.readers == 0 {
			c.idle.Broadcast()
		}
		in = c.in
		c.mu.Unlock()
		if in == nil || n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, c.translate("read", err)
		}
	}
	n, err := in.Read(b)
	if err != nil && err != io.EOF {
		err = c.translate("read", opError("read", c.LocalAddr(), c.RemoteAddr(), err))
	}
	return n, err
}

// Write writes to the connection below, as the rules let it where the other end is Outside.
func (c *WrappedConn) Write(b []byte) (int, error) {
	rule, err := c.gate()
	if err != nil {
		return 0, c.translate("write", err)
	}
	n := len(b)
	if !rule.Blackhole {
		n, err = c.raw.Write(rule.corrupted(b))
	}
	c.sent.Add(int64(n))
	return n, c.translate("write", err)
}

// ReadFrom lets the connection below take everything that r gives, unless a rule applies.
func (c *WrappedConn) ReadFrom(r io.Reader) (int64, error) {
	rf, ok := c.raw.(io.ReaderFrom)
	if !ok || c.outRule.Load() != nil {
		buf := c.n.pool.Get().(*chunk)
		defer c.n.pool.Put(buf)
		return copyBuffer(c, r, buf.b[:])
	}
	n, err := rf.ReadFrom(r)
	c.sent.Add(n)
	return n, c.translate("write", err)
}

// Close closes the connection below.
func (c *WrappedConn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return opError("close", c.LocalAddr(), c.RemoteAddr(), net.ErrClosed)
	}
	c.closed = true
	in, pumped := c.in, c.pumped
	c.mu.Unlock()
	err := c.raw.Close()
	close(c.gone)
	if in != nil {
		in.closeRead(net.ErrClosed)
		in.abort(net.ErrClosed)
		<-pumped
	}
	c.n.mu.Lock()
	delete(c.n.conns, c)
	c.n.mu.Unlock()
	if c.reset.Load() {
		return nil
	}
	return err
}

// cut resets the connection; its owner has still to close it.
func (c *WrappedConn) cut(err error) {
	c.reset.Store(true)
	_ = resetRaw(c.raw) // it may be closed already
	c.mu.Lock()
	in := c.in
	c.mu.Unlock()
	if in != nil {
		in.abort(err)
	}
}

// translate makes errors after Cut the reset that they stand for.
func (c *WrappedConn) translate(op string, err error) error {
	if err == nil || !c.reset.Load() {
		return err
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return err
	}
	return opError(op, c.LocalAddr(), c.RemoteAddr(), syscall.ECONNRESET)
}

// CloseWrite is that of the connection below.
func (c *WrappedConn) CloseWrite() error {
	if h, ok := c.raw.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return opError("close", c.LocalAddr(), c.RemoteAddr(), errors.ErrUnsupported)
}

// CloseRead is that of the connection below.
func (c *WrappedConn) CloseRead() error {
	if h, ok := c.raw.(interface{ CloseRead() error }); ok {
		return h.CloseRead()
	}
	return opError("close", c.LocalAddr(), c.RemoteAddr(), errors.ErrUnsupported)
}

// LocalAddr is that of the connection below.
func (c *WrappedConn) LocalAddr() net.Addr { return c.raw.LocalAddr() }

// RemoteAddr is that of the connection below.
func (c *WrappedConn) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// SetDeadline sets both deadlines.
func (c *WrappedConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline makes reads, waiting ones too, fail with os.ErrDeadlineExceeded from t on.
func (c *WrappedConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readDeadline = t
	if c.in != nil {
		c.in.setReadDeadline(t)
		return nil
	}
	return c.raw.SetReadDeadline(t)
}

// SetWriteDeadline is SetReadDeadline for writes. A write that a rule holds keeps the deadline it began with.
func (c *WrappedConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeDeadline = t
	return c.raw.SetWriteDeadline(t)
}

func (c *WrappedConn) describeLocked() string {
	return describe(c.way, c.LocalAddr(), c.RemoteAddr())
}

func (c *WrappedConn) wayLocked() pair { return c.way }
