package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Spec says how a replica is to be made.
type Spec struct {
	Block    dfs.Block       // Len: how long it may become, 0 for unknown
	Type     dfs.StorageType // of the volume
	Checksum Checksum
	Replace  bool   // a replica with an older stamp makes way, where an existing one is otherwise an error
	Cancel   func() // makes the writer let go soon; called when somebody else needs the replica
}

// CreateRBW makes a replica that a client writes.
func (s *Set) CreateRBW(ctx context.Context, spec Spec) (*Writer, error) {
	return s.create(ctx, spec, dfs.ReplicaRBW)
}

// CreateTemporary makes a replica that is copied from another datanode. It takes the place of an older one that is
// still being written.
func (s *Set) CreateTemporary(ctx context.Context, spec Spec) (*Writer, error) {
	return s.create(ctx, spec, dfs.ReplicaTemporary)
}

func (s *Set) create(ctx context.Context, spec Spec, state dfs.ReplicaState) (*Writer, error) {
	if err := spec.Checksum.Check(); err != nil {
		return nil, err
	}
	if err := s.makeWay(ctx, spec, state); err != nil {
		return nil, err
	}
	v, err := s.choose(spec.Type, spec.Block.Len, spec.Checksum)
	if err != nil {
		return nil, err
	}
	r := &replica{id: spec.Block.ID, vol: v, gs: spec.Block.GenStamp, state: state, check: spec.Checksum, busy: make(chan struct{})}
	s.mu.Lock()
	err = s.usableLocked()
	if old := s.replicas[r.id]; err == nil && old != nil {
		err = existsError(spec.Block, old.state)
	}
	if err == nil {
		s.replicas[r.id] = r
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	w := &Writer{set: s, r: r, cancel: spec.Cancel, done: make(chan struct{}), rest: max(0, spec.Block.Len)}
	v.reserved.Add(w.rest)
	if err := w.createFiles(); err != nil {
		v.reserved.Add(-w.rest)
		v.used.Add(-r.metaLen)
		_ = v.removeFiles(r)
		s.mu.Lock()
		s.dropLocked(r)
		s.mu.Unlock()
		return nil, s.check(v, err)
	}
	s.mu.Lock()
	r.writer = w
	s.releaseLocked(r)
	s.mu.Unlock()
	return w, nil
}

// makeWay removes a replica that the new one replaces, or says that there is one.
func (s *Set) makeWay(ctx context.Context, spec Spec, state dfs.ReplicaState) error {
	s.mu.Lock()
	old := s.lookupLocked(spec.Block.ID)
	if old != nil && !replaceable(old, spec, state) {
		err := existsError(spec.Block, old.state)
		s.mu.Unlock()
		return err
	}
	none := s.replicas[spec.Block.ID] == nil
	s.mu.Unlock()
	if none {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	r, err := s.claim(ctx, spec.Block.ID)
	if r == nil || err != nil {
		return err
	}
	if !replaceable(r, spec, state) { // it may have changed while its writer came to an end
		err := existsError(spec.Block, r.state)
		s.release(r)
		return err
	}
	return s.erase(r)
}

func replaceable(old *replica, spec Spec, state dfs.ReplicaState) bool {
	if old.gs >= spec.Block.GenStamp {
		return false
	}
	open := old.state == dfs.ReplicaRBW || old.state == dfs.ReplicaTemporary
	return spec.Replace || state == dfs.ReplicaTemporary && open
}

func existsError(b dfs.Block, s dfs.ReplicaState) error {
	return dfs.Errorf(dfs.ClassReplicaExists, "Block %s already exists in state %s and thus cannot be created.", b, s)
}

// createFiles makes the two files, the checksums' header included. A file left from a run that could not clean up is
// written over.
func (w *Writer) createFiles() error {
	r := w.r
	f := r.files()
	var err error
	if w.data, err = createFile(r.vol.cfg.FS, f.data); err != nil {
		return err
	}
	if w.meta, err = createFile(r.vol.cfg.FS, f.meta); err != nil {
		return errors.Join(err, w.closeFiles())
	}
	if err := r.vol.grow(headerLen, new(int64)); err != nil {
		return errors.Join(err, w.closeFiles())
	}
	r.metaLen = headerLen
	if _, err := w.meta.WriteAt(r.check.appendHeader(nil), 0); err != nil {
		return errors.Join(err, w.closeFiles())
	}
	return nil
}

func createFile(f afero.Fs, name string) (afero.File, error) {
	file, err := f.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return f.OpenFile(name, os.O_RDWR|os.O_TRUNC, 0o644)
	}
	return file, err
}
