package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipe is one direction of a connection. Positions count the bytes of its life; the end of the stream takes two more:
// the first says that no bytes follow (a half-close), the second that the writer does not read any more either.
type pipe struct {
	pool    *sync.Pool       // of *chunk
	limit   int64            // bytes that may be written and unread
	arrived func(reset bool) // tells the other direction's writer that this one's is gone; may be nil

	mu         sync.Mutex
	rd, wr     sync.Cond
	head, tail *chunk
	read, end  int64
	ready      int64  // how far the reader may see: up to end+ended
	marks      []mark // what becomes ready, and when; beyond the last one bytes are held by a stall
	ended      int64  // 0, 1 half-closed, 2 closed
	reset      bool   // closed with bytes unread
	told       bool   // arrived was called
	rule       Rule
	lost       bool // bytes vanished: nothing arrives any more

	dst      []byte // of a waiting reader: written to without a stop in the queue
	filled   int    // bytes in it
	writing  bool   // a Write is under way: others wait, so that their bytes do not mix
	peerGone bool   // the reader has closed, and the writer could know

	readErr, writeErr           error
	readDeadline, writeDeadline time.Time
	readAlarm, writeAlarm       alarm
}

func newPipe(pool *sync.Pool, limit int) *pipe {
	p := &pipe{pool: pool, limit: int64(limit)}
	p.rd.L, p.wr.L = &p.mu, &p.mu
	p.readAlarm.f = p.tick
	p.writeAlarm.f = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.writeAlarm.armed = false
		p.wr.Broadcast()
	}
	return p
}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine := false // b is dst, or was until a writer filled it
	for {
		if mine && p.dst == nil {
			n := p.filled
			p.filled = 0
			return n, nil
		}
		n, err := p.tryReadLocked(b)
		if n > 0 || err != nil || len(b) == 0 {
			if mine {
				p.dst = nil
			}
			return n, err
		}
		if !mine && p.dst == nil && p.filled == 0 {
			p.dst, mine = b, true
		}
		p.readAlarm.set(p.readDeadline)
		p.rd.Wait()
	}
}

func (p *pipe) tryReadLocked(b []byte) (int, error) {
	if p.readErr != nil {
		return 0, p.readErr
	}
	if expired(p.readDeadline) {
		return 0, os.ErrDeadlineExceeded
	}
	if n := min(p.ready, p.end) - p.read; n > 0 {
		n := p.takeLocked(b[:min(n, int64(len(b)))])
		// a writer that waits is woken once there is room worth waking for
		if p.limit-(p.end-p.read) >= p.limit/4 {
			p.wr.Broadcast()
		}
		return n, nil
	}
	if p.ready > p.end {
		if p.reset && p.ready > p.end+1 {
			return 0, syscall.ECONNRESET
		}
		return 0, io.EOF
	}
	return 0, nil
}

func (p *pipe) Write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.writing {
		if err := p.writeStateLocked(); err != nil {
			return 0, err
		}
		p.waitWriteLocked()
	}
	p.writing = true
	defer func() {
		p.writing = false
		p.wr.Broadcast()
	}()
	for {
		if err := p.writeStateLocked(); err != nil {
			return n, err
		}
		switch {
		case len(b) == 0:
			return n, nil
		case p.peerGone:
			p.writeErr = syscall.EPIPE
			return n + len(b), nil
		case p.lost || p.rule.Blackhole:
			p.lost = true
			return n + len(b), nil
		}
		k := p.pushLocked(b)
		n, b = n+k, b[k:]
		if k == 0 {
			p.waitWriteLocked()
		}
	}
}

func (p *pipe) writeStateLocked() error {
	if p.writeErr == nil && expired(p.writeDeadline) {
		return os.ErrDeadlineExceeded
	}
	return p.writeErr
}

func (p *pipe) waitWriteLocked() {
	p.writeAlarm.set(p.writeDeadline)
	p.wr.Wait()
}

// pushLocked queues what there is room for, or gives it to a reader that waits.
func (p *pipe) pushLocked(b []byte) int {
	if p.dst != nil && p.ready == p.end && p.read == p.end && !p.rule.Stall && p.rule.Delay <= 0 {
		n := copy(p.dst, b)
		p.dst, p.filled = nil, n
		p.read, p.end, p.ready = p.read+int64(n), p.end+int64(n), p.ready+int64(n)
		p.rd.Broadcast()
		return n
	}
	n := int(min(int64(len(b)), p.limit-(p.end-p.read)))
	if n > 0 {
		p.putLocked(b[:n])
		p.publishLocked()
	}
	return n
}

// closeWrite ends the stream after what is queued; err is what later writes give.
func (p *pipe) closeWrite(err error) { p.finish(1, false, err) }

// closeWriter is closeWrite by an end that closes altogether.
func (p *pipe) closeWriter(reset bool) { p.finish(2, reset, net.ErrClosed) }

func (p *pipe) finish(ended int64, reset bool, err error) {
	p.mu.Lock()
	if p.writeErr == nil || ended == 2 {
		p.writeErr = err
	}
	if ended > p.ended {
		p.ended, p.reset = ended, reset
		p.lost = p.lost || p.rule.Blackhole
		p.publishLocked()
	}
	p.wr.Broadcast()
	p.writeAlarm.stop()
	tell := p.tellLocked()
	p.mu.Unlock()
	tell()
}

// closeRead makes reads fail with err; it reports whether bytes had arrived that nobody read.
func (p *pipe) closeRead(err error) (unread bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readErr == nil || err == net.ErrClosed {
		p.readErr = err
	}
	p.rd.Broadcast()
	return min(p.ready, p.end) > p.read
}

// abort ends both ends with err, except where they have ended already.
func (p *pipe) abort(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readErr == nil {
		p.readErr = err
	}
	if p.writeErr == nil {
		p.writeErr = err
	}
	p.head, p.tail, p.marks = nil, nil, nil
	p.rd.Broadcast()
	p.wr.Broadcast()
	p.readAlarm.stop()
	p.writeAlarm.stop()
}

// peerClosed is called once the writer could know that nobody reads any more.
func (p *pipe) peerClosed(reset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peerGone = true
	if reset && p.writeErr == nil {
		p.writeErr = syscall.ECONNRESET
	}
	p.wr.Broadcast()
}

func (p *pipe) setReadDeadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readDeadline = t
	p.rd.Broadcast()
}

func (p *pipe) setWriteDeadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeDeadline = t
	p.wr.Broadcast()
}
