package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// Reader reads a file. Read, Seek and WriteTo move one position and belong to one goroutine at a time; ReadAt does not,
// and many goroutines may use it at once. Any of them may run while Close is called.
//
// The length is fixed by Open. Of a file that is being written, that is what its writer has flushed.
type Reader struct {
	c      *Client
	path   string
	blocks blockMap
	ctx    context.Context
	cancel context.CancelCauseFunc

	// turn holds one value, which whoever moves the position takes out meanwhile
	turn   chan struct{}
	pos    int64
	stream *blockReader // at pos; or nil
	find   search

	once sync.Once
}

var (
	_ io.ReadSeekCloser = (*Reader)(nil)
	_ io.ReaderAt       = (*Reader)(nil)
	_ io.WriterTo       = (*Reader)(nil)
)

// Open opens a file for reading. The Reader lives within ctx: when that ends, reads fail with its cause.
func (c *Client) Open(ctx context.Context, path string) (*Reader, error) {
	r := &Reader{c: c, path: path, turn: make(chan struct{}, 1)}
	r.ctx, r.cancel = c.within(ctx)
	r.blocks.c, r.blocks.path, r.blocks.abs = c, path, c.abs(path)
	r.find.m = &r.blocks
	if err := r.blocks.open(r.ctx, "open"); err != nil {
		r.cancel(ErrClosed)
		return nil, err
	}
	r.turn <- struct{}{}
	return r, nil
}

// ReadFile reads a whole file.
func (c *Client) ReadFile(ctx context.Context, path string) ([]byte, error) {
	r, err := c.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := make([]byte, r.Size())
	n, err := io.ReadFull(r, b)
	return b[:n], err
}

// Name is the path the file was opened by.
func (r *Reader) Name() string { return r.path }

// Size is the length of the file when it was opened.
func (r *Reader) Size() int64 { return r.blocks.length }

// Stat asks the namenode about the file as it is now; of a file that is being written, the size is the Reader's.
func (r *Reader) Stat() (*FileInfo, error) {
	i, err := r.c.stat(r.ctx, "stat", r.path)
	if err == nil && r.blocks.last != nil {
		i.size = max(i.size, r.blocks.length)
	}
	return i, err
}

// begin takes the turn, or says why it cannot.
func (r *Reader) begin(op string) error {
	select {
	case <-r.turn:
		if r.ctx.Err() == nil {
			return nil
		}
		r.turn <- struct{}{}
	case <-r.ctx.Done():
	}
	return pathError(op, r.path, cause(r.ctx))
}

func (r *Reader) end() { r.turn <- struct{}{} }

// Read reads up to len(p) bytes, as many as have come.
func (r *Reader) Read(p []byte) (int, error) {
	if err := r.begin("read"); err != nil {
		return 0, err
	}
	defer r.end()
	if len(p) == 0 {
		return 0, nil
	}
	for r.pos < r.blocks.length {
		if err := r.open(); err != nil {
			return 0, pathError("read", r.path, err)
		}
		n, err := r.stream.read(p)
		if n > 0 {
			r.moved(int64(n))
			return n, nil
		}
		if err = r.lost(err); err != nil {
			return 0, pathError("read", r.path, err)
		}
	}
	return 0, io.EOF
}

// WriteTo writes the rest of the file to w without a copy in between.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	if err := r.begin("read"); err != nil {
		return 0, err
	}
	defer r.end()
	var total int64
	for r.pos < r.blocks.length {
		if err := r.open(); err != nil {
			return total, pathError("read", r.path, err)
		}
		n, wrote, err := r.stream.writeTo(w)
		total += n
		r.moved(n)
		switch {
		case err == nil:
		case wrote:
			return total, err
		default:
			if err = r.lost(err); err != nil {
				return total, pathError("read", r.path, err)
			}
		}
	}
	return total, nil
}

// open makes stream stand at pos.
func (r *Reader) open() error {
	if r.stream != nil && !r.stream.over {
		return nil
	}
	s, err := r.find.open(r.ctx, r.pos, r.blocks.length)
	if err != nil {
		return err
	}
	r.stream = s
	return nil
}

func (r *Reader) moved(n int64) {
	r.pos += n
	if n > 0 {
		r.find.progress()
	}
	if r.stream.over {
		r.stream = nil
	}
}

// lost drops a stream that failed, so that the next open searches on. Only an ended context is an error.
func (r *Reader) lost(err error) error {
	s := r.stream
	r.stream = nil
	if s == nil || err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	if r.ctx.Err() != nil {
		s.close()
		return cause(r.ctx)
	}
	r.find.broken(r.ctx, s, err)
	return nil
}

// Seek moves the position. A short way ahead is read over; any other move opens a new stream at the next read.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	if err := r.begin("seek"); err != nil {
		return 0, err
	}
	defer r.end()
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.blocks.length
	default:
		return r.pos, &fs.PathError{Op: "seek", Path: r.path, Err: fmt.Errorf("whence is %d: %w", whence, fs.ErrInvalid)}
	}
	if offset < 0 {
		return r.pos, &fs.PathError{Op: "seek", Path: r.path, Err: fmt.Errorf("offset is %d: %w", offset, fs.ErrInvalid)}
	}
	if s := r.stream; s != nil && offset != r.pos {
		ahead := offset - r.pos
		if ahead < 0 || ahead > shortSkip || s.pos+ahead >= s.end || s.skip(s.pos+ahead) != nil {
			s.close()
			r.stream = nil
		}
	}
	r.pos = offset
	return offset, nil
}

// ReadAt reads len(p) bytes from offset off on, over a stream of its own.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if r.ctx.Err() != nil {
		return 0, pathError("read", r.path, cause(r.ctx))
	}
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: r.path, Err: fmt.Errorf("offset is %d: %w", off, fs.ErrInvalid)}
	}
	limit := min(off+int64(len(p)), r.blocks.length)
	find := search{m: &r.blocks}
	n := 0
	for off+int64(n) < limit {
		s, err := find.open(r.ctx, off+int64(n), limit)
		if err != nil {
			return n, pathError("read", r.path, err)
		}
		for s.pos < s.end && err == nil {
			var m int
			m, err = s.read(p[n:])
			n += m
			if m > 0 {
				find.progress()
			}
		}
		if err != nil {
			if r.ctx.Err() != nil {
				s.close()
				return n, pathError("read", r.path, cause(r.ctx))
			}
			find.broken(r.ctx, s, err)
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close ends every read and closes the stream. It may be called more than once.
func (r *Reader) Close() error {
	r.once.Do(func() {
		r.cancel(ErrClosed)
		<-r.turn
		if r.stream != nil {
			r.stream.close()
		}
	})
	return nil
}
