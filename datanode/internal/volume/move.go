package volume

import (
	"context"
	"errors"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// MoveTo brings a finalized replica to a volume of that type, and removes it from where it was. One that is on such a
// volume stays.
func (s *Set) MoveTo(ctx context.Context, b dfs.Block, t dfs.StorageType) (Info, error) {
	if err := s.finalized(b, "move"); err != nil {
		return Info{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	r, err := s.claim(ctx, b.ID)
	if err != nil {
		return Info{}, err
	}
	if r == nil {
		return Info{}, dfs.Errorf(dfs.ClassReplicaNotFound, "Replica not found for %s", b)
	}
	to, err := s.copyAcross(r, b, t)
	if err != nil {
		s.release(r)
		return Info{}, err
	}
	if to == r {
		defer s.release(r)
		return r.info(), nil
	}
	s.mu.Lock()
	s.replicas[r.id] = to
	info := to.info()
	s.mu.Unlock()
	if err := s.erase(r); err != nil {
		s.log.Warn("volume: cannot remove a replica that was moved", "replica", r, "dir", r.vol.cfg.Dir, "err", err)
	}
	return info, nil
}

// copyAcross makes a finalized copy of a claimed replica on a volume of type t; it gives r itself where that is not needed.
func (s *Set) copyAcross(r *replica, b dfs.Block, t dfs.StorageType) (*replica, error) {
	switch {
	case r.state != dfs.ReplicaFinalized:
		return nil, unfinalized(b, "move")
	case r.gs != b.GenStamp:
		return nil, dfs.Errorf(dfs.ClassIO, "Generation stamp of %s is not that of the replica %s", b, r)
	case r.vol.Type() == t:
		return r, nil
	}
	rd, err := s.openClaimed(r)
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	v, err := s.choose(t, r.len, rd.Checksum)
	if err != nil {
		return nil, err
	}
	to := &replica{id: r.id, vol: v, gs: r.gs, state: dfs.ReplicaTemporary, check: rd.Checksum, synced: r.synced}
	w := &Writer{set: s, r: to, dirty: true}
	err = w.createFiles()
	if err == nil {
		err = copyBytes(w, rd, r.len)
	}
	if err == nil && to.synced {
		err = w.Sync()
	}
	err = errors.Join(err, w.closeFiles())
	if err == nil {
		err = s.finalize(to)
	}
	if err != nil {
		v.used.Add(-to.len - to.metaLen)
		return nil, errors.Join(s.check(v, err), v.removeFiles(to))
	}
	return to, nil
}
