package faultfs

import (
	"math/bits"
	"sync"
)

// The sizes of the buffers that hold files: powers of two, so that a small file does not cost a whole extent.
const (
	minBuf     = 256
	extentSize = 64 << 10
	bufClasses = 9 // 256 B .. 64 KiB
)

// pool keeps buffers of freed files for the next ones, up to a bound: taking one costs far less than having the
// runtime clear and the kernel map new memory.
type pool struct {
	bound int64

	mu    sync.Mutex
	spare int64 // bytes in free
	out   int64 // bytes that files hold
	free  [bufClasses][][]byte
}

// class is the index of the smallest buffer of at least n bytes.
func class(n int) int {
	if n <= minBuf {
		return 0
	}
	return bits.Len(uint(n-1)) - 8
}

// get returns a buffer of at least n bytes, at most an extent. Its contents are arbitrary.
func (p *pool) get(n int) []byte {
	c := class(n)
	size := minBuf << c
	p.mu.Lock()
	p.out += int64(size)
	if last := len(p.free[c]) - 1; last >= 0 {
		b := p.free[c][last]
		p.free[c][last] = nil
		p.free[c] = p.free[c][:last]
		p.spare -= int64(size)
		p.mu.Unlock()
		return b
	}
	p.mu.Unlock()
	return make([]byte, size)
}

// put gives buffers back; nil ones are holes.
func (p *pool) put(bufs ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range bufs {
		if b == nil {
			continue
		}
		p.out -= int64(len(b))
		if p.spare+int64(len(b)) <= p.bound {
			p.spare += int64(len(b))
			c := class(len(b))
			p.free[c] = append(p.free[c], b)
		}
	}
}

// held is the number of bytes that files hold.
func (p *pool) held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out
}
