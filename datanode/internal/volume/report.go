package volume

import (
	"cmp"
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Report is what a namenode wants to know of one replica.
type Report struct {
	dfs.Block
	State dfs.ReplicaState
}

// Reports lists the replicas of each volume, by block id. Copies that are not complete are left out, and a replica under
// recovery counts as what it was.
func (s *Set) Reports() map[*Volume][]Report {
	s.mu.Lock()
	out := make(map[*Volume][]Report, len(s.volumes))
	for _, v := range s.volumes {
		out[v] = nil
	}
	for _, r := range s.replicas {
		if r.doomed || r.place() == dfs.ReplicaTemporary {
			continue
		}
		out[r.vol] = append(out[r.vol], Report{r.block(), r.place()})
	}
	s.mu.Unlock()
	for _, list := range out {
		slices.SortFunc(list, func(a, b Report) int { return cmp.Compare(a.ID, b.ID) })
	}
	return out
}

// Replicas lists all replicas, by block id.
func (s *Set) Replicas() []Info {
	s.mu.Lock()
	out := make([]Info, 0, len(s.replicas))
	for _, r := range s.replicas {
		if !r.doomed {
			out = append(out, r.info())
		}
	}
	s.mu.Unlock()
	slices.SortFunc(out, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Replica looks a replica up.
func (s *Set) Replica(id dfs.BlockID) (Info, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.lookupLocked(id); r != nil {
		return r.info(), true
	}
	return Info{}, false
}

// Count is the number of replicas on a volume.
func (s *Set) Count(v *Volume) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.replicas {
		if r.vol == v && !r.doomed {
			n++
		}
	}
	return n
}
