package memnet

// chunkSize makes a chunk 32 KiB altogether.
const chunkSize = 32<<10 - 3*8

// chunk is a piece of a pipe's queue; pieces come from the network's pool and go back when they are read.
type chunk struct {
	next *chunk
	r, w int
	b    [chunkSize]byte
}

// putLocked appends b to the queue.
func (p *pipe) putLocked(b []byte) {
	p.end += int64(len(b))
	for len(b) > 0 {
		if p.tail == nil || p.tail.w == chunkSize {
			c := p.pool.Get().(*chunk)
			if p.tail == nil {
				p.head = c
			} else {
				p.tail.next = c
			}
			p.tail = c
		}
		n := copy(p.tail.b[p.tail.w:], b)
		p.tail.w += n
		b = b[n:]
	}
}

// takeLocked fills b, which is no longer than the queue, from it.
func (p *pipe) takeLocked(b []byte) int {
	n := 0
	for n < len(b) {
		c := p.head
		k := copy(b[n:], c.b[c.r:c.w])
		c.r += k
		n += k
		if c.r == c.w {
			p.head = c.next
			if p.head == nil {
				p.tail = nil
			}
			c.next, c.r, c.w = nil, 0, 0
			p.pool.Put(c)
		}
	}
	p.read += int64(n)
	return n
}
