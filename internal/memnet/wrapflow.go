package memnet

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// gate waits as long as the rules towards someone Outside want, and gives the rule that the bytes are to go by.
func (c *WrappedConn) gate() (Rule, error) {
	if c.outRule.Load() == nil {
		return Rule{}, nil
	}
	c.mu.Lock()
	patience := c.writeDeadline
	c.mu.Unlock()
	var deadline <-chan time.Time
	if !patience.IsZero() {
		deadline = time.After(time.Until(patience))
	}
	for {
		c.n.mu.Lock()
		rule := c.n.ruleLocked(c.way)
		changed := c.n.waitLocked()
		c.n.mu.Unlock()
		var arrival <-chan time.Time
		switch {
		case rule.Blackhole:
			return rule, nil
		case rule.Stall:
		case rule.Delay <= 0:
			return rule, nil
		default:
			arrival = time.After(rule.Delay)
		}
		select {
		case <-arrival:
			return rule, nil
		case <-changed:
		case <-deadline:
			return rule, opError("write", c.LocalAddr(), c.RemoteAddr(), os.ErrDeadlineExceeded)
		case <-c.gone:
			return rule, opError("write", c.LocalAddr(), c.RemoteAddr(), net.ErrClosed)
		}
	}
}

// refreshLocked applies the rules; the first one for what comes in starts pump.
func (c *WrappedConn) refreshLocked() {
	rule := c.n.ruleLocked(c.way.back())
	c.inRule.Store(&rule)
	c.outRule.Store(nil)
	if out := c.n.ruleLocked(c.way); c.way.to == Outside && !out.zero() {
		c.outRule.Store(&out)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.in == nil {
		if rule.zero() {
			return
		}
		c.in = newPipe(&c.n.pool, c.n.opts.Buffer)
		c.in.readDeadline = c.readDeadline
		c.pumped = make(chan struct{})
		_ = c.raw.SetReadDeadline(time.Unix(1, 0)) // reads that wait return; a broken connection shows in pump
		go c.pump(c.in, c.pumped)
	}
	c.in.apply(rule)
}

// pump moves what comes from the connection below into the pipe, from the first rule on to the end.
func (c *WrappedConn) pump(in *pipe, done chan<- struct{}) {
	defer close(done)
	c.mu.Lock()
	for c.readers > 0 {
		c.idle.Wait()
	}
	_ = c.raw.SetReadDeadline(time.Time{}) // a broken connection shows in Read
	c.mu.Unlock()
	buf := c.n.pool.Get().(*chunk)
	defer c.n.pool.Put(buf)
	for {
		n, err := c.raw.Read(buf.b[:])
		if n > 0 {
			if f := c.inRule.Load().Corrupt; f != nil {
				f(buf.b[:n])
			}
			if _, err := in.Write(buf.b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err == io.EOF {
				in.closeWrite(syscall.EPIPE)
			} else {
				in.closeWriter(true)
			}
			return
		}
	}
}
