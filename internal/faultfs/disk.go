package faultfs

import (
	"io/fs"
	"sync"
	"time"

	"github.com/spf13/afero"
)

// Options are the properties of a Disk. The zero value is an unlimited disk that keeps every byte.
type Options struct {
	Name     string // what Name returns, "disk" by default
	Capacity int64  // bytes, 0 for no limit; not used when Space is given
	Space    *Space // the capacity to draw from, shared with other disks; nil for one of the disk's own

	// Discard says by path, when a file is created, whether only its length is kept: it then reads as zeros and
	// costs no memory. nil keeps every byte; Everything makes a null disk.
	Discard func(path string) bool

	Spare int64 // bytes of freed memory kept for the next files, 256 MiB by default; negative for none
}

// Everything is the Discard of a disk that keeps lengths only.
func Everything(string) bool { return true }

// Disk is a disk in memory, an afero.Fs. Paths are slash-separated from a root of its own; a relative path starts
// there too. It outlives the server that uses it: PowerLoss takes it back to what was synced.
// A Disk is safe for concurrent use, and so are its files.
type Disk struct {
	name    string
	space   *Space
	discard func(string) bool
	pool    pool
	counts  counts

	mu      sync.RWMutex // guards the tree: every node's children
	root    *node
	journal journal
	orphans map[*node]struct{} // files without name that are open
	gate    *gate              // until the next power loss
}

var _ afero.Fs = (*Disk)(nil)

// NewDisk returns an empty disk.
func NewDisk(o Options) *Disk {
	d := &Disk{name: o.Name, space: o.Space, discard: o.Discard}
	if d.name == "" {
		d.name = "disk"
	}
	if d.space == nil {
		d.space = NewSpace(o.Capacity)
	}
	if d.discard == nil {
		d.discard = func(string) bool { return false }
	}
	d.pool.bound = o.Spare
	if o.Spare == 0 {
		d.pool.bound = 256 << 20
	}
	d.root = newDir(0o755)
	d.orphans = make(map[*node]struct{})
	d.gate = newGate()
	return d
}

// Name is the disk's name.
func (d *Disk) Name() string { return d.name }

// Space is the disk's capacity.
func (d *Disk) Space() *Space { return d.space }

// Usage gives the capacity in bytes, what files take of it, and what is available; math.MaxInt64 where there is no limit.
func (d *Disk) Usage() (capacity, used, available int64) { return d.space.usage() }

func newDir(perm fs.FileMode) *node {
	return &node{dir: true, linked: true, mode: perm & permBits, mtime: time.Now(), children: make(map[string]*node)}
}

// permBits are the bits of a mode that Chmod can set.
const permBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
