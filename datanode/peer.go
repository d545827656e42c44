package datanode

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"time"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
)

// The buffers of a connection: what an idle one costs, and what collects small answers.
const (
	readBuffer  = 4 << 10
	writeBuffer = 4 << 10
)

// peer is a connection of the data protocol. Reads and writes that take too long fail. One goroutine reads, one writes.
type peer struct {
	net.Conn
	d    *DataNode
	r    *bufio.Reader
	addr string // of the other end

	readTimeout, writeTimeout time.Duration
	readArmed, writeArmed     time.Time // when the deadline has to be set anew

	expiry *time.Timer // while it is kept
}

// newPeer takes a connection over; nil once the datanode is closed.
func (d *DataNode) newPeer(c net.Conn) *peer {
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.peers[c] = struct{}{}
	}
	d.mu.Unlock()
	if closed {
		c.Close()
		return nil
	}
	p := &peer{Conn: c, d: d, addr: c.RemoteAddr().String(), readTimeout: d.opt.ReadTimeout, writeTimeout: d.opt.WriteTimeout}
	if r, ok := d.readers.Get().(*bufio.Reader); ok {
		r.Reset(p)
		p.r = r
	} else {
		p.r = bufio.NewReaderSize(p, readBuffer)
	}
	return p
}

// release closes the connection and gives its buffer back. Nobody may be reading.
func (p *peer) release() {
	d := p.d
	d.mu.Lock()
	delete(d.peers, p.Conn)
	d.mu.Unlock()
	p.Conn.Close()
	p.r.Reset(nil)
	d.readers.Put(p.r)
	p.r = nil
}

// extend gives the connection more time, for a pipeline of n more nodes.
func (p *peer) extend(n int) {
	const perNode = 5 * time.Second
	p.readTimeout += time.Duration(n) * perNode
	p.writeTimeout += time.Duration(n) * perNode
	p.readArmed, p.writeArmed = time.Time{}, time.Time{}
}

func (p *peer) setReadTimeout(t time.Duration) {
	p.readTimeout, p.readArmed = t, time.Time{}
}

func (p *peer) setTimeouts(read, write time.Duration) {
	p.setReadTimeout(read)
	p.writeTimeout, p.writeArmed = write, time.Time{}
}

// slack is the share of a timeout by which it may come early, so that not every call needs to set a deadline.
const slack = 16

func (p *peer) Read(b []byte) (int, error) {
	if now := time.Now(); now.After(p.readArmed) {
		if err := p.SetReadDeadline(now.Add(p.readTimeout)); err != nil {
			return 0, err
		}
		p.readArmed = now.Add(p.readTimeout / slack)
	}
	return p.Conn.Read(b)
}

func (p *peer) armWrite() error {
	now := time.Now()
	if !now.After(p.writeArmed) {
		return nil
	}
	p.writeArmed = now.Add(p.writeTimeout / slack)
	return p.SetWriteDeadline(now.Add(p.writeTimeout))
}

func (p *peer) Write(b []byte) (int, error) {
	if err := p.armWrite(); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

// sendable gives the replica's file where the system can send it over the connection without our seeing a byte.
func (p *peer) sendable(rd *volume.Reader) *os.File {
	if _, ok := p.Conn.(io.ReaderFrom); !ok {
		return nil
	}
	f, _ := rd.OSFile()
	return f
}

// readFrom sends what r gives, a part of a sendable file.
func (p *peer) readFrom(r io.Reader) (int64, error) {
	if err := p.armWrite(); err != nil {
		return 0, err
	}
	return p.Conn.(io.ReaderFrom).ReadFrom(r)
}

// lingerTimeout is how long a refused writer has to read the refusal.
const lingerTimeout = 3 * time.Second

// linger waits for the other end to close, so that a last answer is not lost with what it had sent meanwhile.
func (p *peer) linger() {
	if !p.closeWrite() {
		return
	}
	p.setReadTimeout(lingerTimeout)
	for end := time.Now().Add(lingerTimeout); time.Now().Before(end); {
		if _, err := p.r.Discard(p.r.Size()); err != nil {
			return
		}
	}
}

// closeWrite ends the sending, and reports whether it could: reading goes on.
func (p *peer) closeWrite() bool {
	c, ok := p.Conn.(interface{ CloseWrite() error })
	return ok && c.CloseWrite() == nil
}

// dial opens a connection to another datanode.
func (d *DataNode) dial(ctx context.Context, to dfs.DatanodeID) (*peer, error) {
	ctx, cancel := context.WithTimeout(ctx, d.opt.ReadTimeout)
	defer cancel()
	c, err := d.opt.Dial(ctx, "tcp", to.XferAddr())
	if err != nil {
		return nil, err
	}
	if p := d.newPeer(c); p != nil {
		return p, nil
	}
	return nil, net.ErrClosed
}
