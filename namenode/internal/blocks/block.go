package blocks

import (
	"iter"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// BlockInfo is a block as the namespace has it.
type BlockInfo struct {
	dfs.Block
	File        dfs.INodeID
	State       dfs.BlockState
	Replication int16
	RecoveryID  dfs.GenStamp
}

// block is a BlockInfo and its replicas. There are millions: keep it small.
type block struct {
	dfs.Block
	file        dfs.INodeID
	replicas    []replica     // at most one a node
	uc          *construction // nil for most
	replication int16
	state       dfs.BlockState
	marks       marks // what the tally counts it as
}

// construction is what only a block that is being written or recovered needs.
type construction struct {
	expected []*storage // the pipeline, as far as this namenode knows it
	recovery *recovery
}

// building returns b's construction, made on demand.
func (b *block) building() *construction {
	if b.uc == nil {
		b.uc = &construction{}
	}
	return b.uc
}

// open reports whether a client or a recovery still works on the block, so that its length is not fixed.
func (b *block) open() bool {
	return b.state == dfs.BlockUnderConstruction || b.state == dfs.BlockUnderRecovery
}

// at returns the index of the replica on node n, or -1.
func (b *block) at(n *node) int {
	for i := range b.replicas {
		if b.replicas[i].storage.node == n {
			return i
		}
	}
	return -1
}

// PutBlock takes in a block that is new or has changed.
func (m *Manager) PutBlock(info BlockInfo) {
	m.mu.Lock()
	defer m.unlock()
	m.putLocked(info)
}

func (m *Manager) putLocked(info BlockInfo) {
	b := m.blocks[info.ID]
	wasComplete := b != nil && b.state == dfs.BlockComplete
	if b == nil {
		b = &block{Block: info.Block}
		m.blocks[info.ID] = b
		m.lastID = max(m.lastID, info.ID)
	} else {
		m.reviseLocked(b, info)
	}
	b.Block, b.file, b.state, b.replication = info.Block, info.File, info.State, info.Replication
	if b.state != dfs.BlockUnderRecovery {
		m.endRecoveryLocked(b)
	}
	m.replayLocked(b)
	if b.state == dfs.BlockComplete && !wasComplete {
		m.awaitLocked(b)
	}
	m.settleLocked(b)
}

// reviseLocked prepares the replicas of b for a change: what a datanode said about an earlier stamp or an earlier life
// of the block proves nothing about the new one, until it speaks again.
func (m *Manager) reviseLocked(b *block, info BlockInfo) {
	reopened := b.state == dfs.BlockComplete && info.State != dfs.BlockComplete
	if reopened {
		delete(m.closing, b.ID)
		uc := b.building()
		uc.expected = nil
		for i := range b.replicas {
			if b.standing(&b.replicas[i]) == live {
				uc.expected = append(uc.expected, b.replicas[i].storage)
			}
		}
	}
	if reopened || b.GenStamp != info.GenStamp {
		for i := range b.replicas {
			b.replicas[i].remarks |= isHeld
		}
	}
}

// RemoveBlock takes in that nothing holds the block any more. Its replicas are to be deleted.
func (m *Manager) RemoveBlock(id dfs.BlockID) {
	m.mu.Lock()
	defer m.unlock()
	if b := m.blocks[id]; b != nil {
		m.removeLocked(b)
	}
}

func (m *Manager) removeLocked(b *block) {
	for len(b.replicas) > 0 {
		r := b.replicas[len(b.replicas)-1]
		m.deleteLocked(r.storage.node, dfs.Block{ID: b.ID, GenStamp: r.gen, Len: r.len})
		m.dropReplicaLocked(b, len(b.replicas)-1)
	}
	for _, e := range m.early[b.ID] {
		m.deleteLocked(e.storage.node, e.Block)
	}
	m.tally.move(b.marks, 0)
	delete(m.early, b.ID)
	delete(m.postponed, b.ID)
	delete(m.recovering, b.ID)
	delete(m.closing, b.ID)
	delete(m.blocks, b.ID)
	m.releaseLocked(b.ID)
}

// Reset replaces all blocks, as after an image was loaded. What datanodes have reported is kept and judged anew.
func (m *Manager) Reset(all iter.Seq[BlockInfo]) {
	fresh := map[dfs.BlockID]*block{}
	for info := range all {
		fresh[info.ID] = &block{Block: info.Block, file: info.File, state: info.State, replication: info.Replication}
	}
	m.mu.Lock()
	defer m.unlock()
	old := m.blocks
	m.blocks = fresh
	m.tally = tally{deletions: m.tally.deletions}
	clear(m.postponed)
	clear(m.recovering)
	clear(m.closing)
	for id, b := range fresh {
		m.lastID = max(m.lastID, id)
		if o := old[id]; o != nil && o.uc != nil && b.state != dfs.BlockComplete {
			b.uc = &construction{expected: o.uc.expected}
		}
	}
	for _, n := range m.order {
		n.recover = nil
		m.tally.deletions -= n.deletions.keep(func(id dfs.BlockID) bool { return fresh[id] == nil })
		for _, s := range n.storages {
			s.blocks, s.listed = nil, 0
		}
	}
	m.rehearLocked(old)
	for id, b := range fresh {
		m.replayLocked(b)
		m.settleLocked(b)
		delete(old, id)
	}
	for id := range m.waiters {
		if m.blocks[id] == nil {
			m.releaseLocked(id)
		}
	}
}

// rehearLocked tells the present blocks what was known about the replicas of old ones.
func (m *Manager) rehearLocked(old map[dfs.BlockID]*block) {
	for _, o := range old {
		for _, r := range o.replicas {
			m.hearLocked(r.storage, Replica{Block: dfs.Block{ID: o.ID, GenStamp: r.gen, Len: r.len}, State: r.state})
			if b := m.blocks[o.ID]; b != nil {
				changed := o.GenStamp != b.GenStamp || b.open() && !o.open()
				if i := b.at(r.storage.node); i >= 0 && b.replicas[i].gen == r.gen {
					b.replicas[i].remarks = r.remarks
					if changed {
						b.replicas[i].remarks |= isHeld
					}
				}
			}
		}
	}
}

// SetLastBlockID says how far block ids have been handed out, where PutBlock cannot tell: after an image was loaded
// whose last blocks were already deleted.
func (m *Manager) SetLastBlockID(id dfs.BlockID) {
	m.mu.Lock()
	defer m.unlock()
	m.lastID = max(m.lastID, id)
}
