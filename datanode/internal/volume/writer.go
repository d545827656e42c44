package volume

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Writer appends to a replica. One goroutine uses it, Close included; Acked may be called by another.
type Writer struct {
	set    *Set
	r      *replica
	data   afero.File
	meta   afero.File
	cancel func()
	done   chan struct{} // closed by Close
	closed bool

	rest    int64  // of the reservation
	scratch []byte // sums that had to be computed
	dirty   bool   // something was written since the last Sync
	failed  bool   // a write went wrong: what is on the disk beyond len is not known
}

// Info describes the replica.
func (w *Writer) Info() Info {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	return w.r.info()
}

// Block is the replica as it is now.
func (w *Writer) Block() dfs.Block {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	return w.r.block()
}

// Storage is the storage that holds the replica.
func (w *Writer) Storage() *Volume { return w.r.vol }

// Checksum is how the replica is protected.
func (w *Writer) Checksum() Checksum { return w.r.check }

// Len is the number of bytes written. Only the writer's goroutine may ask.
func (w *Writer) Len() int64 { return w.r.len }

// Write stores data, which begins at off in the block. What the replica has already is skipped: packets are sent again
// after a flush and after a recovery. sums are those of data by the replica's own Checksum, or nil to have them
// computed; they are taken as they are where data begins a chunk, and computed where it continues one.
func (w *Writer) Write(off int64, data, sums []byte) error {
	r := w.r
	if off < 0 || off > r.len {
		return dfs.Errorf(dfs.ClassIO, "Received an out-of-sequence packet for %s: it begins at %d, received so far are %d bytes", r.block(), off, r.len)
	}
	end := off + int64(len(data))
	if end <= r.len {
		return nil
	}
	switch {
	case w.failed:
		return fmt.Errorf("volume: an earlier write to %s has failed", r.block())
	case w.data == nil:
		return fmt.Errorf("volume: %s is not open for writing any more", r.block())
	}
	c := r.check
	tail := data[r.len-off:]
	from, part := r.len, c.partial(r.len)
	var sum uint32
	switch {
	case c.Type == dfs.ChecksumNull:
		sums = nil
	case sums != nil && off%int64(c.BytesPerChunk) == 0:
		if len(sums) != int(c.chunks(int64(len(data))))*4 {
			return fmt.Errorf("volume: %d bytes of sums for %d bytes of data in chunks of %d", len(sums), len(data), c.BytesPerChunk)
		}
		sums = sums[(from-off)/int64(c.BytesPerChunk)*4:]
		if c.partial(end) > 0 {
			sum = binary.BigEndian.Uint32(sums[len(sums)-4:])
		}
	default:
		w.scratch, sum = c.extend(w.scratch[:0], r.sum, part, tail)
		sums = w.scratch
	}
	if err := w.store(from, part, tail, sums); err != nil {
		w.failed = true
		return w.set.check(r.vol, err)
	}
	w.set.mu.Lock()
	r.len, r.sum, r.metaLen = end, sum, c.metaLen(end)
	r.wakeLocked()
	w.set.mu.Unlock()
	return nil
}

// store writes data first, so that a stop between the two leaves checksums of a prefix. Where the sum that is about to
// be replaced vouches for durable bytes, the new bytes are made durable before.
func (w *Writer) store(from int64, part int, data, sums []byte) error {
	r := w.r
	metaLen := r.check.metaLen(from + int64(len(data)))
	if err := r.vol.grow(int64(len(data))+metaLen-r.metaLen, &w.rest); err != nil {
		return err
	}
	_, err := w.data.WriteAt(data, from)
	if err == nil && part > 0 && r.safe > from-int64(part) {
		err = w.data.Sync()
	}
	if err == nil && len(sums) > 0 {
		_, err = w.meta.WriteAt(sums, r.check.metaOffset(from))
	}
	if err != nil {
		r.vol.used.Add(-(int64(len(data)) + metaLen - r.metaLen))
		w.cut()
		return err
	}
	w.dirty = true
	return nil
}

// cut takes back what a failed write has left, as far as that goes; whoever opens the replica next does it again.
func (w *Writer) cut() {
	_ = w.data.Truncate(w.r.len)
	if w.r.sum != 0 {
		_, _ = w.meta.WriteAt(binary.BigEndian.AppendUint32(nil, w.r.sum), w.r.check.metaOffset(w.r.len))
	}
	_ = w.meta.Truncate(w.r.metaLen)
}

// Sync makes everything written so far survive a power loss.
func (w *Writer) Sync() error {
	if !w.dirty && w.r.synced {
		return nil
	}
	err := w.data.Sync()
	if err == nil {
		err = w.meta.Sync()
	}
	if err != nil {
		return w.set.check(w.r.vol, err)
	}
	if !w.r.synced {
		if err := w.r.vol.syncDirs(w.r.vol.layout.dir(w.r.id, w.r.state)); err != nil {
			return w.set.check(w.r.vol, err)
		}
	}
	w.dirty = false
	w.set.mu.Lock()
	w.r.synced, w.r.safe = true, w.r.len
	w.set.mu.Unlock()
	return nil
}

// Acked says that the whole pipeline has n bytes: readers may now ask for them.
func (w *Writer) Acked(n int64) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	if n = min(n, w.r.len); n > w.r.acked {
		w.r.acked = n
	}
}

// Close lets go of the replica. A client's replica that was not finalized stays as it is, for a recovery to decide; a
// copy is removed. It is idempotent.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	err := w.closeFiles()
	r, s := w.r, w.set
	r.vol.reserved.Add(-w.rest)
	w.rest = 0
	s.mu.Lock()
	r.writer = nil
	drop := r.state == dfs.ReplicaTemporary && !r.doomed && !s.closed && r.busy == nil
	if drop {
		r.busy = make(chan struct{})
	}
	r.wakeLocked()
	close(w.done)
	s.mu.Unlock()
	if drop {
		err = errors.Join(err, s.erase(r))
	}
	return err
}

func (w *Writer) closeFiles() error {
	var err error
	if w.data != nil {
		err = w.data.Close()
		w.data = nil
	}
	if w.meta != nil {
		err = errors.Join(err, w.meta.Close())
		w.meta = nil
	}
	return err
}

// stopTimeout is how long somebody who needs a replica waits for its writer to let go.
const stopTimeout = time.Minute
