package faultfs

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"
)

// Mkdir makes one directory.
func (d *Disk) Mkdir(name string, perm fs.FileMode) error {
	p := clean(name)
	if p == "/" {
		return pathError("mkdir", name, syscall.EEXIST)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s, err := d.slotLocked(p)
	if err != nil {
		return pathError("mkdir", name, err)
	}
	if s.node() != nil {
		return pathError("mkdir", name, syscall.EEXIST)
	}
	d.recordLocked(&change{to: s, node: newDir(perm)})
	return nil
}

// MkdirAll makes a directory and those above it that are missing.
func (d *Disk) MkdirAll(name string, perm fs.FileMode) error {
	p := clean(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.root
	for rest := p[1:]; rest != ""; {
		var elem string
		elem, rest, _ = strings.Cut(rest, "/")
		next := n.children[elem]
		if next == nil {
			next = newDir(perm)
			d.recordLocked(&change{to: slot{n, elem}, node: next})
		}
		if !next.dir {
			return pathError("mkdir", strings.TrimSuffix(p, "/"+rest), syscall.ENOTDIR)
		}
		n = next
	}
	return nil
}

// Remove removes a file or an empty directory.
func (d *Disk) Remove(name string) error {
	p := clean(name)
	if p == "/" {
		return pathError("remove", name, syscall.EBUSY)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s, err := d.slotLocked(p)
	if err != nil {
		return pathError("remove", name, err)
	}
	switch n := s.node(); {
	case n == nil:
		return pathError("remove", name, syscall.ENOENT)
	case len(n.children) > 0:
		return pathError("remove", name, syscall.ENOTEMPTY)
	default:
		d.recordLocked(&change{from: s, node: n})
	}
	return nil
}

// RemoveAll removes whatever is at the path and below; it is no error when nothing is. Of the root it removes the contents.
func (d *Disk) RemoveAll(name string) error {
	if name == "" {
		return nil
	}
	p := clean(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if p == "/" {
		d.emptyLocked(d.root)
		return nil
	}
	s, err := d.slotLocked(p)
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	if err != nil {
		return pathError("unlinkat", name, err)
	}
	if n := s.node(); n != nil {
		d.emptyLocked(n)
		d.recordLocked(&change{from: s, node: n})
	}
	return nil
}

// emptyLocked removes all that is below a directory.
func (d *Disk) emptyLocked(n *node) {
	for _, name := range n.namesLocked() {
		c := n.children[name]
		d.emptyLocked(c)
		d.recordLocked(&change{from: slot{n, name}, node: c})
	}
}

// Rename moves a file or directory. It replaces a file, and like os.Rename never a directory.
func (d *Disk) Rename(oldname, newname string) error {
	from, to := clean(oldname), clean(newname)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.renameLocked(from, to); err != nil {
		return linkError(oldname, newname, err)
	}
	return nil
}

// renameLocked checks in the order of os.Rename and the kernel behind it, so that the same error wins.
func (d *Disk) renameLocked(from, to string) error {
	if old, err := d.findLocked(to); err == nil && old.dir {
		if _, err := d.findLocked(from); err != nil {
			return err
		}
		return syscall.EEXIST
	}
	if from == "/" {
		return syscall.EBUSY
	}
	src, err := d.slotLocked(from)
	if err != nil {
		return err
	}
	dst, err := d.slotLocked(to)
	if err != nil {
		return err
	}
	n, old := src.node(), dst.node()
	switch {
	case n == nil:
		return syscall.ENOENT
	case n == old:
		return nil
	case n.dir && strings.HasPrefix(to, from+"/"):
		return syscall.EINVAL
	case n.dir && old != nil:
		return syscall.ENOTDIR
	}
	d.recordLocked(&change{from: src, to: dst, node: n, old: old})
	return nil
}

// Stat describes a file or directory.
func (d *Disk) Stat(name string) (fs.FileInfo, error) {
	p := clean(name)
	n, err := d.find(p)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return n.stat(p), nil
}

// Chmod sets the permission bits. Nothing enforces them: the server is its disk's superuser.
func (d *Disk) Chmod(name string, mode fs.FileMode) error {
	return d.change("chmod", name, func(n *node) { n.mode = mode & permBits })
}

// Chown checks the path only: the files of a Disk have no owner.
func (d *Disk) Chown(name string, uid, gid int) error {
	return d.change("chown", name, func(*node) {})
}

// Chtimes sets the modification time; a Disk keeps no access times. A zero time leaves it, as os.Chtimes does.
func (d *Disk) Chtimes(name string, atime, mtime time.Time) error {
	return d.change("chtimes", name, func(n *node) {
		if !mtime.IsZero() {
			n.mtime = mtime
		}
	})
}

func (d *Disk) change(op, name string, f func(*node)) error {
	n, err := d.find(clean(name))
	if err != nil {
		return pathError(op, name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n)
	return nil
}

func (d *Disk) find(p string) (*node, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.findLocked(p)
}
