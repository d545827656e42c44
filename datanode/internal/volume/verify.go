package volume

import (
	"context"
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// ErrCorrupt is in the chain of the error when bytes do not have the sum that stands for them.
var ErrCorrupt = fmt.Errorf("corrupt replica: %w", dfs.ClassIO)

// Verify reads a replica against its checksums.
func (s *Set) Verify(ctx context.Context, b dfs.Block) error {
	rd, err := s.Open(ctx, b, 0)
	if err != nil {
		return err
	}
	defer rd.Close()
	return rd.each(rd.Block.Len, func(int64, []byte) error { return ctx.Err() })
}

// each gives f the chunks that hold the first n bytes, many at a time, verified.
func (r *Reader) each(n int64, f func(off int64, p []byte) error) error {
	c := r.Checksum
	buf := make([]byte, max(1, (256<<10)/c.BytesPerChunk)*c.BytesPerChunk)
	sums := make([]byte, c.chunks(int64(len(buf)))*4)
	for off := int64(0); off < n; off += int64(len(buf)) {
		p := buf[:min(int64(len(buf)), r.Block.Len-off)]
		if err := r.ReadAt(p, off); err != nil {
			return err
		}
		q, err := r.Sums(sums, off, len(p))
		if err != nil {
			return err
		}
		if good, _ := c.prefix(p, q); good < len(p) && !r.null {
			return fmt.Errorf("volume: the chunk at %d of %s: %w", off+int64(good), r.Block, ErrCorrupt)
		}
		if err := f(off, p); err != nil {
			return err
		}
	}
	return nil
}
