package faultfs

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/spf13/afero"
)

const accessMode = os.O_RDONLY | os.O_WRONLY | os.O_RDWR

// Create opens a file for reading and writing, made or emptied.
func (d *Disk) Create(name string) (afero.File, error) {
	return d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open opens a file or directory for reading.
func (d *Disk) Open(name string) (afero.File, error) { return d.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a file with the flags of package os.
func (d *Disk) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	f := &diskFile{disk: d, name: name, path: clean(name), flag: flag}
	if err := f.open(perm); err != nil {
		return nil, pathError("open", name, err)
	}
	return f, nil
}

// open finds or makes the node.
func (f *diskFile) open(perm fs.FileMode) error {
	d := f.disk
	if f.flag&os.O_CREATE == 0 {
		d.mu.RLock()
		defer d.mu.RUnlock()
		n, err := d.findLocked(f.path)
		if err != nil {
			return err
		}
		return f.holdLocked(n)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.path == "/" {
		return syscall.EISDIR
	}
	s, err := d.slotLocked(f.path)
	if err != nil {
		return err
	}
	n := s.node()
	switch {
	case n == nil:
		n = &node{mode: perm & permBits, mtime: time.Now(), linked: true, discard: d.discard(f.path)}
		d.recordLocked(&change{to: s, node: n})
	case f.flag&os.O_EXCL != 0:
		return syscall.EEXIST
	case n.dir:
		return syscall.EISDIR
	}
	return f.holdLocked(n)
}

// holdLocked makes f a handle on n; Disk.mu is held, at least for reading.
func (f *diskFile) holdLocked(n *node) error {
	if n.dir && f.flag&(accessMode|os.O_TRUNC) != 0 {
		return syscall.EISDIR
	}
	d := f.disk
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opens++
	f.node, f.gate = n, d.gate
	f.gate.open.Add(1)
	d.counts.opened.Add(1)
	if f.flag&os.O_TRUNC != 0 && n.size > 0 {
		d.space.force(-n.size)
		n.truncateLocked(&d.pool, 0)
		n.mtime = time.Now()
	}
	return nil
}
