package volume

import (
	"errors"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Finalize ends the writing: the replica becomes FINALIZED. Where that fails the writer still has to be closed.
func (w *Writer) Finalize() (dfs.Block, error) {
	s, r := w.set, w.r
	if w.failed {
		return dfs.Block{}, dfs.Errorf(dfs.ClassIO, "cannot finalize %s: an earlier write to it has failed", r.block())
	}
	if s.opt.SyncOnClose || r.synced {
		if err := w.Sync(); err != nil {
			return dfs.Block{}, err
		}
	}
	if err := w.closeFiles(); err != nil {
		return dfs.Block{}, s.check(r.vol, err)
	}
	r.vol.reserved.Add(-w.rest)
	w.rest = 0
	if err := w.own(); err != nil {
		return dfs.Block{}, err
	}
	err := s.finalize(r)
	return w.handOver(err)
}

// handOver ends the claim of own, and where the replica is done the writer with it: others need not wait for Close.
func (w *Writer) handOver(err error) (dfs.Block, error) {
	s, r := w.set, w.r
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		w.closed, r.writer = true, nil
		close(w.done)
	}
	s.releaseLocked(r)
	return r.block(), err
}

// own claims the writer's own replica.
func (w *Writer) own() error {
	s, r := w.set, w.r
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(); err != nil {
		return err
	}
	if r.doomed || s.replicas[r.id] != r {
		return dfs.Errorf(dfs.ClassReplicaNotFound, "Cannot finalize a replica that was removed: %s", r.block())
	}
	r.busy = make(chan struct{})
	return nil
}

// ToRBW ends the writing of a copy that a client goes on with: the replica becomes RBW, all of it visible.
func (w *Writer) ToRBW() (dfs.Block, error) {
	s, r := w.set, w.r
	if err := w.closeFiles(); err != nil {
		return dfs.Block{}, s.check(r.vol, err)
	}
	r.vol.reserved.Add(-w.rest)
	w.rest = 0
	if err := w.own(); err != nil {
		return dfs.Block{}, err
	}
	err := s.move(r, dfs.ReplicaRBW, r.gs)
	s.mu.Lock()
	r.acked = r.len
	s.mu.Unlock()
	return w.handOver(err)
}

// finalize makes a claimed replica FINALIZED.
func (s *Set) finalize(r *replica) error { return s.finalizeAs(r, r.gs) }

// finalizeAs is finalize under another stamp.
func (s *Set) finalizeAs(r *replica, gs dfs.GenStamp) error {
	if r.synced {
		defer func(old string) { _ = r.vol.syncDirs(old, r.vol.layout.dir(r.id, dfs.ReplicaFinalized)) }(r.vol.layout.dir(r.id, r.place()))
	}
	return s.move(r, dfs.ReplicaFinalized, gs)
}

// move brings a claimed replica to another state and stamp, and its files to where they belong. The data file goes last
// into the finalized directory and first out of it, so that a replica caught in between is found in rbw.
func (s *Set) move(r *replica, to dfs.ReplicaState, gs dfs.GenStamp) error {
	v := r.vol
	from, want := r.files(), v.layout.files(r.id, gs, to)
	steps := [2][2]string{{from.meta, want.meta}, {from.data, want.data}}
	if r.place() == dfs.ReplicaFinalized {
		steps[0], steps[1] = steps[1], steps[0]
	}
	err := v.mkdirs(v.layout.dir(r.id, to))
	if err == nil && steps[0][0] != steps[0][1] {
		err = v.cfg.FS.Rename(steps[0][0], steps[0][1])
	}
	if err == nil && steps[1][0] != steps[1][1] {
		if err = v.cfg.FS.Rename(steps[1][0], steps[1][1]); err != nil && steps[0][0] != steps[0][1] {
			err = errors.Join(err, v.cfg.FS.Rename(steps[0][1], steps[0][0]))
		}
	}
	if err != nil {
		return s.check(v, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.state, r.gs, r.was, r.trial = to, gs, 0, 0
	if to == dfs.ReplicaFinalized {
		r.acked = r.len
	}
	r.moved++
	r.wakeLocked()
	return nil
}
