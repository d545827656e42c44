package faultfs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// sectorSize is what a disk writes whole or not at all.
const sectorSize = 512

// PowerLoss takes the disk back to a state that a power loss could have left, chosen by rng:
//
//   - Changes of names (creation, removal, rename) since they were last made durable survive up to a moment, in order.
//     Sync of a file makes its name durable, Sync of a directory its entries.
//   - Of a file that changed since its Sync all survives, or nothing, or a random length with random sectors of 512
//     bytes, or the new length of which only the first sectors were written: the others are as they were, or zero.
//
// All handles are dead afterwards and fail with EIO. The same operations, not concurrent, and the same seed give the
// same result. It returns a line for each loss.
func (d *Disk) PowerLoss(rng *rand.Rand) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate.close()
	d.gate = newGate()

	var report []string
	for undo := rng.IntN(d.journal.len + 1); undo > 0; undo-- {
		report = append(report, "lost: "+d.journal.last.String())
		d.undoLocked(d.journal.last)
	}
	for d.journal.first != nil {
		d.commitLocked(d.journal.first)
	}
	for n := range d.orphans {
		n.mu.Lock()
		n.opens = 0
		d.reapLocked(n)
		n.mu.Unlock()
	}
	return d.loseLocked(rng, "", d.root, report)
}

// loseLocked goes through a tree in the order of names.
func (d *Disk) loseLocked(rng *rand.Rand, path string, n *node, report []string) []string {
	for _, name := range n.namesLocked() {
		report = d.loseLocked(rng, path+"/"+name, n.children[name], report)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opens = 0
	if n.dir || n.size == n.synced && len(n.saved) == 0 {
		return report
	}
	synced, written := n.synced, n.size
	outcome := n.loseLocked(&d.pool, rng)
	d.space.force(n.size - written)
	return append(report, fmt.Sprintf("%s: %s (%d bytes synced, %d written, %d left)", path, outcome, synced, written, n.size))
}

// fate is what a power loss leaves of a file that changed since its Sync: its length, and of which sectors the new bytes.
type fate struct {
	name string
	size int64
	keep func(off int64) bool // asked in order; the same for all of a sector
}

// chooseFate decides for a file of which synced bytes were durable and size are written; first is the lowest offset that
// changed.
func chooseFate(rng *rand.Rand, synced, size, first int64) fate {
	switch rng.IntN(4) {
	case 0:
		return fate{"kept", size, func(int64) bool { return true }}
	case 1:
		return fate{"dropped", synced, func(int64) bool { return false }}
	case 2:
		left := size
		if size >= synced {
			left = synced + rng.Int64N(size-synced+1)
		} else if rng.IntN(2) == 0 { // a truncation happened or did not
			left = synced
		}
		return fate{"torn", left, bySector(func() bool { return rng.IntN(2) == 0 })}
	default:
		stop := (first + rng.Int64N(max(1, size-first+1))) / sectorSize * sectorSize
		return fate{"cut short", size, func(off int64) bool { return off < stop }}
	}
}

// bySector asks once for each sector of a row of offsets.
func bySector(ask func() bool) func(off int64) bool {
	last, answer := int64(-1), false
	return func(off int64) bool {
		if s := off / sectorSize; s != last {
			last, answer = s, ask()
		}
		return answer
	}
}

// loseLocked decides what is left of a file and makes it so.
func (n *node) loseLocked(pool *pool, rng *rand.Rand) string {
	first := n.synced
	for i := range n.saved {
		first = min(first, int64(i)*extentSize)
	}
	f := chooseFate(rng, n.synced, n.size, first)
	n.mergeLocked(pool, f.size, f.keep)
	return f.name
}

// mergeLocked makes the file one of that size, of which a sector is as it was written where keep says so, and as it was
// synced otherwise. The result is synced.
func (n *node) mergeLocked(pool *pool, size int64, keep func(off int64) bool) {
	for _, i := range slices.Sorted(maps.Keys(n.saved)) {
		n.restoreLocked(pool, i, keep)
	}
	for i := int(n.synced / extentSize); i < len(n.extents); i++ {
		if _, ok := n.saved[i]; !ok {
			n.eraseLocked(i, keep)
		}
	}
	n.forgetLocked(pool)
	n.size = size
	n.trimLocked(pool)
	n.synced = size
}

// restoreLocked mixes an extent that was saved with what was written since.
func (n *node) restoreLocked(pool *pool, i int, keep func(off int64) bool) {
	e := pool.get(extentSize)
	for at := 0; at < extentSize; at += sectorSize {
		off, sector := int64(i)*extentSize+int64(at), e[at:at+sectorSize]
		n.syncedLocked(sector, i, off)
		if keep(off) {
			n.readLocked(sector, off)
		}
	}
	for len(n.extents) <= i {
		n.extents = append(n.extents, nil)
	}
	pool.put(n.extents[i])
	n.extents[i] = e
}

// syncedLocked reads from a saved extent, zeros behind the end of the file as it was.
func (n *node) syncedLocked(p []byte, i int, off int64) {
	c := 0
	if e, at := n.saved[i], int(off%extentSize); at < len(e) && off < n.synced {
		c = copy(p[:min(int64(len(p)), n.synced-off)], e[at:])
	}
	clear(p[c:])
}

// eraseLocked clears the sectors of an extent that were not written out, from the synced length on.
func (n *node) eraseLocked(i int, keep func(off int64) bool) {
	e := n.extents[i]
	for at := int(max(0, n.synced-int64(i)*extentSize)); at < len(e); {
		next := min(len(e), at-at%sectorSize+sectorSize)
		if !keep(int64(i)*extentSize + int64(at)) {
			clear(e[at:next])
		}
		at = next
	}
}
