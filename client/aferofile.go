package client

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/afero"
)

// aferoFile is an open file or directory: a Reader, a Writer, or both in turns. The Reader sees what the Writer has
// flushed when it is opened, so it is opened anew when it is behind.
type aferoFile struct {
	a    *aferoFS
	name string
	flag int

	closed bool
	pos    int64
	size   int64 // with what was written through this handle
	r      *Reader
	w      *Writer // opened by the first write, if not by Create
	dir    *openDir
}

var _ afero.File = (*aferoFile)(nil)

func (f *aferoFile) writable() bool { return f.flag&(os.O_WRONLY|os.O_RDWR) != 0 }

func (f *aferoFile) readable() bool { return f.flag&os.O_WRONLY == 0 }

func (f *aferoFile) fail(op string, err error) error { return osError(op, f.name, err) }

// can says why the file cannot be read or written, or nil.
func (f *aferoFile) can(op string, allowed bool) error {
	switch {
	case f.closed:
		return f.fail(op, fs.ErrClosed)
	case f.dir != nil:
		return f.fail(op, syscall.EISDIR)
	case !allowed:
		return f.fail(op, fmt.Errorf("not opened for that: %w", syscall.EBADF))
	}
	return nil
}

func (f *aferoFile) Name() string { return f.name }

// reopen makes r a Reader of the whole file.
func (f *aferoFile) reopen() (err error) {
	if f.r != nil {
		f.r.Close()
	}
	if f.r, err = f.a.c.Open(f.a.ctx, f.name); err != nil {
		return err
	}
	f.size = max(f.size, f.r.Size())
	return nil
}

// reader gives a Reader that sees every byte of the file.
func (f *aferoFile) reader(op string) (*Reader, error) {
	if err := f.can(op, f.readable()); err != nil {
		return nil, err
	}
	if f.r != nil && f.r.Size() >= f.size {
		return f.r, nil
	}
	if f.w != nil {
		if err := f.w.Hflush(); err != nil {
			return nil, f.fail(op, err)
		}
	}
	return f.r, f.fail(op, f.reopen())
}

func (f *aferoFile) Read(p []byte) (int, error) {
	r, err := f.reader("read")
	if err != nil {
		return 0, err
	}
	if _, err := r.Seek(f.pos, io.SeekStart); err != nil {
		return 0, f.fail("read", err)
	}
	n, err := r.Read(p)
	f.pos += int64(n)
	if !errors.Is(err, io.EOF) {
		err = f.fail("read", err)
	}
	return n, err
}

func (f *aferoFile) ReadAt(p []byte, off int64) (int, error) {
	r, err := f.reader("read")
	if err != nil {
		return 0, err
	}
	n, err := r.ReadAt(p, off)
	if !errors.Is(err, io.EOF) {
		err = f.fail("read", err)
	}
	return n, err
}

func (f *aferoFile) Seek(offset int64, whence int) (int64, error) {
	if f.closed {
		return 0, f.fail("seek", fs.ErrClosed)
	}
	switch whence {
	case io.SeekCurrent:
		offset += f.pos
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return f.pos, f.fail("seek", fs.ErrInvalid)
	}
	if f.dir != nil && offset == 0 {
		f.rewind()
	}
	f.pos = offset
	return offset, nil
}

// writer gives a Writer that stands at off, which must be the end of the file or lie behind it: what is in between
// becomes zeros.
func (f *aferoFile) writer(op string, off int64) (*Writer, error) {
	if err := f.can(op, f.writable()); err != nil {
		return nil, err
	}
	if off < f.size {
		return nil, f.fail(op, fmt.Errorf("at offset %d of %d: %w", off, f.size, ErrAppendOnly))
	}
	if f.w == nil {
		w, err := f.a.c.Append(f.a.ctx, f.name)
		if err != nil {
			return nil, f.fail(op, err)
		}
		f.w = w
		if f.size = w.Size(); off < f.size {
			return nil, f.fail(op, fmt.Errorf("at offset %d of %d: %w", off, f.size, ErrAppendOnly))
		}
	}
	n, err := io.CopyN(f.w, zeros{}, off-f.size)
	f.size += n
	return f.w, f.fail(op, err)
}

// zeros reads as zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (f *aferoFile) Write(p []byte) (int, error) {
	if f.flag&os.O_APPEND != 0 {
		f.pos = f.size
	}
	n, err := f.WriteAt(p, f.pos)
	f.pos += int64(n)
	return n, err
}

func (f *aferoFile) WriteAt(p []byte, off int64) (int, error) {
	w, err := f.writer("write", off)
	if err != nil {
		return 0, err
	}
	n, err := w.Write(p)
	f.size += int64(n)
	return n, f.fail("write", err)
}

func (f *aferoFile) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// Truncate makes the file longer with zeros, or cuts it, which HDFS does to closed files only: a writer is closed before.
func (f *aferoFile) Truncate(size int64) error {
	switch err := f.can("truncate", f.writable()); {
	case err != nil:
		return err
	case size < 0:
		return f.fail("truncate", fs.ErrInvalid)
	case size < f.size:
		return f.fail("truncate", f.cut(size))
	case size > f.size:
		_, err := f.writer("truncate", size)
		return err
	}
	return nil
}

func (f *aferoFile) cut(size int64) error {
	if err := f.closeWriter(); err != nil {
		return err
	}
	if f.r != nil {
		f.r.Close()
		f.r = nil
	}
	if f.size > size {
		if err := f.a.c.TruncateWait(f.a.ctx, f.name, size); err != nil {
			return err
		}
	}
	f.size = size
	return nil
}

// Sync puts what was written on the datanodes' disks, and tells the namenode the length.
func (f *aferoFile) Sync() error {
	switch {
	case f.closed:
		return f.fail("sync", fs.ErrClosed)
	case f.w == nil:
		return nil
	}
	return f.fail("sync", f.w.Hsync(UpdateLength))
}

func (f *aferoFile) Stat() (os.FileInfo, error) {
	if f.closed {
		return nil, f.fail("stat", fs.ErrClosed)
	}
	info, err := f.a.c.Stat(f.a.ctx, f.name)
	if err != nil {
		return nil, f.fail("stat", err)
	}
	if f.w != nil {
		info.size = f.size
	}
	return info, nil
}

// rewind makes the next Readdir begin at the first entry.
func (f *aferoFile) rewind() {
	f.dir = &openDir{ctx: f.a.ctx, list: lister{c: f.a.c, path: f.name, abs: f.a.c.abs(f.name), after: []byte{}}}
}

func (f *aferoFile) Readdir(count int) ([]os.FileInfo, error) {
	infos, err := f.readdir(count)
	list := make([]os.FileInfo, len(infos))
	for i, info := range infos {
		list[i] = info
	}
	return list, err
}

func (f *aferoFile) Readdirnames(n int) ([]string, error) {
	infos, err := f.readdir(n)
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = info.Name()
	}
	return names, err
}

func (f *aferoFile) readdir(n int) ([]*FileInfo, error) {
	switch {
	case f.closed:
		return nil, f.fail("readdir", fs.ErrClosed)
	case f.dir == nil:
		return nil, f.fail("readdir", syscall.ENOTDIR)
	}
	return f.dir.next(n)
}

func (f *aferoFile) closeWriter() error {
	if f.w == nil {
		return nil
	}
	w := f.w
	f.w = nil
	return w.Close()
}

// Close closes the file. A second Close fails, as the operating system's does.
func (f *aferoFile) Close() error {
	if f.closed {
		return f.fail("close", fs.ErrClosed)
	}
	f.closed = true
	if f.r != nil {
		f.r.Close()
	}
	return f.fail("close", f.closeWriter())
}
