package namenode

import (
	"context"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"google.golang.org/protobuf/proto"
)

// recoveringBlock is the order to bring a block's replicas to one length. For a truncate it names the block to make:
// the same one, or, where a snapshot keeps the old bytes, a new one copied from it.
func (n *NameNode) recoveringBlock(r blocks.RecoveringBlock) *hdfspb.RecoveringBlockProto {
	block := &namespace.FileBlock{BlockInfo: namespace.BlockInfo{Block: r.Block}}
	order := &hdfspb.RecoveringBlockProto{NewGenStamp: proto.Uint64(uint64(r.ID)), Block: n.locatedAt(block, r.Targets)}
	if r.Truncate != nil {
		order.TruncateBlock = blockProto(*r.Truncate)
	}
	return order
}

// commitBlockSynchronization is the end of a recovery: the datanode that led it says what the block is now.
func (n *NameNode) commitBlockSynchronization(ctx context.Context, _ *rpc.Call, req *hdfspb.CommitBlockSynchronizationRequestProto) (*hdfspb.CommitBlockSynchronizationResponseProto, error) {
	block := blockFromWire(req.GetBlock())
	stamp, length := dfs.GenStamp(req.GetNewGenStamp()), int64(req.GetNewLength())
	op := internalOp(&namespace.CommitBlockSync{
		Block: block, NewGenStamp: stamp, NewLength: length, CloseFile: req.GetCloseFile(), DeleteBlock: req.GetDeleteBlock(),
	})
	if n.blocks.InSafeMode() {
		return nil, n.safeModeError("Cannot commitBlockSynchronization while in safe mode")
	}
	result, done := n.ns.Check(op)
	if !done {
		applied, err := n.edit(ctx, nil, op)
		if err != nil {
			return nil, err
		}
		result = *applied
	}
	if result.Err != nil {
		return nil, result.Err
	}
	if !req.GetDeleteBlock() && result.Block != nil {
		on := make([]blocks.Ref, len(req.GetNewTaragets()))
		for i, node := range req.GetNewTaragets() {
			on[i] = blocks.Ref{UUID: node.GetDatanodeUuid(), Storage: at(req.GetNewTargetStorages(), i)}
		}
		n.blocks.Finish(result.Block.Block, on)
	}
	return &hdfspb.CommitBlockSynchronizationResponseProto{}, nil
}

// startBlockRecovery has a datanode bring the replicas of a block to one length and stamp.
func (n *NameNode) startBlockRecovery(b namespace.BlockInfo) {
	info, now := blockInfo(b), time.Now()
	if !b.Truncate && b.CopyOf.ID == 0 {
		n.blocks.StartRecovery(info, b.RecoveryID, now)
		return
	}
	from := b.ID
	if b.CopyOf.ID != 0 {
		from = b.CopyOf.ID // a snapshot keeps the old block: its first bytes become a new one
	}
	n.blocks.StartTruncate(info, b.RecoveryID, from, b.TruncateTo, now)
}
