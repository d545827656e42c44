package faultfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Write writes at the position, or at the end with O_APPEND.
func (f *file) Write(p []byte) (int, error) {
	if f.flag&os.O_APPEND != 0 {
		return f.write(p, -1)
	}
	off := f.claim(len(p))
	n, err := f.write(p, off)
	f.unclaim(off, len(p), n)
	return n, err
}

// WriteString is Write.
func (f *file) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// WriteAt writes at an offset; refused with O_APPEND, as by package os.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if f.flag&os.O_APPEND != 0 {
		return 0, errAppend
	}
	if off < 0 {
		return 0, pathError("writeat", f.name, errNegative)
	}
	return f.write(p, off)
}

// write writes at an offset, or at the end when that is negative; rules then see the offset -1.
func (f *file) write(p []byte, off int64) (n int, err error) {
	op := Op{Kind: Write, Path: f.path, Offset: off, Len: len(p)}
	v := f.fs.judge(f.gate, op)
	if v.err != nil {
		if p = p[:min(v.torn, len(p))]; len(p) == 0 {
			return 0, pathError("write", f.name, v.err)
		}
	}
	if len(v.mangle) > 0 {
		p = bytes.Clone(p)
		for _, mangle := range v.mangle {
			mangle(op, p)
		}
	}
	if !f.gate.enter() {
		return 0, pathError("write", f.name, ErrFrozen)
	}
	defer f.gate.leave()
	n, err = f.store(p, off)
	f.fs.counts.written.Add(int64(n))
	if v.err != nil {
		err = pathError("write", f.name, v.err)
	}
	return n, err
}

// store writes what has room.
func (f *file) store(p []byte, off int64) (n int, err error) {
	if f.flag&accessMode == os.O_RDONLY && f.books != nil && !f.closed.Load() { // the inner handle may
		return 0, pathError("write", f.name, syscall.EBADF)
	}
	var full error
	if t := f.books; t != nil && !f.closed.Load() {
		at, room, err := t.reserve(f.fs.space, off, len(p))
		if full = err; room == 0 && full != nil {
			return 0, pathError("write", f.name, full)
		}
		p = p[:room]
		if f.fs.track {
			if err := t.save(f.inner, at, at+int64(room)); err != nil {
				f.fs.settle(t, f.inner)
				return 0, err
			}
		}
	}
	if off < 0 {
		n, err = f.inner.Write(p)
		if end, seekErr := f.inner.Seek(0, io.SeekCurrent); seekErr == nil {
			f.mu.Lock()
			f.pos = end
			f.mu.Unlock()
		}
	} else {
		n, err = f.inner.WriteAt(p, off)
	}
	if err != nil && f.books != nil {
		f.fs.settle(f.books, f.inner)
	}
	if err == nil && full != nil {
		err = pathError("write", f.name, full)
	}
	return n, err
}

// Truncate sets the length.
func (f *file) Truncate(size int64) error {
	return f.run(Op{Kind: Truncate, Offset: size}, "truncate", func() error {
		if f.books == nil || f.closed.Load() || size < 0 {
			return f.inner.Truncate(size)
		}
		if f.flag&accessMode == os.O_RDONLY {
			return pathError("truncate", f.name, syscall.EINVAL)
		}
		err := f.fs.truncate(f.books, f.inner, size)
		if errors.Is(err, syscall.ENOSPC) {
			return pathError("truncate", f.name, err)
		}
		return err
	})
}

// Sync makes the file as it is now, and the names that lead to it, survive a power loss. Of a directory it makes the
// entries survive.
func (f *file) Sync() error {
	return f.run(Op{Kind: Sync}, "sync", func() error {
		f.fs.counts.syncs.Add(1)
		return f.fs.sync(f)
	})
}

// Seek sets the position.
func (f *file) Seek(offset int64, whence int) (pos int64, err error) {
	err = f.run(Op{Kind: Seek, Offset: offset}, "seek", func() error {
		f.mu.Lock()
		if whence == io.SeekCurrent {
			offset, whence = offset+f.pos, io.SeekStart
		}
		f.mu.Unlock()
		pos, err = f.inner.Seek(offset, whence)
		if err == nil {
			f.mu.Lock()
			f.pos = pos
			f.mu.Unlock()
		}
		return err
	})
	return pos, err
}

// Stat describes the file as it is now.
func (f *file) Stat() (info fs.FileInfo, err error) {
	err = f.run(Op{Kind: Stat}, "stat", func() error {
		info, err = f.inner.Stat()
		return err
	})
	return info, err
}

// Readdir lists a directory.
func (f *file) Readdir(count int) (infos []fs.FileInfo, err error) {
	err = f.run(Op{Kind: List}, "readdir", func() error {
		infos, err = f.inner.Readdir(count)
		return err
	})
	return infos, err
}

// Readdirnames is Readdir with names only.
func (f *file) Readdirnames(count int) (names []string, err error) {
	err = f.run(Op{Kind: List}, "readdir", func() error {
		names, err = f.inner.Readdirnames(count)
		return err
	})
	return names, err
}
