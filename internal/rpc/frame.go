package rpc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

const (
	// DefaultMaxFrame is Hadoop's bound on the length of a frame.
	DefaultMaxFrame = 128 << 20

	readBuffer   = 4 << 10   // of each connection; what is longer is read past it
	pooledBuffer = 256 << 10 // longer buffers are left to the garbage collector; a page of a listing is not
	frameStep    = 64 << 10  // a long frame gets memory in growing steps, as its bytes arrive
)

// lengthError reports a frame length that no peer may send.
type lengthError struct {
	length int32
	limit  int
}

func (e *lengthError) Error() string {
	return fmt.Sprintf("rpc: frame length %d is not in 0..%d", e.length, e.limit)
}

// buffers is a pool of byte slices.
type buffers struct{ pool sync.Pool }

func (p *buffers) get() *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (p *buffers) put(b *[]byte) {
	if cap(*b) <= pooledBuffer {
		*b = (*b)[:0]
		p.pool.Put(b)
	}
}

// readFrame reads one frame into a buffer of the pool, which it takes only once the frame is there: a connection that
// is idle holds none. io.EOF means that the stream ended between two frames.
func readFrame(r *bufio.Reader, pool *buffers, limit int) (*[]byte, error) {
	head, err := r.Peek(4)
	if err != nil {
		if errors.Is(err, io.EOF) && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	length := int32(binary.BigEndian.Uint32(head))
	if length < 0 || int(length) > limit {
		return nil, &lengthError{length, limit}
	}
	_, _ = r.Discard(len(head)) // they are in the buffer
	frame := pool.get()
	if *frame, err = readBody(r, *frame, int(length)); err != nil {
		pool.put(frame)
		return nil, err
	}
	return frame, nil
}

// readBody reads n bytes into buf, which grows as they arrive.
func readBody(r *bufio.Reader, buf []byte, n int) ([]byte, error) {
	for buf = buf[:0]; len(buf) < n; {
		have := len(buf)
		step := min(n-have, max(have, frameStep))
		buf = slices.Grow(buf, step)[:have+step]
		if _, err := io.ReadFull(r, buf[have:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return buf, err
		}
	}
	return buf, nil
}

// beginFrame leaves room for the length that endFrame fills in.
func beginFrame(b []byte) []byte { return append(b, 0, 0, 0, 0) }

// endFrame writes the length of the frame that began at start.
func endFrame(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}
