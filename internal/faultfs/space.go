package faultfs

import (
	"math"
	"sync/atomic"
)

// Space is the capacity of one or several disks. It is a number only: a space of 20 TB costs nothing.
// A file takes its length, whether its bytes are stored or not; directories are free.
// A Space is safe for concurrent use.
type Space struct {
	capacity atomic.Int64
	used     atomic.Int64
	reserved atomic.Int64
}

// NewSpace returns a space of that many bytes; 0 means without limit.
func NewSpace(capacity int64) *Space {
	s := new(Space)
	s.SetCapacity(capacity)
	return s
}

// SetCapacity changes the size; 0 means without limit. Files that no longer fit stay.
func (s *Space) SetCapacity(n int64) {
	if n <= 0 {
		n = math.MaxInt64
	}
	s.capacity.Store(n)
}

// Capacity is the size in bytes, math.MaxInt64 when there is no limit.
func (s *Space) Capacity() int64 { return s.capacity.Load() }

// Used is the sum of the lengths of all files.
func (s *Space) Used() int64 { return s.used.Load() }

// Reserved is what Reserve and Fill took.
func (s *Space) Reserved() int64 { return s.reserved.Load() }

// Available is what can still be written.
func (s *Space) Available() int64 {
	return max(0, s.capacity.Load()-s.reserved.Load()-s.used.Load())
}

// Reserve sets aside bytes for somebody else's files: they are neither used nor available. Reserve(0) gives them back.
func (s *Space) Reserve(n int64) { s.reserved.Store(max(0, n)) }

// Fill reserves all that is available, so that the next byte fails with ENOSPC. Room that files give back later is free again.
func (s *Space) Fill() { s.reserved.Add(s.Available()) }

// usage is the three numbers at once.
func (s *Space) usage() (capacity, used, available int64) {
	return s.Capacity(), s.Used(), s.Available()
}

// take charges up to n bytes and says how many there were.
func (s *Space) take(n int64) int64 {
	for {
		used := s.used.Load()
		got := min(n, max(0, s.capacity.Load()-s.reserved.Load()-used))
		if got <= 0 || s.used.CompareAndSwap(used, used+got) {
			return max(0, got)
		}
	}
}

// force charges n bytes without asking, or gives them back when n is negative.
func (s *Space) force(n int64) { s.used.Add(n) }
