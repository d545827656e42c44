package blocks

import "github.com/minidfs/go-minidfs/internal/dfs"

// lateBeats is how many heartbeats a datanode may be late before its replicas are the first to be given up.
const lateBeats = 4

// dropExcessLocked gives up live replicas of a complete block until there are want. It returns how many there are.
//
// Readers find an excess replica until its datanode has said that it is deleted, as in HDFS. It does not count, so that
// no other is given up in its place while a report still names it.
func (m *Manager) dropExcessLocked(b *block, lives, want int) int {
	for ; lives > want; lives-- {
		if !m.mayDeleteLocked(b) {
			m.postponed[b.ID] = struct{}{}
			break
		}
		m.giveAwayLocked(b, m.chooseExcessLocked(b))
	}
	return lives
}

func (m *Manager) giveAwayLocked(b *block, r *replica) {
	r.remarks |= isExcess
	m.deleteLocked(r.storage.node, dfs.Block{ID: b.ID, GenStamp: r.gen, Len: r.len})
}

// keepExcessLocked makes excess replicas count again until there are want live ones, where their datanodes have not been
// told yet. It returns how many there are.
func (m *Manager) keepExcessLocked(b *block, lives, want int) int {
	for i := 0; i < len(b.replicas) && lives < want; i++ {
		r := &b.replicas[i]
		if b.standing(r) != excess {
			continue
		}
		if gen, queued := r.storage.node.deletions.gen(b.ID); queued && gen == r.gen {
			m.forgetDeletionLocked(r.storage.node, b.ID)
			r.remarks &^= isExcess
			lives++
		}
	}
	return lives
}

// chooseExcessLocked picks the live replica to give up, as HDFS does by default: on a rack that has another one, if there
// is such a rack; there the one whose datanode is late by the most, or else has the least free space. Storage types are
// left out of it: a block does not know its file's policy.
func (m *Manager) chooseExcessLocked(b *block) *replica {
	var pick *replica
	pickShares := false
	for i := range b.replicas {
		r := &b.replicas[i]
		if b.standing(r) != live {
			continue
		}
		shares := b.shares(r.storage.node)
		if pick == nil || shares && !pickShares || shares == pickShares && m.worse(r.storage, pick.storage) {
			pick, pickShares = r, shares
		}
	}
	return pick
}

// shares reports whether the rack of n has more than one live replica of b.
func (b *block) shares(n *node) bool {
	on := 0
	for i := range b.replicas {
		if r := &b.replicas[i]; r.storage.node.location == n.location && b.standing(r) == live {
			on++
		}
	}
	return on > 1
}

// worse reports whether a replica on a is to be given up rather than one on b.
func (m *Manager) worse(a, b *storage) bool {
	limit := m.now.Add(-lateBeats * m.o.HeartbeatInterval)
	aLate, bLate := a.node.update.Before(limit), b.node.update.Before(limit)
	switch {
	case aLate && bLate:
		return a.node.update.Before(b.node.update)
	case aLate || bLate:
		return aLate
	}
	return a.report.Remaining < b.report.Remaining
}

// replaceLocked gives up the replica of b on old, where the one on added has replaced it: when there are more than the
// file asks for and the block keeps its racks.
func (m *Manager) replaceLocked(b *block, added, old *node) {
	if old == nil || old == added || b.state != dfs.BlockComplete || !m.mayDeleteLocked(b) {
		return
	}
	i := b.at(old)
	if lives, _ := b.count(); i < 0 || lives <= int(b.replication) || b.standing(&b.replicas[i]) != live {
		return
	}
	if b.shares(old) || !b.shares(added) {
		m.giveAwayLocked(b, &b.replicas[i])
	}
}

// stillThereLocked takes in that a replica which was given up was reported again: its datanode has not carried out the
// order, or has lost it. After a failover it counts again, because the last active may have given up another.
func (m *Manager) stillThereLocked(r *replica, rep Replica) {
	if r.storage.fresh {
		m.deleteLocked(r.storage.node, rep.Block)
	} else {
		r.remarks &^= isExcess
	}
}
