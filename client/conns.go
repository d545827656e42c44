package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// dataConn is a connection to a datanode's data port.
type dataConn struct {
	net.Conn
	r     *bufio.Reader
	addr  string
	idle  time.Time // since when, in the pool
	heard bool      // the datanode has answered the current request

	armed time.Time // when the read deadline was set
}

// readBuffer is small against a packet, so that the bulk of one goes past it.
const readBuffer = 4 << 10

// expect makes reads fail when nothing comes for d. Deadlines are moved once a second: they are good to within that.
func (c *dataConn) expect(d time.Duration) error {
	now := time.Now()
	if !c.armed.IsZero() && now.Sub(c.armed) < time.Second {
		return nil
	}
	c.armed = now
	return c.SetReadDeadline(now.Add(d + time.Second))
}

// nodeAddr is where a datanode's port is dialled.
func (c *Client) nodeAddr(d *hdfspb.DatanodeIDProto, port uint32) string {
	host := d.GetIpAddr()
	if c.opt.Hostnames && d.GetHostName() != "" {
		host = d.GetHostName()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// nodeName is how errors and logs name a datanode: ip:xferPort, as HDFS does.
func nodeName(d *hdfspb.DatanodeInfoProto) string {
	return net.JoinHostPort(d.GetId().GetIpAddr(), strconv.Itoa(int(d.GetId().GetXferPort())))
}

// dial opens a connection to a datanode's data port.
func (c *Client) dial(ctx context.Context, d *hdfspb.DatanodeInfoProto) (*dataConn, error) {
	addr := c.nodeAddr(d.GetId(), d.GetId().GetXferPort())
	late := fmt.Errorf("no connection within %v", c.opt.ConnectTimeout)
	dialCtx, cancel := context.WithTimeoutCause(ctx, c.opt.ConnectTimeout, late)
	defer cancel()
	conn, err := c.opt.Dial(dialCtx, "tcp", addr)
	if err != nil {
		if ctx.Err() == nil && errors.Is(context.Cause(dialCtx), late) {
			err = late
		}
		return nil, err
	}
	return &dataConn{Conn: conn, r: bufio.NewReaderSize(conn, readBuffer), addr: addr}, nil
}

// connPool keeps a few idle connections to datanodes for the next read. It runs no goroutine: a timer closes what stays.
type connPool struct {
	max int

	mu     sync.Mutex
	closed bool
	idle   []*dataConn // oldest first
	timer  *time.Timer // runs while idle is not empty
}

func newConnPool(max int) *connPool { return &connPool{max: max} }

// get gives an idle connection to addr, or nil.
func (p *connPool) get(addr string) *dataConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		c := p.idle[i]
		if c.addr == addr && time.Since(c.idle) < idleConnTimeout {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			p.stopLocked()
			c.armed = time.Time{}
			return c
		}
	}
	return nil
}

// put keeps c for the next get, or closes it.
func (p *connPool) put(c *dataConn) {
	if err := c.SetDeadline(time.Time{}); err != nil || c.r.Buffered() > 0 {
		c.Close()
		return
	}
	c.idle = time.Now()
	p.mu.Lock()
	if p.closed || p.max <= 0 {
		p.mu.Unlock()
		c.Close()
		return
	}
	var oldest *dataConn
	if len(p.idle) == p.max {
		oldest = p.idle[0]
		p.idle = append(p.idle[:0], p.idle[1:]...)
	}
	p.idle = append(p.idle, c)
	if p.timer == nil {
		p.timer = time.AfterFunc(idleConnTimeout, p.expire)
	}
	p.mu.Unlock()
	if oldest != nil {
		oldest.Close()
	}
}

// expire closes what has been idle for too long and comes back for the rest.
func (p *connPool) expire() {
	var old []*dataConn
	p.mu.Lock()
	for len(p.idle) > 0 && time.Since(p.idle[0].idle) >= idleConnTimeout {
		old = append(old, p.idle[0])
		p.idle = p.idle[1:]
	}
	p.timer = nil
	if len(p.idle) > 0 {
		p.timer = time.AfterFunc(idleConnTimeout-time.Since(p.idle[0].idle), p.expire)
	}
	p.mu.Unlock()
	for _, c := range old {
		c.Close()
	}
}

func (p *connPool) stopLocked() {
	if len(p.idle) == 0 && p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

func (p *connPool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.stopLocked()
	p.mu.Unlock()
	for _, c := range idle {
		c.Close()
	}
}
