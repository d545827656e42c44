package memnet

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// endpoint is one end of a connection as the Network sees it.
type endpoint interface {
	cut(err error)
	// what follows is called with the network's mu held
	wayLocked() pair // from this end's host to the other's
	refreshLocked()  // the rules have changed
	describeLocked() string
}

// Conn is one end of a connection in memory.
type Conn struct {
	n             *Network
	way           pair
	local, remote *net.TCPAddr
	in, out       *pipe
	sent          *atomic.Int64        // the counter of way
	dialled       bool                 // this end did
	rule          atomic.Pointer[Rule] // of way, where it changes bytes

	closed atomic.Bool
}

// Read waits for bytes and gives those that have arrived.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	if err != nil && err != io.EOF {
		err = c.wrap("read", err)
	}
	return n, err
}

// Write queues b, and waits where the reader is too far behind.
func (c *Conn) Write(b []byte) (int, error) {
	if r := c.rule.Load(); r != nil {
		b = r.corrupted(b)
	}
	n, err := c.out.Write(b)
	c.sent.Add(int64(n))
	if err != nil {
		err = c.wrap("write", err)
	}
	return n, err
}

// ReadFrom writes everything that r gives.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	buf := c.n.pool.Get().(*chunk)
	defer c.n.pool.Put(buf)
	return copyBuffer(c, r, buf.b[:])
}

// Close ends the connection. What was written still arrives.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return c.wrap("close", net.ErrClosed)
	}
	c.out.closeWriter(c.in.closeRead(net.ErrClosed))
	c.n.forget(c)
	return nil
}

// CloseWrite ends the stream to the other end, which can still send.
func (c *Conn) CloseWrite() error {
	if c.closed.Load() {
		return c.wrap("close", net.ErrClosed)
	}
	c.out.closeWrite(syscall.EPIPE)
	return nil
}

// CloseRead makes reads give the end of the stream.
func (c *Conn) CloseRead() error {
	if c.closed.Load() {
		return c.wrap("close", net.ErrClosed)
	}
	c.in.closeRead(io.EOF)
	return nil
}

// LocalAddr is a *net.TCPAddr.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is a *net.TCPAddr.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline makes reads, waiting ones too, fail with os.ErrDeadlineExceeded from t on.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if c.closed.Load() {
		return c.wrap("set", net.ErrClosed)
	}
	c.in.setReadDeadline(t)
	return nil
}

// SetWriteDeadline is SetReadDeadline for writes.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if c.closed.Load() {
		return c.wrap("set", net.ErrClosed)
	}
	c.out.setWriteDeadline(t)
	return nil
}

func (c *Conn) describeLocked() string { return describe(c.way, c.local, c.remote) }

func (c *Conn) wayLocked() pair { return c.way }

func (c *Conn) cut(err error) {
	c.in.abort(err)
	c.out.abort(err)
}

// refreshLocked does both directions: an end that has closed is not there to do its own, and what it sent may be held.
func (c *Conn) refreshLocked() {
	rule := c.n.ruleLocked(c.way)
	c.rule.Store(nil)
	if rule.Corrupt != nil {
		c.rule.Store(&rule)
	}
	c.out.apply(rule)
	c.in.apply(c.n.ruleLocked(c.way.back()))
}

func (c *Conn) wrap(op string, err error) error { return opError(op, c.local, c.remote, err) }

func opError(op string, local, remote net.Addr, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		call := op
		switch op {
		case "dial":
			call = "connect"
		case "listen":
			call = "bind"
		}
		err = os.NewSyscallError(call, errno)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: local, Addr: remote, Err: err}
}

func describe(way pair, local, remote net.Addr) string {
	return way.from + " " + local.String() + " -> " + way.to + " " + remote.String()
}

// copyBuffer is io.CopyBuffer that looks for no shortcut.
func copyBuffer(w io.Writer, r io.Reader, buf []byte) (total int64, err error) {
	for {
		n, err := r.Read(buf)
		if n > 0 {
			k, err := w.Write(buf[:n])
			total += int64(k)
			if err != nil {
				return total, err
			}
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
