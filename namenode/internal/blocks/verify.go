package blocks

import (
	"errors"
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Verify compares the blocks with all those of the namespace, which must not change meanwhile, and the lists of the
// storages with those of the blocks. What it returns is a bug of ours.
func (m *Manager) Verify(all []BlockInfo) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var errs []error
	fail := func(format string, args ...any) {
		if len(errs) < 20 {
			errs = append(errs, fmt.Errorf("blocks: "+format, args...))
		}
	}
	for _, info := range all {
		b := m.blocks[info.ID]
		switch {
		case b == nil:
			fail("%s of inode %d is in the namespace only", info.Block, info.File)
		case b.Block != info.Block || b.file != info.File || b.state != info.State || b.replication != info.Replication:
			fail("the namespace has %s of inode %d, %s, replication %d; the block map %s of inode %d, %s, replication %d",
				info.Block, info.File, info.State, info.Replication, b.Block, b.file, b.state, b.replication)
		}
	}
	if len(all) != len(m.blocks) {
		fail("the namespace has %d blocks, the block map %d", len(all), len(m.blocks))
	}
	replicas := 0
	var counted tally
	for _, b := range m.blocks {
		counted.move(0, b.marks)
		replicas += len(b.replicas)
		for i := range b.replicas {
			if r := &b.replicas[i]; int(r.pos) >= len(r.storage.blocks) || r.storage.blocks[r.pos] != b {
				fail("%s has a replica on storage %s, which does not list it", b.Block, r.storage.report.ID)
			}
		}
	}
	listed := 0
	for _, n := range m.order {
		for _, s := range n.storages {
			listed += len(s.blocks)
		}
	}
	if listed != replicas {
		fail("storages list %d replicas, blocks %d", listed, replicas)
	}
	if counted.by != m.tally.by {
		fail("blocks are marked %v times, counted %v", counted.by, m.tally.by)
	}
	return errors.Join(errs...)
}

// LiveReplica is a replica of a complete block that counts.
type LiveReplica struct {
	dfs.Block
	Node string // uuid of the datanode
}

// Live lists the live replicas of complete blocks.
func (m *Manager) Live() []LiveReplica {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []LiveReplica
	for _, b := range m.blocks {
		if b.state != dfs.BlockComplete {
			continue
		}
		for i := range b.replicas {
			if r := &b.replicas[i]; b.standing(r) == live {
				list = append(list, LiveReplica{b.Block, r.storage.node.reg.UUID})
			}
		}
	}
	return list
}
