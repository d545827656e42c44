package namenode

import (
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
)

// Check compares the namespace with its own indexes and with the block map. It changes nothing; what it returns is a bug
// of ours, or damage.
func (n *NameNode) Check() error {
	err := n.ns.Verify(func(all []namespace.BlockInfo) error {
		infos := make([]blocks.BlockInfo, len(all))
		for i, b := range all {
			infos[i] = blockInfo(b)
		}
		return n.blocks.Verify(infos)
	})
	if err != nil {
		return fmt.Errorf("namenode %s: %w", n.o.ID, err)
	}
	return nil
}

// Replica is a replica that the namenode counts on.
type Replica struct {
	dfs.Block
	Datanode string // uuid
}

// Replicas lists the replicas of complete blocks that the namenode counts on.
func (n *NameNode) Replicas() []Replica {
	var list []Replica
	for _, r := range n.blocks.Live() {
		list = append(list, Replica{r.Block, r.Node})
	}
	return list
}

// Unreadable lists the complete blocks that no datanode has a good replica of.
func (n *NameNode) Unreadable() []dfs.BlockID { return n.blocks.Unreadable() }
