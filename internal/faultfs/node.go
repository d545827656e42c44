package faultfs

import (
	"io/fs"
	"sync"
	"time"
)

// node is a file or a directory of a Disk. A file's bytes lie in extents of extentSize; a nil extent is a hole that
// reads as zeros. Only the first extent may be shorter, while the file fits into it.
//
// Bytes of an extent beyond the file's length are arbitrary: whoever lengthens the file clears them.
type node struct {
	dir     bool
	discard bool // keeps the length, drops the bytes

	// Guarded by Disk.mu.
	children map[string]*node // of a directory
	changes  int              // changes in the journal that are about this node or its entries
	born     *change          // the one that made it, while in the journal
	held     bool             // has lost its name by a change in the journal

	mu      sync.RWMutex
	mode    fs.FileMode
	mtime   time.Time
	size    int64
	extents [][]byte
	opens   int
	linked  bool // has a name in the tree
	reaped  bool // kept only because a power loss may bring it back; not charged
	image        // what is safe from a power loss
}

// image is a file as it was at the last Sync. Bytes that nobody touched since are not kept twice: an extent is looked
// for in saved first, then in the file itself.
type image struct {
	synced int64          // length
	saved  map[int][]byte // extents as they were, where the file changed below that length; nil for a hole
}

// readLocked copies bytes at off and says how many there were.
func (n *node) readLocked(p []byte, off int64) int {
	if off >= n.size {
		return 0
	}
	p = p[:min(int64(len(p)), n.size-off)]
	for done := 0; done < len(p); {
		i, at := int((off+int64(done))/extentSize), int((off+int64(done))%extentSize)
		part := p[done:min(len(p), done+extentSize-at)]
		c := 0
		if i < len(n.extents) && at < len(n.extents[i]) {
			c = copy(part, n.extents[i][at:])
		}
		clear(part[c:])
		done += len(part)
	}
	return len(p)
}

// writeLocked stores p at off. The caller has charged the space for what the file grows.
func (n *node) writeLocked(pool *pool, p []byte, off int64) {
	end := off + int64(len(p))
	if n.discard {
		n.size = max(n.size, end)
		return
	}
	n.clearLocked(off)
	for done := 0; done < len(p); {
		at := off + int64(done)
		i, from := int(at/extentSize), int(at%extentSize)
		c := min(len(p)-done, extentSize-from)
		n.saveLocked(pool, i, at)
		copy(n.extentLocked(pool, i, from, from+c)[from:], p[done:done+c])
		done += c
	}
	n.size = max(n.size, end)
}

// extentLocked returns extent i, made or grown so that bytes from..to can be written. Whatever of the file lies in it
// outside of these bytes is there.
func (n *node) extentLocked(pool *pool, i, from, to int) []byte {
	for len(n.extents) <= i {
		n.extents = append(n.extents, nil)
	}
	old := n.extents[i]
	if to <= len(old) {
		return old
	}
	want := extentSize
	if i == 0 && n.size <= extentSize && len(n.extents) == 1 {
		want = max(to, int(n.size))
	}
	e := pool.get(want)
	c := copy(e, old)
	if c < from {
		clear(e[c:from])
	}
	if tail := min(int64(len(e)), n.size-int64(i)*extentSize); int64(to) < tail {
		clear(e[max(c, to):tail])
	}
	n.extents[i] = e
	pool.put(old)
	return e
}

// clearLocked clears what the extents hold between the file's end and off, which becomes part of the file.
func (n *node) clearLocked(off int64) {
	for at := n.size; at < off; {
		i, from := int(at/extentSize), int(at%extentSize)
		if i >= len(n.extents) {
			return
		}
		to := min(int64(extentSize), int64(from)+off-at)
		if e := n.extents[i]; from < len(e) {
			clear(e[from:min(int64(len(e)), to)])
		}
		at += to - int64(from)
	}
}

// truncateLocked sets the length. The caller has charged or will give back the difference.
func (n *node) truncateLocked(pool *pool, size int64) {
	if size >= n.size {
		n.clearLocked(size)
		n.size = size
		return
	}
	keep := int((size + extentSize - 1) / extentSize)
	if size%extentSize != 0 {
		n.saveLocked(pool, keep-1, size)
	}
	for i := keep; i < len(n.extents); i++ {
		n.stashLocked(i, size)
	}
	n.size = size
	n.trimLocked(pool)
}

// trimLocked frees the extents behind the file's end.
func (n *node) trimLocked(pool *pool) {
	if keep := int((n.size + extentSize - 1) / extentSize); keep < len(n.extents) {
		pool.put(n.extents[keep:]...)
		clear(n.extents[keep:])
		n.extents = n.extents[:keep]
	}
}

// memory is about what the bytes of the file cost.
func (n *node) memory() int64 {
	if n.discard {
		return 0
	}
	return max(n.size, n.synced)
}

// dropLocked frees all bytes.
func (n *node) dropLocked(pool *pool) {
	pool.put(n.extents...)
	n.extents = nil
	n.size, n.reaped = 0, false
	n.forgetLocked(pool)
}
