package blocks

import (
	"slices"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// recovery is the recovery of a block whose writer is gone: one of the datanodes, the primary, makes the others agree
// on a length and tells the namenode.
type recovery struct {
	id      dfs.GenStamp
	cut     *dfs.Block // truncate: the block to make
	primary *node      // nil: none was alive
	issued  time.Time  // when the primary was chosen
	taken   bool       // it has fetched the command
	tried   []*node    // former primaries
}

// RecoveringBlock is a block that a datanode is to recover.
type RecoveringBlock struct {
	Block    dfs.Block
	ID       dfs.GenStamp // the recovery's, and the block's stamp afterwards
	Truncate *dfs.Block   // what to cut it to, for a truncate
	Targets  []Target     // where its replicas are
}

// StartRecovery has the block recovered under the stamp recoveryID by one of the datanodes that may hold a replica, the
// one heard last. Where that takes too long, Tick asks the next.
func (m *Manager) StartRecovery(info BlockInfo, recoveryID dfs.GenStamp, now time.Time) {
	m.startRecovery(info, recoveryID, nil, now)
}

// StartTruncate is StartRecovery that also cuts the block: to cut's length, and to a new block where cut has another id.
func (m *Manager) StartTruncate(info BlockInfo, recoveryID dfs.GenStamp, cut dfs.Block, now time.Time) {
	m.startRecovery(info, recoveryID, &cut, now)
}

func (m *Manager) startRecovery(info BlockInfo, id dfs.GenStamp, cut *dfs.Block, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.blocks[info.ID]
	if b == nil || b.state == dfs.BlockComplete {
		return
	}
	rec := &recovery{id: id, cut: cut}
	if old := b.building().recovery; old != nil {
		rec.tried = old.tried
	}
	b.uc.recovery = rec
	m.recovering[b.ID] = b
	m.choosePrimaryLocked(b, now)
}

// choosePrimaryLocked gives the recovery of b to the datanode heard last among those not tried yet.
func (m *Manager) choosePrimaryLocked(b *block, now time.Time) {
	rec := b.uc.recovery
	holders := b.holders()
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
	rec.primary, rec.issued, rec.taken = best, now, false
	if best == nil {
		m.o.Logger.Warn("no datanode to recover the block", "block", b.Block, "recovery", rec.id)
		return
	}
	rec.tried = append(rec.tried, best)
	best.recover = append(best.recover, b)
	m.o.Logger.Info("block recovery", "block", b.Block, "recovery", rec.id, "primary", best.reg.XferAddr())
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
		rb := RecoveringBlock{Block: b.Block, ID: rec.id, Truncate: rec.cut, Targets: recoveryTargets(b.holders())}
		if rec.cut != nil && rec.cut.ID != b.ID {
			c := *rec.cut
			rb.Truncate = &c
		}
		out = append(out, rb)
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
	for _, b := range m.recovering {
		rec := b.uc.recovery
		if rec.primary == nil || !rec.primary.alive || now.Sub(rec.issued) >= m.o.RecoveryTimeout {
			m.choosePrimaryLocked(b, now)
		}
	}
}
