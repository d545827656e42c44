package namespace

import (
	"iter"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// BlockInfo is what the namespace knows about a block: everything but where its replicas are.
type BlockInfo struct {
	dfs.Block
	File        dfs.INodeID
	State       dfs.BlockState
	Replication int16
	RecoveryID  dfs.GenStamp // the stamp that recovery will give it; 0: not under recovery
	Truncate    bool         // recovery shall shorten the replicas to TruncateTo bytes; Len is still what it was
	TruncateTo  int64        // with Truncate
	CopyOf      dfs.Block    // not zero, with Truncate: recovery shall make this block from the beginning of CopyOf
}

// Observer hears of blocks, in log order, while ops are applied. It must not call back into the namespace.
type Observer interface {
	// PutBlock tells of a block that is new, or whose stamp, length, state, replication or file has changed.
	PutBlock(BlockInfo)
	// RemoveBlock tells that no file and no snapshot holds the block any more.
	RemoveBlock(dfs.BlockID)
	// Reset replaces everything heard so far: a whole state was restored.
	Reset(all iter.Seq[BlockInfo])
}

// deaf is the Observer of a namespace that has none.
type deaf struct{}

func (deaf) PutBlock(BlockInfo)        {}
func (deaf) RemoveBlock(dfs.BlockID)   {}
func (deaf) Reset(iter.Seq[BlockInfo]) {}
