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
	p := clean(name)
	n, err := d.openNode(p, flag, perm)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	d.counts.open.Add(1)
	d.counts.opened.Add(1)
	return &diskFile{disk: d, node: n, name: name, path: p, flag: flag, epoch: d.epoch.Load()}, nil
}

// openNode finds or makes the node and counts the handle.
func (d *Disk) openNode(p string, flag int, perm fs.FileMode) (*node, error) {
	if flag&os.O_CREATE == 0 {
		d.mu.RLock()
		defer d.mu.RUnlock()
		n, err := d.findLocked(p)
		if err != nil {
			return nil, err
		}
		return n, d.holdLocked(n, flag)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if p == "/" {
		return nil, syscall.EISDIR
	}
	s, err := d.slotLocked(p)
	if err != nil {
		return nil, err
	}
	n := s.node()
	switch {
	case n == nil:
		n = &node{mode: perm & permBits, mtime: time.Now(), linked: true, opens: 1, discard: d.discard(p)}
		d.linkLocked(s, n)
		return n, nil
	case flag&os.O_EXCL != 0:
		return nil, syscall.EEXIST
	case n.dir:
		return nil, syscall.EISDIR
	}
	return n, d.holdLocked(n, flag)
}

// holdLocked counts a handle on a node that exists.
func (d *Disk) holdLocked(n *node, flag int) error {
	if n.dir && flag&(accessMode|os.O_TRUNC) != 0 {
		return syscall.EISDIR
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opens++
	if flag&os.O_TRUNC != 0 && n.size > 0 {
		d.space.force(-n.size)
		n.truncateLocked(&d.pool, 0)
		n.mtime = time.Now()
	}
	return nil
}
