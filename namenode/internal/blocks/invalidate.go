package blocks

import (
	"log/slog"
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// deletions are the replicas that a datanode is to delete, oldest first.
type deletions struct {
	gens  map[dfs.BlockID]dfs.GenStamp
	order []dfs.Block // may name blocks that are in gens no more, or under another stamp
}

func (d *deletions) len() int { return len(d.gens) }

func (d *deletions) gen(id dfs.BlockID) (dfs.GenStamp, bool) {
	gen, ok := d.gens[id]
	return gen, ok
}

// add queues b and reports whether its block was not queued yet.
func (d *deletions) add(b dfs.Block) bool {
	gen, queued := d.gens[b.ID]
	if queued && gen >= b.GenStamp {
		return false
	}
	if d.gens == nil {
		d.gens = map[dfs.BlockID]dfs.GenStamp{}
	}
	d.gens[b.ID] = b.GenStamp
	d.order = append(d.order, b)
	return !queued
}

// take removes and returns up to limit replicas.
func (d *deletions) take(limit int) []dfs.Block {
	var out []dfs.Block
	for len(d.order) > 0 && len(out) < limit {
		b := d.order[0]
		d.order = d.order[1:]
		if gen, ok := d.gens[b.ID]; ok && gen == b.GenStamp {
			delete(d.gens, b.ID)
			out = append(out, b)
		}
	}
	d.compact()
	return out
}

// keep drops those whose block is not to be deleted any more, and returns how many.
func (d *deletions) keep(wanted func(dfs.BlockID) bool) int {
	before := len(d.gens)
	for id := range d.gens {
		if !wanted(id) {
			delete(d.gens, id)
		}
	}
	d.compact()
	return before - len(d.gens)
}

// drop takes a block off the queue.
func (d *deletions) drop(id dfs.BlockID) {
	delete(d.gens, id)
	d.compact()
}

// compact keeps the order from outgrowing what is queued: a standby's queue is only ever emptied by drop.
func (d *deletions) compact() {
	if len(d.gens) == 0 {
		*d = deletions{}
	} else if len(d.order) > 2*len(d.gens)+64 {
		d.order = slices.DeleteFunc(d.order, func(b dfs.Block) bool { return d.gens[b.ID] != b.GenStamp })
	}
}

// clear drops all, and returns how many.
func (d *deletions) clear() int {
	n := len(d.gens)
	*d = deletions{}
	return n
}

// deleteLocked queues a replica on n for deletion.
func (m *Manager) deleteLocked(n *node, b dfs.Block) {
	if n.alive && n.deletions.add(b) {
		m.tally.deletions++
	}
}

// forgetDeletionLocked takes a block off n's queue.
func (m *Manager) forgetDeletionLocked(n *node, id dfs.BlockID) {
	n.deletions.drop(id)
	m.tally.deletions--
}

// takeDeletionsLocked returns what n is to delete now.
func (m *Manager) takeDeletionsLocked(n *node) []dfs.Block {
	if n.deletions.len() == 0 {
		return nil
	}
	out := n.deletions.take(m.o.MaxInvalidatePerHeartbeat)
	m.tally.deletions -= len(out)
	return out
}

// discardLocked deletes the i-th replica of b.
func (m *Manager) discardLocked(b *block, i int) {
	r := b.replicas[i]
	m.deleteLocked(r.storage.node, dfs.Block{ID: b.ID, GenStamp: r.gen, Len: r.len})
	m.dropReplicaLocked(b, i)
}

// mayDeleteLocked reports whether the number of live replicas of b is to be trusted far enough to delete another one:
// this namenode is the active, start-up is over, and all their storages have reported to it.
func (m *Manager) mayDeleteLocked(b *block) bool {
	if !m.active || m.safe.startingUp() {
		return false
	}
	for i := range b.replicas {
		if !b.replicas[i].storage.fresh {
			return false
		}
	}
	return true
}

// dropCorruptLocked deletes corrupt replicas of b where HDFS does: there are enough good ones, or more of both than the
// file asks for, or they only missed the end of a write. The last copy is never deleted. It reports whether it deleted any.
func (m *Manager) dropCorruptLocked(b *block, lives, corrupts int) bool {
	safe := lives >= m.o.MinReplication
	dropped := false
	for i := len(b.replicas) - 1; i >= 0; i-- {
		r := &b.replicas[i]
		spare := lives >= int(b.replication) || lives+corrupts > int(b.replication) || r.gen < b.GenStamp
		if b.standing(r) != corrupt || !safe || !spare {
			continue
		}
		if !m.mayDeleteLocked(b) {
			m.postponed[b.ID] = struct{}{}
			return dropped
		}
		m.discardLocked(b, i)
		corrupts, dropped = corrupts-1, true
	}
	return dropped
}

// settlePostponedLocked looks again at blocks whose corrupt or excess replicas had to wait.
func (m *Manager) settlePostponedLocked() {
	all := m.postponed
	m.postponed = map[dfs.BlockID]struct{}{}
	for id := range all {
		if b := m.blocks[id]; b != nil {
			m.settleLocked(b)
		}
	}
}

// BadReplica is a replica that a reader or a scanner has found corrupt.
type BadReplica struct {
	Block dfs.Block
	Ref   Ref
}

// BadBlocks takes in that replicas are corrupt. Those of unknown blocks, or not known to be there, are ignored.
func (m *Manager) BadBlocks(bad []BadReplica) {
	m.mu.Lock()
	defer m.unlock()
	for _, br := range bad {
		b, n := m.blocks[br.Block.ID], m.nodes[br.Ref.UUID]
		if b == nil || n == nil {
			continue
		}
		i := b.at(n)
		if i < 0 || b.replicas[i].gen > br.Block.GenStamp {
			continue
		}
		m.noteLocked(slog.LevelWarn, "corrupt replica reported", "block", b.Block, "datanode", n.reg.XferAddr())
		b.replicas[i].remarks |= isBad
		m.settleLocked(b)
	}
}
