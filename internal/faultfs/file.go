package faultfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/afero"
)

// diskFile is a handle on a file or directory of a Disk. ReadAt calls run side by side; a write excludes the others
// of the same file for as long as the copy takes.
type diskFile struct {
	disk *Disk
	node *node
	gate *gate
	name string // as it was opened
	path string
	flag int

	closed bool // guarded by node.mu

	mu  sync.Mutex // guards the position; taken before node.mu
	pos int64
	dir []*info // what Readdir has still to give, after its first call
}

var _ afero.File = (*diskFile)(nil)

// liveLocked says whether the handle may still be used; node.mu is held.
func (f *diskFile) liveLocked() error {
	switch {
	case f.closed:
		return fs.ErrClosed
	case f.gate.isShut():
		return ErrFrozen
	}
	return nil
}

// readableLocked says whether bytes may be read.
func (f *diskFile) readableLocked() error {
	switch err := f.liveLocked(); {
	case err != nil:
		return err
	case f.node.dir:
		return syscall.EISDIR
	case f.flag&accessMode == os.O_WRONLY:
		return syscall.EBADF
	}
	return nil
}

// writableLocked says whether bytes may be written.
func (f *diskFile) writableLocked() error {
	if err := f.liveLocked(); err != nil {
		return err
	}
	if f.flag&accessMode == os.O_RDONLY {
		return syscall.EBADF
	}
	return nil
}

// Name is the path that the file was opened with.
func (f *diskFile) Name() string { return f.name }

// Close ends the handle.
func (f *diskFile) Close() error {
	n := f.node
	n.mu.Lock()
	if f.closed {
		n.mu.Unlock()
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.closed = true
	last := false
	if !f.gate.isShut() {
		f.gate.open.Add(-1)
		n.opens--
		last = n.opens == 0 && !n.linked
	}
	n.mu.Unlock()
	if last {
		f.disk.reap(n)
	}
	return nil
}

// Read reads from the position on.
func (f *diskFile) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.read("read", p, f.pos)
	f.pos += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt reads at an offset; short of len(p) only at the end of the file, with io.EOF.
func (f *diskFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, pathError("readat", f.name, errNegative)
	}
	return f.read("read", p, off)
}

func (f *diskFile) read(op string, p []byte, off int64) (int, error) {
	n := f.node
	n.mu.RLock()
	err := f.readableLocked()
	c := 0
	if err == nil {
		c = n.readLocked(p, off)
	}
	n.mu.RUnlock()
	if err != nil {
		return 0, pathError(op, f.name, err)
	}
	f.disk.counts.read.Add(int64(c))
	if c < len(p) {
		return c, io.EOF
	}
	return c, nil
}

// Write writes at the position, or at the end with O_APPEND.
func (f *diskFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end, n, err := f.write(p, f.pos, f.flag&os.O_APPEND != 0)
	if n > 0 {
		f.pos = end
	}
	return n, err
}

// WriteString is Write.
func (f *diskFile) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// WriteAt writes at an offset; refused with O_APPEND, as by package os.
func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	if f.flag&os.O_APPEND != 0 {
		return 0, errAppend
	}
	if off < 0 {
		return 0, pathError("writeat", f.name, errNegative)
	}
	_, n, err := f.write(p, off, false)
	return n, err
}

// write stores what fits, and says where it ends and how much that was.
func (f *diskFile) write(p []byte, off int64, atEnd bool) (end int64, c int, err error) {
	n := f.node
	n.mu.Lock()
	if err = f.writableLocked(); err == nil {
		if atEnd {
			off = n.size
		}
		p, err = f.disk.roomLocked(n, p, off)
		if len(p) > 0 {
			n.writeLocked(&f.disk.pool, p, off)
			n.mtime = time.Now()
		}
	} else {
		p = nil
	}
	n.mu.Unlock()
	f.disk.counts.written.Add(int64(len(p)))
	if err != nil {
		err = pathError("write", f.name, err)
	}
	return off + int64(len(p)), len(p), err
}

// roomLocked charges what a write adds to the file and returns the part of p that has room, with ENOSPC when that is
// not all of it. A hole before off is charged too: a file takes its length.
func (d *Disk) roomLocked(n *node, p []byte, off int64) ([]byte, error) {
	if err := checkRange(off, len(p)); err != nil || len(p) == 0 {
		return nil, err
	}
	grow := off + int64(len(p)) - n.size
	if grow <= 0 {
		return p, nil
	}
	got := d.space.take(grow)
	if got == grow {
		return p, nil
	}
	if fits := int64(len(p)) - (grow - got); fits > 0 {
		return p[:fits], syscall.ENOSPC
	}
	d.space.force(-got)
	return nil, syscall.ENOSPC
}
