package blocks

import (
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// scheduled counts the blocks that were promised to a datanode and have not arrived, by storage type. Those that never
// arrive are forgotten after ten to twenty minutes.
type scheduled struct {
	now, before [dfs.StorageNVDIMM + 1]int32
	rolled      time.Time
}

const scheduledRoll = 10 * time.Minute

func (s *scheduled) add(t dfs.StorageType) { s.now[t]++ }

func (s *scheduled) remove(t dfs.StorageType) {
	if s.before[t] > 0 {
		s.before[t]--
	} else if s.now[t] > 0 {
		s.now[t]--
	}
}

func (s *scheduled) of(t dfs.StorageType) int64 { return int64(s.now[t]) + int64(s.before[t]) }

func (s *scheduled) roll(now time.Time) {
	if now.Sub(s.rolled) >= scheduledRoll {
		s.before, s.now, s.rolled = s.now, [len(s.now)]int32{}, now
	}
}
