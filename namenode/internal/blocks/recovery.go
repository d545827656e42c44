package blocks

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// recovery is the recovery of a block whose writer is gone: one of the datanodes, the primary, makes the others agree
// on a length and tells the namenode.
type recovery struct {
	id      dfs.GenStamp
	from    dfs.BlockID // whose replicas to work on: another block's for a truncate that leaves the old one to a snapshot
	cut     *dfs.Block  // truncate: the block to make
	primary *node       // nil: none was alive
	issued  time.Time   // when the primary was chosen
	taken   bool        // it has fetched the command
	spent   bool        // a primary had its time: others may refuse this id by now
	tried   []*node     // former primaries
}

// RecoveringBlock is a block that a datanode is to recover.
type RecoveringBlock struct {
	Block    dfs.Block
	ID       dfs.GenStamp // the recovery's, and the block's stamp afterwards
	Truncate *dfs.Block   // what it is to become, for a truncate; do not change
	Targets  []Target     // where its replicas are
}

// StartRecovery has the block recovered under the stamp recoveryID by one of the datanodes that may hold a replica, the
// one heard last. Where that takes too long, Tick asks the next.
func (m *Manager) StartRecovery(info BlockInfo, recoveryID dfs.GenStamp, now time.Time) {
	m.startRecovery(info, &recovery{id: recoveryID, from: info.ID}, now)
}

// StartTruncate is StartRecovery that also cuts the block to length. For a block that a snapshot keeps, info is the new
// block that is to take its place in the file, and from the old one; else both are the same.
func (m *Manager) StartTruncate(info BlockInfo, recoveryID dfs.GenStamp, from dfs.BlockID, length int64, now time.Time) {
	m.startRecovery(info, &recovery{id: recoveryID, from: from, cut: &dfs.Block{ID: info.ID, GenStamp: recoveryID, Len: length}}, now)
}

func (m *Manager) startRecovery(info BlockInfo, rec *recovery, now time.Time) {
	m.mu.Lock()
	defer m.unlock()
	b := m.blocks[info.ID]
	if b == nil || b.state == dfs.BlockComplete {
		return
	}
	if old := b.building().recovery; old != nil {
		rec.tried = old.tried
	}
	b.uc.recovery = rec
	m.recovering[b.ID] = b
	if !m.choosePrimaryLocked(b, now) {
		m.noteLocked(slog.LevelWarn, "no datanode yet to recover the block", "block", b.Block, "recovery", rec.id)
	}
}

func (m *Manager) endRecoveryLocked(b *block) {
	if b.uc != nil && b.uc.recovery != nil {
		b.uc.recovery = nil
		delete(m.recovering, b.ID)
	}
}

// Recovering reports whether a recovery of the block is under way and may still succeed. One that has outlived a primary
// which had fetched the command may not: the datanodes that it had reached refuse another recovery under the same id, so
// a new one has to be started with a new id.
func (m *Manager) Recovering(id dfs.BlockID) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b := m.recovering[id]
	return b != nil && !b.uc.recovery.spent
}

// recoveryHoldersLocked are the storages whose replicas are to be recovered, those included that already have a stamp
// whose edit never came: their writer, or this namenode, was gone before.
func (m *Manager) recoveryHoldersLocked(b *block) []*storage {
	from := m.blocks[b.uc.recovery.from]
	if from == nil {
		return nil
	}
	list := slices.Clone(from.holders())
	for _, e := range m.early[from.ID] {
		if !slices.ContainsFunc(list, func(s *storage) bool { return s.node == e.storage.node }) {
			list = append(list, e.storage)
		}
	}
	return list
}

// choosePrimaryLocked gives the recovery of b to the datanode heard last among those not tried yet. It reports whether
// there was one.
func (m *Manager) choosePrimaryLocked(b *block, now time.Time) bool {
	rec := b.uc.recovery
	holders := m.recoveryHoldersLocked(b)
	pick := func() *node {
		var best *node
		for _, s := range holders {
			n := s.node
			if !slices.Contains(rec.tried, n) && (best == nil || n.update.After(best.update)) {
				best = n
			}
		}
		return best
	}
	best := pick()
	if best == nil {
		rec.tried = nil
		best = pick()
	}
	rec.spent = rec.spent || rec.taken
	rec.primary, rec.issued, rec.taken = best, now, false
	if best == nil {
		return false
	}
	rec.tried = append(rec.tried, best)
	best.recover = append(best.recover, b)
	m.noteLocked(slog.LevelInfo, "block recovery", "block", b.Block, "recovery", rec.id, "primary", best.reg.XferAddr())
	return true
}

// takeRecoveriesLocked returns the recoveries that n is to lead now.
func (m *Manager) takeRecoveriesLocked(n *node, now time.Time) []RecoveringBlock {
	var out []RecoveringBlock
	for _, b := range n.recover {
		if m.recovering[b.ID] != b || b.uc.recovery.primary != n || b.uc.recovery.taken {
			continue
		}
		rec := b.uc.recovery
		rec.taken, rec.issued = true, now
		if from := m.blocks[rec.from]; from != nil {
			out = append(out, RecoveringBlock{Block: from.Block, ID: rec.id, Truncate: rec.cut, Targets: recoveryTargets(m.recoveryHoldersLocked(b))})
		}
	}
	n.recover = nil
	return out
}

// recoveryTargets leaves stale datanodes out, where at least two others are left.
func recoveryTargets(holders []*storage) []Target {
	var all, good []Target
	for _, s := range holders {
		all = append(all, s.target())
		if !s.node.stale {
			good = append(good, s.target())
		}
	}
	if len(good) > 1 {
		return good
	}
	return all
}

// checkRecoveriesLocked gives recoveries that have no primary, a dead one, or one that has taken too long to the next.
func (m *Manager) checkRecoveriesLocked(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(m.recovering)) {
		b := m.recovering[id]
		rec := b.uc.recovery
		if rec.primary == nil || !rec.primary.alive || now.Sub(rec.issued) >= m.o.RecoveryTimeout {
			m.choosePrimaryLocked(b, now)
		}
	}
}
