package volume

import (
	"context"
	"encoding/binary"
	"errors"
	"os"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Resume says how a replica is opened again.
type Resume struct {
	Block    dfs.Block    // as the client knows it, under its old stamp
	GenStamp dfs.GenStamp // the new one
	Len      int64        // what it must have: all of it, or what was acked at least
	Max      int64        // RecoverRBW: what it may have at most
	Room     int64        // how long it may become, 0 for unknown
	Cancel   func()       // as in Spec
}

// Append opens a finalized replica for more data.
func (s *Set) Append(ctx context.Context, a Resume) (*Writer, error) {
	if a.GenStamp < a.Block.GenStamp {
		return nil, dfs.Errorf(dfs.ClassIO, "The new generation stamp %d should be greater than the replica %s's generation stamp", a.GenStamp, a.Block)
	}
	if err := s.finalized(a.Block, "append to"); err != nil {
		return nil, err
	}
	return s.resume(ctx, a, func(r *replica) error {
		switch {
		case r.state != dfs.ReplicaFinalized:
			return unfinalized(a.Block, "append to")
		case r.gs != a.Block.GenStamp:
			return unexpectedStamp("append to a replica", a, r)
		}
		return wantLen(r, a.Len)
	})
}

// finalized refuses what needs a finalized replica while another is being written, whose writer goes on.
func (s *Set) finalized(b dfs.Block, what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.lookupLocked(b.ID); r != nil && r.state != dfs.ReplicaFinalized && r.busy == nil {
		return unfinalized(b, what)
	}
	return nil
}

func unfinalized(b dfs.Block, what string) error {
	return dfs.Errorf(dfs.ClassReplicaNotFound, "Cannot %s an unfinalized replica %s", what, b)
}

// RecoverAppend opens a replica whose Append, or the writing after it, has failed.
func (s *Set) RecoverAppend(ctx context.Context, a Resume) (*Writer, error) {
	return s.resume(ctx, a, func(r *replica) error { return recoverable(r, a) })
}

// RecoverRBW opens a replica again that was being written: it is cut to what was acked.
func (s *Set) RecoverRBW(ctx context.Context, a Resume) (*Writer, error) {
	return s.resume(ctx, a, func(r *replica) error {
		switch {
		case r.state != dfs.ReplicaRBW:
			return dfs.Errorf(dfs.ClassReplicaNotFound, "Cannot recover a non-RBW replica %s", r)
		case r.gs < a.Block.GenStamp || r.gs > a.GenStamp:
			return unexpectedStamp("append to a replica", a, r)
		case r.acked < a.Len || r.len > a.Max:
			return dfs.Errorf(dfs.ClassReplicaNotFound,
				"Unmatched length replica %s: BytesAcked = %d BytesRcvd = %d are not in the range of [%d, %d].", r, r.acked, r.len, a.Len, a.Max)
		}
		return nil
	})
}

// RecoverClose finalizes a replica, under the new stamp, whose closing has failed.
func (s *Set) RecoverClose(ctx context.Context, a Resume) (Info, error) {
	r, err := s.claimFor(ctx, a.Block)
	if err != nil {
		return Info{}, err
	}
	defer s.release(r)
	if err := recoverable(r, a); err != nil {
		return Info{}, err
	}
	if err := s.restamp(r, r.state, a.GenStamp); err != nil {
		return Info{}, err
	}
	if r.state == dfs.ReplicaRBW {
		if err := s.repair(r, r.len); err != nil {
			return Info{}, err
		}
		if err := s.finalize(r); err != nil {
			return Info{}, err
		}
	}
	return r.info(), nil
}

// claimFor claims the replica of b, its writer stopped.
func (s *Set) claimFor(ctx context.Context, b dfs.Block) (*replica, error) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	r, err := s.claim(ctx, b.ID)
	if r == nil && err == nil {
		err = dfs.Errorf(dfs.ClassReplicaNotFound, "Cannot append to a non-existent replica %s", b)
	}
	return r, err
}

func recoverable(r *replica, a Resume) error {
	switch {
	case r.state != dfs.ReplicaFinalized && r.state != dfs.ReplicaRBW:
		return dfs.Errorf(dfs.ClassReplicaNotFound, "Cannot recover append/close to a replica that's not FINALIZED and not RBW %s", a.Block)
	case r.gs < a.Block.GenStamp || r.gs > a.GenStamp:
		return unexpectedStamp("append to a replica", a, r)
	}
	return wantLen(r, a.Len)
}

func unexpectedStamp(what string, a Resume, r *replica) error {
	return dfs.Errorf(dfs.ClassReplicaNotFound, "Cannot %s with unexpected generation stamp %s. Expected GS range is [%d, %d].",
		what, r.block(), a.Block.GenStamp, a.GenStamp)
}

func wantLen(r *replica, n int64) error {
	if r.len != n {
		return dfs.Errorf(dfs.ClassIO, "Corrupted replica %s with a length of %d expected length is %d", r, r.len, n)
	}
	return nil
}

// resume claims the replica, checks it, and makes it RBW under the new stamp with a writer at its end.
func (s *Set) resume(ctx context.Context, a Resume, ok func(*replica) error) (*Writer, error) {
	r, err := s.claimFor(ctx, a.Block)
	if err != nil {
		return nil, err
	}
	w, err := s.reopen(r, a, ok)
	s.mu.Lock()
	if err == nil {
		r.writer = w
	}
	s.releaseLocked(r)
	s.mu.Unlock()
	return w, err
}

func (s *Set) reopen(r *replica, a Resume, ok func(*replica) error) (*Writer, error) {
	s.mu.Lock()
	err := ok(r)
	acked, finalized := r.acked, r.state == dfs.ReplicaFinalized
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if finalized {
		acked = r.len
	}
	rest := max(0, a.Room-r.len)
	if _, room := r.vol.Space(); room < rest {
		return nil, dfs.Errorf(ClassDiskOutOfSpace, "Insufficient space for appending to %s", r)
	}
	// dirty: nobody knows what of it the last writer has synced
	w := &Writer{set: s, r: r, cancel: a.Cancel, done: make(chan struct{}), rest: rest, dirty: true}
	if err := w.openTail(acked); err != nil {
		return nil, errors.Join(s.check(r.vol, err), w.closeFiles())
	}
	if err := s.restamp(r, dfs.ReplicaRBW, a.GenStamp); err != nil {
		return nil, errors.Join(err, w.closeFiles())
	}
	s.mu.Lock()
	r.acked = acked
	s.mu.Unlock()
	r.vol.reserved.Add(rest)
	return w, nil
}

// restamp moves a claimed replica that has bytes which may be durable, and makes the move durable: the namenode is told of
// the stamp, and takes a replica that a power loss has given its old one back for corrupt.
func (s *Set) restamp(r *replica, to dfs.ReplicaState, gs dfs.GenStamp) error {
	old := r.vol.layout.dir(r.id, r.place())
	if err := s.move(r, to, gs); err != nil {
		return err
	}
	return s.check(r.vol, r.vol.syncDirs(r.vol.layout.dir(r.id, to), old))
}

// openTail opens the files of a claimed replica, checks its last chunk and cuts it to n bytes.
func (w *Writer) openTail(n int64) error {
	r := w.r
	f := r.files()
	var err error
	if w.data, err = r.vol.cfg.FS.OpenFile(f.data, os.O_RDWR, 0); err != nil {
		return err
	}
	if w.meta, err = r.vol.cfg.FS.OpenFile(f.meta, os.O_RDWR, 0); err != nil {
		return err
	}
	if r.check.BytesPerChunk == 0 {
		h := make([]byte, headerLen)
		k, err := readFull(w.meta, h, 0)
		if err != nil {
			return err
		}
		c, err := parseHeader(h[:k])
		if err != nil {
			return err
		}
		w.set.mu.Lock()
		r.check = c
		w.set.mu.Unlock()
	}
	return w.tail(n)
}

// tail makes both files end after n of the r.len bytes, with the right sum for the last chunk. The checksum file goes
// first: a stop between the two leaves the sum of a prefix. A last chunk that does not have its sum is an error.
func (w *Writer) tail(n int64) error {
	r, c := w.r, w.r.check
	sum, err := w.lastSum(n)
	if err != nil {
		return err
	}
	metaLen := c.metaLen(n)
	if n < r.len {
		if c.partial(n) > 0 && c.Type != dfs.ChecksumNull {
			if _, err := w.meta.WriteAt(binary.BigEndian.AppendUint32(nil, sum), c.metaOffset(n)); err != nil {
				return err
			}
		}
	}
	if err := truncate(w.meta, metaLen); err != nil {
		return err
	}
	if part := int64(c.partial(n)); n < r.len && part > 0 && r.safe > n-part {
		if err := w.meta.Sync(); err != nil {
			return err
		}
	}
	if err := truncate(w.data, n); err != nil {
		return err
	}
	r.vol.used.Add(n + metaLen - r.len - r.metaLen)
	w.dirty = w.dirty || n < r.len
	w.set.mu.Lock()
	r.len, r.metaLen, r.sum, r.safe = n, metaLen, sum, min(r.safe, n)
	r.acked = min(r.acked, n)
	w.set.mu.Unlock()
	return nil
}

// lastSum gives the sum of the last chunk of the first n bytes, 0 where that is whole. The chunk is verified first as
// it was at r.len, if n lies in it, or else as a whole chunk.
func (w *Writer) lastSum(n int64) (uint32, error) {
	r, c := w.r, w.r.check
	part := c.partial(n)
	if part == 0 || c.Type == dfs.ChecksumNull {
		return 0, nil
	}
	start := n - int64(part)
	chunk := make([]byte, min(int64(c.BytesPerChunk), r.len-start))
	var stored [4]byte
	k, err := readFull(w.meta, stored[:], c.metaOffset(n))
	if err != nil {
		return 0, err
	}
	if k < 4 {
		return 0, dfs.Errorf(dfs.ClassIO, "the checksum file of %s ends before the sum of its last chunk", r)
	}
	if r.vol.cfg.Null && n == r.len {
		return binary.BigEndian.Uint32(stored[:]), nil
	}
	k, err = readFull(w.data, chunk, start)
	if err != nil {
		return 0, err
	}
	if !r.vol.cfg.Null {
		good, _ := c.prefix(chunk[:k], stored[:])
		if good != len(chunk) {
			return 0, dfs.Errorf(dfs.ClassIO, "Partial CRC of %s does not match value computed the last time file was closed: the chunk at %d is corrupt", r, start)
		}
	}
	_, sum := c.extend(nil, 0, 0, chunk[:part])
	return sum, nil
}

// truncate cuts a file that is longer than n.
func truncate(f interface {
	Stat() (os.FileInfo, error)
	Truncate(int64) error
}, n int64) error {
	i, err := f.Stat()
	if err != nil || i.Size() <= n {
		return err
	}
	return f.Truncate(n)
}

// repair makes the files of a claimed replica without a writer end after n bytes.
func (s *Set) repair(r *replica, n int64) error {
	w := &Writer{set: s, r: r, dirty: r.synced}
	err := w.openTail(n)
	if err == nil && r.synced {
		err = w.Sync()
	}
	return s.check(r.vol, errors.Join(err, w.closeFiles()))
}
