package faultfs

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"syscall"
	"time"
)

// Seek sets the position.
func (f *diskFile) Seek(offset int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.node.mu.RLock()
	err, size := f.liveLocked(), f.node.size
	f.node.mu.RUnlock()
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.pos
	case io.SeekEnd:
		offset += size
	default:
		offset = -1
	}
	if err == nil && offset < 0 {
		err = syscall.EINVAL
	}
	if err != nil {
		return 0, pathError("seek", f.name, err)
	}
	f.pos, f.dir = offset, nil
	return offset, nil
}

// Truncate sets the length.
func (f *diskFile) Truncate(size int64) error {
	n, d := f.node, f.disk
	n.mu.Lock()
	defer n.mu.Unlock()
	err := f.writableLocked()
	if errors.Is(err, syscall.EBADF) || err == nil && size < 0 {
		err = syscall.EINVAL
	}
	if err == nil {
		err = checkRange(size, 0)
	}
	if grow := size - n.size; err == nil && grow > 0 {
		if got := d.space.take(grow); got < grow {
			d.space.force(-got)
			err = syscall.ENOSPC
		}
	}
	if err != nil {
		return pathError("truncate", f.name, err)
	}
	if size < n.size {
		d.space.force(size - n.size)
	}
	n.truncateLocked(&d.pool, size)
	n.mtime = time.Now()
	return nil
}

// Sync makes the file as it is now, and the names that lead to it, survive a power loss. Of a directory it makes the
// entries survive.
func (f *diskFile) Sync() error {
	n, d := f.node, f.disk
	d.mu.Lock()
	n.mu.Lock()
	err := f.liveLocked()
	if err == nil && !n.dir {
		n.syncLocked(&d.pool)
	}
	n.mu.Unlock()
	if err == nil {
		d.syncLocked(n)
	}
	d.mu.Unlock()
	if err != nil {
		return pathError("sync", f.name, err)
	}
	d.counts.syncs.Add(1)
	return nil
}

// Stat describes the file as it is now, under the name it was opened with.
func (f *diskFile) Stat() (fs.FileInfo, error) {
	f.node.mu.RLock()
	err := f.liveLocked()
	f.node.mu.RUnlock()
	if err != nil {
		return nil, pathError("stat", f.name, err)
	}
	return f.node.stat(f.path), nil
}

// Readdir lists a directory in the order of names, count entries at a time when count is positive. The listing is
// taken at the first call.
func (f *diskFile) Readdir(count int) ([]fs.FileInfo, error) {
	part, err := f.list("readdir", count)
	infos := make([]fs.FileInfo, len(part))
	for i, e := range part {
		infos[i] = e
	}
	return infos, err
}

// Readdirnames is Readdir with names only.
func (f *diskFile) Readdirnames(count int) ([]string, error) {
	part, err := f.list("readdir", count)
	names := make([]string, len(part))
	for i, e := range part {
		names[i] = e.name
	}
	return names, err
}

func (f *diskFile) list(op string, count int) ([]*info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.node.mu.RLock()
	err, linked := f.liveLocked(), f.node.linked
	f.node.mu.RUnlock()
	switch {
	case err != nil:
	case !f.node.dir:
		err = syscall.ENOTDIR
	case !linked:
		err = syscall.ENOENT
	}
	if err != nil {
		return nil, pathError(op, f.name, err)
	}
	if f.dir == nil {
		f.dir = f.disk.list(f.node)
	}
	part := f.dir
	if count > 0 {
		if len(part) == 0 {
			return nil, io.EOF
		}
		part = part[:min(count, len(part))]
	}
	f.dir = f.dir[len(part):]
	return part, nil
}

// list describes the entries of a directory, never nil.
func (d *Disk) list(n *node) []*info {
	d.mu.RLock()
	defer d.mu.RUnlock()
	infos := make([]*info, 0, len(n.children))
	for _, name := range n.namesLocked() {
		infos = append(infos, n.children[name].stat(path.Join("/", name)))
	}
	return infos
}
