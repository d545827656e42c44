package faultfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/spf13/afero"
)

// file is a handle of an FS.
type file struct {
	fs   *FS
	gate *gate
	name string // as it was opened
	path string
	flag int

	inner  afero.File
	books  *tracked // nil when the handle cannot write or nobody counts
	closed atomic.Bool

	mu  sync.Mutex
	pos int64
}

var _ afero.File = (*file)(nil)

// open opens the inner file, with the access that keeping books needs.
func (f *file) open(perm fs.FileMode) error {
	s, flag := f.fs, f.flag
	writes := flag&accessMode != os.O_RDONLY || flag&os.O_TRUNC != 0
	if writes && s.readOnly.Load() {
		return pathError("open", f.name, errReadOnly)
	}
	if writes && s.keepsBooks() {
		flag = flag&^(accessMode|os.O_TRUNC) | os.O_RDWR
	}
	created := false
	if s.track && flag&os.O_CREATE != 0 {
		_, err := s.inner.Stat(f.name)
		created = errors.Is(err, fs.ErrNotExist)
	}
	var err error
	if f.inner, err = s.inner.OpenFile(f.name, flag, perm); err != nil {
		return err
	}
	if created {
		s.record(nameChange{to: f.path})
	}
	if !writes || !s.keepsBooks() {
		return nil
	}
	if f.books, err = s.acquire(f.path, f.inner, created); err == nil && f.books != nil && f.flag&os.O_TRUNC != 0 {
		err = s.truncate(f.books, f.inner, 0)
	}
	if err != nil {
		return errors.Join(err, f.end())
	}
	return err
}

// end closes the inner file and the books.
func (f *file) end() error {
	err := f.inner.Close()
	if f.books != nil {
		f.fs.release(f.books)
	}
	return err
}

// OSFile gives the operating system's file under the handle, for sendfile. It says no when the handle can write, or
// when something here has to do with the bytes that are read.
func (f *file) OSFile() (*os.File, bool) {
	if f.flag&accessMode != os.O_RDONLY || f.gate.isShut() || f.fs.touchesBytes() {
		return nil, false
	}
	return osFile(f.inner)
}

// run does an operation that the rules let through.
func (f *file) run(op Op, verb string, do func() error) error {
	op.Path = f.path
	if v := f.fs.judge(f.gate, op); v.err != nil {
		return pathError(verb, f.name, v.err)
	}
	if !f.gate.enter() {
		return pathError(verb, f.name, ErrFrozen)
	}
	defer f.gate.leave()
	return do()
}

// Name is the path that the file was opened with.
func (f *file) Name() string { return f.name }

// Close ends the handle, even when a rule makes it fail or the disk is frozen.
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.gate.open.Add(-1)
	v := f.fs.judge(f.gate, Op{Kind: Close, Path: f.path})
	err := f.end()
	if v.err != nil {
		return pathError("close", f.name, v.err)
	}
	return err
}

// Read reads from the position on.
func (f *file) Read(p []byte) (int, error) {
	off := f.claim(len(p))
	n, err := f.read(p, off)
	f.unclaim(off, len(p), n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt reads at an offset.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, pathError("readat", f.name, errNegative)
	}
	return f.read(p, off)
}

// claim takes the next n bytes of the file for a Read or Write, so that no lock is held while it lasts.
func (f *file) claim(n int) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	off := f.pos
	f.pos += int64(n)
	return off
}

// unclaim sets the position back when fewer bytes came.
func (f *file) unclaim(off int64, claimed, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pos == off+int64(claimed) {
		f.pos = off + int64(n)
	}
}

func (f *file) read(p []byte, off int64) (n int, err error) {
	op := Op{Kind: Read, Path: f.path, Offset: off, Len: len(p)}
	v := f.fs.judge(f.gate, op)
	if v.err != nil {
		if p = p[:min(v.torn, len(p))]; len(p) == 0 {
			return 0, pathError("read", f.name, v.err)
		}
	}
	if !f.gate.enter() {
		return 0, pathError("read", f.name, ErrFrozen)
	}
	defer f.gate.leave()
	if f.flag&accessMode == os.O_WRONLY && f.books != nil && !f.closed.Load() { // the inner handle may
		return 0, pathError("read", f.name, syscall.EBADF)
	}
	n, err = f.inner.ReadAt(p, off)
	f.fs.counts.read.Add(int64(n))
	for _, mangle := range v.mangle {
		mangle(op, p[:n])
	}
	if v.err != nil {
		err = pathError("read", f.name, v.err)
	}
	return n, err
}
