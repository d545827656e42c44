package blocks

import "github.com/minidfs/go-minidfs/internal/dfs"

// marks are what one block is counted as.
type marks uint8

const (
	markComplete   marks = 1 << iota
	markSafe             // complete, with MinReplication live replicas
	markUnder            // complete, with fewer live replicas than its file asks for
	markMissing          // complete, with none
	markMissingOne       // the same, of a file with replication 1
	markCorrupt          // with at least one corrupt replica
	markLast             // under, with the last live replica
	markKinds      = iota
)

// tally counts the blocks by their marks, so that statistics and safe mode cost nothing to ask.
type tally struct {
	by        [markKinds]int
	deletions int // replicas queued for deletion
}

func (t *tally) of(k marks) int {
	for i := range t.by {
		if k == 1<<i {
			return t.by[i]
		}
	}
	return 0
}

// move counts a block as now instead of as before.
func (t *tally) move(before, now marks) {
	for i := range t.by {
		t.by[i] += int(now>>i&1) - int(before>>i&1)
	}
}

// settleLocked draws the consequences of a change of b or its replicas: counters, waiters, deletion of excess and corrupt
// ones.
func (m *Manager) settleLocked(b *block) {
	lives, corrupts := b.count()
	if want := max(int(b.replication), 1); b.state == dfs.BlockComplete && lives > want {
		lives = m.dropExcessLocked(b, lives, want)
	} else if b.state == dfs.BlockComplete && lives < want && lives+corrupts < len(b.replicas) {
		lives = m.keepExcessLocked(b, lives, want)
	}
	if corrupts > 0 && b.state == dfs.BlockComplete && m.dropCorruptLocked(b, lives, corrupts) {
		lives, corrupts = b.count()
	}
	var now marks
	if corrupts > 0 {
		now |= markCorrupt
	}
	if b.state == dfs.BlockComplete {
		now |= markComplete
		if lives >= m.o.MinReplication {
			now |= markSafe
		}
		if lives+m.awaitedLocked(b) < int(b.replication) {
			now |= markUnder
			if lives == 1 {
				now |= markLast
			}
		}
		if lives == 0 {
			now |= markMissing
			if b.replication == 1 {
				now |= markMissingOne
			}
		}
	}
	if now != b.marks {
		m.tally.move(b.marks, now)
		b.marks = now
	}
	if len(m.waiters) > 0 {
		m.wakeLocked(b)
	}
}
