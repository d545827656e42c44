package blocks

import (
	"slices"
	"time"
)

// closingTimeout is how long replicas of a block that is complete already may take to be reported.
const closingTimeout = 5 * time.Minute

// awaitLocked begins to wait for the replicas of a block that has just become complete: those of its pipeline, and those
// said to be written, that are not finalized yet.
func (m *Manager) awaitLocked(b *block) {
	var coming []*storage
	if b.uc != nil {
		for _, s := range b.uc.expected {
			if b.awaits(s) {
				coming = append(coming, s)
			}
		}
	}
	for i := range b.replicas {
		r := &b.replicas[i]
		known := slices.ContainsFunc(coming, func(s *storage) bool { return s.node == r.storage.node })
		if !known && r.gen == b.GenStamp && b.standing(r) == building {
			coming = append(coming, r.storage)
		}
	}
	b.uc = nil
	if len(coming) > 0 {
		b.uc = &construction{expected: coming}
		m.closing[b.ID] = time.Time{}
	}
}

// awaits reports whether a replica of b on s is likely to be reported soon.
func (b *block) awaits(s *storage) bool {
	i := b.at(s.node)
	return s.node.alive && (i < 0 || b.standing(&b.replicas[i]) == building)
}

// awaitedLocked counts the replicas of a complete block that are likely to be reported soon.
func (m *Manager) awaitedLocked(b *block) int {
	if b.uc == nil {
		return 0
	}
	n := 0
	for _, s := range b.uc.expected {
		if b.awaits(s) {
			n++
		}
	}
	if n == 0 {
		m.giveUpLocked(b)
	}
	return n
}

func (m *Manager) giveUpLocked(b *block) {
	b.uc = nil
	delete(m.closing, b.ID)
}

// checkClosingLocked stops waiting for replicas that do not come.
func (m *Manager) checkClosingLocked(now time.Time) {
	for id, until := range m.closing {
		switch b := m.blocks[id]; {
		case until.IsZero():
			m.closing[id] = now.Add(closingTimeout)
		case !now.Before(until):
			m.giveUpLocked(b)
			m.settleLocked(b)
		}
	}
}
