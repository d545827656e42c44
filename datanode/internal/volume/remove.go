package volume

import (
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Invalidate takes replicas away: they are gone for everybody at once, their files a little later (Options.Deleted).
// Replicas that are not there, or are there under another stamp, are left out and named in the errors.
func (s *Set) Invalidate(blocks ...dfs.Block) []error {
	var errs []error
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(); err != nil {
		return []error{err}
	}
	for _, b := range blocks {
		r := s.lookupLocked(b.ID)
		switch {
		case r == nil:
			errs = append(errs, fmt.Errorf("volume: cannot delete %s: no such replica", b))
		case r.gs != b.GenStamp:
			errs = append(errs, fmt.Errorf("volume: cannot delete %s: the replica here is %s", b, r))
		default:
			s.doomLocked(r)
		}
	}
	return errs
}

// doomLocked queues a replica for deletion.
func (s *Set) doomLocked(r *replica) {
	r.doomed = true
	queue, running := s.deleting[r.vol]
	s.deleting[r.vol] = append(queue, r)
	if !running {
		s.work.Add(1)
		go s.deleteFrom(r.vol)
	}
}

// deleteFrom empties a volume's queue and ends.
func (s *Set) deleteFrom(v *Volume) {
	defer s.work.Done()
	for {
		s.mu.Lock()
		queue := s.deleting[v]
		if len(queue) == 0 || s.ctx.Err() != nil {
			delete(s.deleting, v)
			s.mu.Unlock()
			return
		}
		r := queue[0]
		s.deleting[v] = queue[1:]
		s.mu.Unlock()
		if !s.seize(r) {
			continue
		}
		b := r.block()
		if err := s.erase(r); err != nil {
			s.log.Warn("volume: cannot remove the files of a replica", "replica", b, "dir", v.cfg.Dir, "err", err)
		}
		if s.opt.Deleted != nil {
			s.opt.Deleted(v.id, b)
		}
	}
}

// seize claims a doomed replica.
func (s *Set) seize(r *replica) bool {
	for {
		s.mu.Lock()
		wait, cancel := r.claimLocked()
		if wait == nil {
			r.busy = make(chan struct{})
			s.mu.Unlock()
			return true
		}
		s.mu.Unlock()
		cancel()
		select {
		case <-wait:
		case <-s.ctx.Done():
			return false
		}
	}
}

// erase removes a claimed replica and its files.
func (s *Set) erase(r *replica) error {
	err := r.vol.removeFiles(r)
	r.vol.used.Add(-r.len - r.metaLen)
	s.mu.Lock()
	s.dropLocked(r)
	s.mu.Unlock()
	return s.check(r.vol, err)
}
