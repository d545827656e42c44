package blocks

import (
	"math/rand/v2"
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Locations are where a block is to be found.
type Locations struct {
	Block   dfs.Block
	Targets []Target // the nearest first
	Corrupt bool     // there are only corrupt replicas: all of them are listed
}

// SetExpected says on which storages a block is being written. A storage that the datanode does not have is taken for
// another of its.
func (m *Manager) SetExpected(id dfs.BlockID, pipeline []Ref) {
	m.mu.Lock()
	defer m.unlock()
	b := m.blocks[id]
	if b == nil || b.state == dfs.BlockComplete {
		return
	}
	uc := b.building()
	first := len(uc.expected) == 0
	uc.expected = make([]*storage, 0, len(pipeline))
	for _, ref := range pipeline {
		n := m.nodes[ref.UUID]
		if n == nil {
			continue
		}
		s := n.storage(ref.Storage)
		if i := b.at(n); s == nil && i >= 0 {
			s = b.replicas[i].storage
		} else if s == nil && len(n.storages) > 0 {
			s = n.storages[0]
		}
		if s == nil {
			continue
		}
		uc.expected = append(uc.expected, s)
		if first {
			n.scheduled.add(s.report.Type)
		}
	}
}

// Expected gives the storages on which a block is being written, in the order of the pipeline.
func (m *Manager) Expected(id dfs.BlockID) []Target {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []Target
	if b := m.blocks[id]; b != nil && b.open() {
		for _, s := range b.holders() {
			out = append(out, s.target())
		}
	}
	return out
}

// Finish says that a recovery has left finalized replicas of the block on these storages, as the datanode that led it
// tells: their own reports may come later. It does nothing when the block has changed since.
func (m *Manager) Finish(block dfs.Block, on []Ref) {
	m.mu.Lock()
	defer m.unlock()
	for _, ref := range on {
		n := m.nodes[ref.UUID]
		if n == nil || !n.alive {
			continue
		}
		s := n.storage(ref.Storage)
		if b := m.blocks[block.ID]; s != nil && b != nil && b.Block == block {
			if m.hearLocked(s, Replica{Block: block, State: dfs.ReplicaFinalized}) != nil {
				m.settleLocked(b)
			}
		}
	}
}

// holders are the storages that may hold a replica of an open block: the pipeline, and whoever else has reported one.
func (b *block) holders() []*storage {
	var out []*storage
	if b.uc != nil {
		for _, s := range b.uc.expected {
			if !s.node.alive {
				continue
			}
			if i := b.at(s.node); i >= 0 {
				s = b.replicas[i].storage
			}
			out = append(out, s)
		}
	}
	for i := range b.replicas {
		r := &b.replicas[i]
		worth := b.standing(r)
		if b.state == dfs.BlockUnderConstruction && r.gen < b.GenStamp || worth == corrupt || worth == excess || slices.Contains(out, r.storage) {
			continue
		}
		out = append(out, r.storage)
	}
	return out
}

// Locate gives the locations of a block, sorted for a reader: its own machine first (a datanode's uuid, ip or host
// name), then its rack, then the rest, equally near ones in turn; stale datanodes last.
func (m *Manager) Locate(id dfs.BlockID, reader string) Locations {
	rack := ""
	if reader != "" {
		rack = m.rackOf(reader)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	b := m.blocks[id]
	if b == nil {
		return Locations{Block: dfs.Block{ID: id}}
	}
	loc := Locations{Block: b.Block}
	if b.state != dfs.BlockComplete {
		for _, s := range b.holders() {
			loc.Targets = append(loc.Targets, s.target())
		}
	} else {
		_, corrupts := b.count()
		loc.Corrupt = corrupts > 0 && corrupts == len(b.replicas)
		loc.Targets = make([]Target, 0, len(b.replicas))
		for i := range b.replicas {
			if worth := b.standing(&b.replicas[i]); loc.Corrupt || worth == live || worth == excess {
				loc.Targets = append(loc.Targets, b.replicas[i].storage.target())
			}
		}
	}
	m.sort(loc.Targets, m.hostLocked(reader), rack)
	return loc
}

// sort puts the targets in the order in which a reader should try them.
func (m *Manager) sort(targets []Target, reader *node, rack string) {
	if len(targets) < 2 {
		return
	}
	rnd := rand.NewPCG(m.seed, m.turns.Add(1))
	for i := len(targets) - 1; i > 0; i-- {
		j := rnd.Uint64() % uint64(i+1)
		targets[i], targets[j] = targets[j], targets[i]
	}
	if reader != nil {
		rack = reader.location
	}
	weight := func(t Target) int {
		w := 0
		if rack != "" && (reader == nil || t.Node.UUID != reader.reg.UUID) {
			w = distance(t.Node.Location, rack)
		}
		if t.Node.Liveness != Live {
			w += 1 << 20
		}
		return w
	}
	slices.SortStableFunc(targets, func(a, b Target) int { return weight(a) - weight(b) })
}
