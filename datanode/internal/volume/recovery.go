package volume

import (
	"context"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// InitRecovery stops the writing of a replica and puts it under the recovery id, which must be newer than its stamp
// and than any recovery before. It gives the replica as it was: its state, its stamp, its bytes on the disk. There
// being no replica is no error.
func (s *Set) InitRecovery(ctx context.Context, b dfs.Block, id dfs.GenStamp) (Info, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	r, err := s.claim(ctx, b.ID)
	if r == nil || err != nil {
		return Info{}, false, err
	}
	defer s.release(r)
	switch {
	case r.gs < b.GenStamp:
		err = dfs.Errorf(dfs.ClassIO, "replica.getGenerationStamp() < block.getGenerationStamp(), block=%s, replica=%s", b, r)
	case r.gs >= id:
		err = dfs.Errorf(dfs.ClassIO, "replica.getGenerationStamp() >= recoveryId = %d, block=%s, replica=%s", id, b, r)
	case r.state == dfs.ReplicaRUR && r.trial >= id:
		err = dfs.Errorf(dfs.ClassRecoveryInProgress, "rur.getRecoveryID() >= recoveryId = %d, block=%s, rur=%s", id, b, r)
	}
	if err != nil {
		return Info{}, false, err
	}
	if err := s.present(r); err != nil {
		return Info{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.state != dfs.ReplicaRUR {
		r.state, r.was = dfs.ReplicaRUR, r.state
	}
	r.trial = id
	return r.info(), true, nil
}

// present checks that the files of a claimed replica hold what they should.
func (s *Set) present(r *replica) error {
	f := r.files()
	i, err := r.vol.cfg.FS.Stat(f.data)
	if err == nil && i.Size() < r.len {
		err = dfs.Errorf(dfs.ClassIO, "The block file of %s has %d bytes only", r, i.Size())
	}
	if err == nil {
		_, err = r.vol.cfg.FS.Stat(f.meta)
	}
	return s.check(r.vol, err)
}

// UpdateRecovery ends the recovery of a replica: it gets the recovery id for a stamp, is cut to the new length, and
// is finalized. Where copyTo is another block id, the replica stays as it was, and a copy of that length is made.
// b is the replica as InitRecovery reported it.
func (s *Set) UpdateRecovery(ctx context.Context, b dfs.Block, id dfs.GenStamp, n int64, copyTo dfs.BlockID) (Info, error) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	r, err := s.claim(ctx, b.ID)
	if r == nil && err == nil {
		err = dfs.Errorf(dfs.ClassReplicaNotFound, "Replica not found for %s", b)
	}
	if err != nil {
		return Info{}, err
	}
	defer s.release(r)
	switch {
	case r.state != dfs.ReplicaRUR:
		return Info{}, dfs.Errorf(dfs.ClassIO, "replica.getState() != RUR, replica=%s", r)
	case r.trial != id:
		return Info{}, dfs.Errorf(dfs.ClassIO, "rur.getRecoveryID() != recoveryId = %d, rur=%s", id, r)
	case r.len != b.Len:
		return Info{}, dfs.Errorf(dfs.ClassIO, "replica.getBytesOnDisk() != block.getNumBytes(), block=%s with %d bytes, replica=%s", b, b.Len, r)
	case n < 0 || r.len < n:
		return Info{}, dfs.Errorf(dfs.ClassIO, "rur.getNumBytes() < newlength = %d, rur=%s", n, r)
	}
	if copyTo != 0 && copyTo != b.ID {
		return s.copyUnder(r, dfs.Block{ID: copyTo, GenStamp: id, Len: n})
	}
	if n < r.len && r.was == dfs.ReplicaFinalized {
		// while the files change, what a crash leaves must be found in rbw and be verified
		old := r.vol.layout.dir(r.id, r.was)
		if err := s.move(r, dfs.ReplicaRWR, id); err != nil {
			return Info{}, err
		}
		if err := r.vol.syncDirs(r.vol.layout.rbw, old); err != nil {
			return Info{}, s.check(r.vol, err)
		}
	}
	// What was durable before must stay so: a power loss that undid half of the change would take it away, and so would one
	// that gave the replica its old stamp back, once the namenode knows the new one.
	r.synced = true
	if r.was != dfs.ReplicaFinalized || n < r.len {
		if err := s.repair(r, n); err != nil {
			return Info{}, err
		}
	}
	if err := s.finalizeAs(r, id); err != nil {
		return Info{}, err
	}
	return r.info(), nil
}

// copyUnder makes a finalized copy of the first b.Len bytes of a claimed replica, which goes back to what it was.
func (s *Set) copyUnder(r *replica, b dfs.Block) (Info, error) {
	rd, err := s.openClaimed(r)
	if err != nil {
		return Info{}, err
	}
	defer rd.Close()
	w, err := s.create(s.ctx, Spec{
		Block: b, Type: r.vol.Type(), Checksum: rd.Checksum, Replace: true, Cancel: func() {},
	}, dfs.ReplicaTemporary)
	if err != nil {
		return Info{}, err
	}
	defer w.Close()
	if err := copyBytes(w, rd, b.Len); err != nil {
		return Info{}, err
	}
	if _, err := w.Finalize(); err != nil {
		return Info{}, err
	}
	s.mu.Lock()
	r.state, r.was, r.trial = r.was, 0, 0
	s.mu.Unlock()
	return w.Info(), nil
}

// openClaimed opens a replica that the caller has claimed.
func (s *Set) openClaimed(r *replica) (*Reader, error) {
	s.mu.Lock()
	v := view{r: r, moved: r.moved, info: r.info(), visible: r.len}
	s.mu.Unlock()
	rd, err := s.open(v)
	return rd, s.check(r.vol, err)
}

// copyBytes copies n bytes, each chunk verified.
func copyBytes(w *Writer, rd *Reader, n int64) error {
	return rd.each(n, func(off int64, p []byte) error { return w.Write(off, p[:min(int64(len(p)), n-off)], nil) })
}
