package editlog

import "time"

// Stats counts what a journal has done since it was opened.
type Stats struct {
	Ops      int64 // committed and applied
	Edits    int64 // transaction ids they took
	Bytes    int64 // of encoded ops, without framing
	LogBytes int64 // written to segments

	Batches  int64
	MaxBatch int // ops in the largest batch
	Syncs    int64
	SyncTime time.Duration // spent in Syncs

	Checkpoints int64
	TxID        uint64 // of the applied state

	Kinds map[string]KindStats
}

// KindStats counts the ops of one kind.
type KindStats struct {
	Ops   int64
	Bytes int64 // of encoded ops
}

// EditsPerSync is the mean number of edits that one sync made durable, 0 without syncs.
func (s Stats) EditsPerSync() float64 {
	if s.Syncs == 0 {
		return 0
	}
	return float64(s.Edits) / float64(s.Syncs)
}

// OpsPerBatch is the mean size of a batch, 0 without batches.
func (s Stats) OpsPerBatch() float64 {
	if s.Batches == 0 {
		return 0
	}
	return float64(s.Ops) / float64(s.Batches)
}

// counters are Stats as the committer keeps them.
type counters struct {
	Stats
	kinds map[string]*KindStats
}

// countOps adds the ops of one batch to their kinds.
func (c *counters) countOps(ops []Op, sizes []int32) {
	var name string
	var kind *KindStats
	for i, op := range ops {
		if n := op.KindName(); kind == nil || n != name {
			name = n
			if kind = c.kinds[n]; kind == nil {
				kind = new(KindStats)
				c.kinds[n] = kind
			}
		}
		kind.Ops++
		kind.Bytes += int64(sizes[i])
		c.Bytes += int64(sizes[i])
	}
}

// copy returns the counts as of now.
func (c *counters) copy() Stats {
	s := c.Stats
	s.Kinds = make(map[string]KindStats, len(c.kinds))
	for name, k := range c.kinds {
		s.Kinds[name] = *k
	}
	return s
}
