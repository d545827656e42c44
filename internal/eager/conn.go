package eager

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// sure is the most that a conn expects something soon; half of it makes reads look.
const sure = 3

// conn looks for what comes, and sleeps only then.
type conn struct {
	*net.TCPConn
	of   *Listener
	raw  syscall.RawConn
	soon atomic.Int32 // up with each short wait, down with each long one, from 0 to sure

	mu    sync.Mutex // one read looks at a time; held for a Window at most
	buf   []byte
	n     int
	errno error
	once  func(fd uintptr) bool // tries to read into buf
}

func newConn(tcp *net.TCPConn, raw syscall.RawConn, of *Listener) *conn {
	c := &conn{TCPConn: tcp, of: of, raw: raw}
	c.once = func(fd uintptr) bool {
		c.n, c.errno = tryRead(fd, c.buf)
		return true // whatever it gave: do not sleep
	}
	return c
}

// Read reads what has come, or comes.
func (c *conn) Read(b []byte) (int, error) {
	began := time.Now()
	n, err, done := c.look(b, began)
	if !done {
		n, err = c.TCPConn.Read(b)
	}
	if n > 0 {
		switch s := c.soon.Load(); {
		case c.of.last.Load() != c:
			c.of.last.Store(c)
			c.soon.Store(0)
		case time.Since(began) < patience:
			c.soon.Store(min(s+1, sure))
		default:
			c.soon.Store(max(s-1, 0))
		}
	}
	return n, err
}

// look polls for a Window, if that promises something. Where it is not done, a read that sleeps is due.
func (c *conn) look(b []byte, began time.Time) (n int, err error, done bool) {
	if len(b) == 0 || c.soon.Load() <= sure/2 || c.of.last.Load() != c || !c.mu.TryLock() {
		return 0, nil, false
	}
	defer c.mu.Unlock()
	c.buf = b
	defer func() { c.buf = nil }()
	for {
		if c.raw.Read(c.once) != nil {
			return 0, nil, false // closed, or a deadline has passed: the other read says it as it should be said
		}
		switch {
		case c.errno == nil && c.n == 0:
			return 0, io.EOF, true
		case c.errno == nil:
			return c.n, nil, true
		case c.errno != syscall.EAGAIN && c.errno != syscall.EINTR:
			return 0, &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("read", c.errno)}, true
		}
		if c.of.last.Load() != c || time.Since(began) > Window {
			return 0, nil, false
		}
		yield()
	}
}
