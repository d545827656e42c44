package memnet

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// guarded reports whether a rule applies to writes: one towards someone Outside.
func (c *WrappedConn) guarded() bool {
	if !c.n.ruled.Load() {
		return false
	}
	way := c.resolve(false)
	return way.to == Outside && !c.n.rule(way).zero()
}

// gate waits as long as the rules towards someone Outside want; drop says that the bytes are to vanish.
func (c *WrappedConn) gate() (drop bool, err error) {
	if !c.guarded() {
		return false, nil
	}
	way := c.resolve(false)
	for {
		c.n.mu.Lock()
		rule := c.n.ruleLocked(way)
		changed := c.n.waitLocked()
		c.n.mu.Unlock()
		if rule.Blackhole {
			return true, nil
		}
		var arrival, deadline <-chan time.Time
		if !rule.Stall {
			if rule.Delay <= 0 {
				return false, nil
			}
			arrival = time.After(rule.Delay)
		}
		c.mu.Lock()
		if t := c.writeDeadline; !t.IsZero() {
			deadline = time.After(time.Until(t))
		}
		c.mu.Unlock()
		select {
		case <-arrival:
			return false, nil
		case <-changed:
		case <-deadline:
			return false, opError("write", c.LocalAddr(), c.RemoteAddr(), os.ErrDeadlineExceeded)
		case <-c.gone:
			return false, opError("write", c.LocalAddr(), c.RemoteAddr(), net.ErrClosed)
		}
	}
}

// resolve finds out who is at the other end. Whoever is on the network has said so before the first byte is sent: once a
// byte has come, the answer is final.
func (c *WrappedConn) resolve(final bool) pair {
	c.mu.Lock()
	way := c.way
	c.mu.Unlock()
	if way.to != "" {
		return way
	}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return c.resolveLocked(final)
}

func (c *WrappedConn) resolveLocked(final bool) pair {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.way.to != "" {
		return c.way
	}
	f := flow{addrPort(c.RemoteAddr()), addrPort(c.LocalAddr())}
	host, ok := c.n.dialled[f]
	if !ok {
		host = Outside
	}
	way := pair{c.way.from, host}
	if ok || final {
		delete(c.n.dialled, f)
		c.way, c.sent = way, c.n.counterLocked(way)
	}
	return way
}

func (c *WrappedConn) count(n int64) {
	way := c.resolve(false)
	c.mu.Lock()
	sent := c.sent
	c.mu.Unlock()
	if sent == nil {
		c.n.mu.Lock()
		sent = c.n.counterLocked(way)
		c.n.mu.Unlock()
	}
	sent.Add(n)
}

// refreshLocked applies the rule for what comes in; the first one starts pump.
func (c *WrappedConn) refreshLocked() {
	rule := c.n.ruleLocked(c.resolveLocked(false).back())
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
		_ = c.raw.SetReadDeadline(past) // a broken connection shows in pump
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
			if f := c.n.rule(c.resolve(true).back()).Corrupt; f != nil {
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
