package namenode

import (
	"context"
	"errors"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
)

// addBlock commits the writer's previous block, chooses where the next one goes and allocates it. A call that is
// repeated gets the same block again.
func (n *NameNode) addBlock(ctx context.Context, c *rpc.Call, req *hdfspb.AddBlockRequestProto) (*hdfspb.AddBlockResponseProto, error) {
	path := req.GetSrc()
	op := n.op(c, &namespace.AddBlock{
		Path: path, FileID: dfs.INodeID(req.GetFileId()), Holder: req.GetClientName(), Previous: optionalBlock(req.GetPrevious()),
	})
	if n.blocks.InSafeMode() {
		return nil, n.safeModeError("Cannot add block to " + path)
	}
	if err := n.checkBlock(req.GetPrevious()); err != nil {
		return nil, err
	}
	plan, err := n.ns.AddBlockCheck(op)
	if err != nil {
		return nil, err
	}
	if plan.Again != nil {
		if at := n.blocks.Locate(plan.Again.ID, ""); len(at.Targets) > 0 {
			return &hdfspb.AddBlockResponseProto{Block: n.locatedAt(plan.Again, at.Targets)}, nil
		}
	} else if p := plan.Penultimate; p != nil {
		if !n.waitReplicated(ctx, c, []dfs.Block{p.Block}) {
			return nil, dfs.Errorf(dfs.ClassNotReplicatedYet, "Not replicated yet: %s", path)
		}
	}
	targets, err := n.chooseTargets(plan, req)
	if err != nil {
		return nil, err
	}
	block := plan.Again
	if block == nil {
		result, err := n.edit(ctx, c, op)
		if err != nil {
			return nil, err
		}
		block = result.Block
	}
	n.blocks.SetExpected(block.ID, blocks.Refs(targets))
	return &hdfspb.AddBlockResponseProto{Block: n.locatedAt(block, targets)}, nil
}

// chooseTargets picks the datanodes of a new block's pipeline.
func (n *NameNode) chooseTargets(plan *namespace.AddBlockPlan, req *hdfspb.AddBlockRequestProto) ([]blocks.Target, error) {
	want := blocks.TargetRequest{
		Replication: int(plan.Replication), BlockSize: plan.BlockSize, Writer: n.writer(plan.WriterHost),
		Favored: req.GetFavoredNodes(), Policy: plan.StoragePolicy,
	}
	for _, node := range req.GetExcludeNodes() {
		want.Excluded = append(want.Excluded, node.GetId().GetDatanodeUuid())
	}
	for _, f := range req.GetFlags() {
		want.Flags |= 1 << dfs.AddBlockFlag(f)
	}
	targets, err := n.blocks.ChooseTargets(want)
	var none *blocks.PlacementError
	if errors.As(err, &none) {
		return nil, none.For(plan.Path)
	}
	return targets, err
}

// abandonBlock gives the last block back after a pipeline could not be set up; one that is gone already is fine.
func (n *NameNode) abandonBlock(ctx context.Context, c *rpc.Call, req *hdfspb.AbandonBlockRequestProto) (*hdfspb.AbandonBlockResponseProto, error) {
	block := blockFromWire(req.GetB())
	_, err := n.change(ctx, c, "Cannot abandon block "+wireName(req.GetB())+" for file", req.GetSrc(), &namespace.AbandonBlock{
		Path: req.GetSrc(), FileID: dfs.INodeID(req.GetFileId()), Holder: req.GetHolder(), Block: block,
	})
	return &hdfspb.AbandonBlockResponseProto{}, err
}

// complete closes a file once each of its blocks has its minimal replication. It waits a moment for the reports that
// are on their way, then answers false: the client asks again, and need not say again how long the last block is.
func (n *NameNode) complete(ctx context.Context, c *rpc.Call, req *hdfspb.CompleteRequestProto) (*hdfspb.CompleteResponseProto, error) {
	path, holder := req.GetSrc(), req.GetClientName()
	args := &namespace.Complete{
		Path: path, FileID: dfs.INodeID(req.GetFileId()), Holder: holder, Last: optionalBlock(req.GetLast()),
	}
	op := n.op(c, args)
	if n.blocks.InSafeMode() {
		return nil, n.safeModeError("Cannot complete file " + path)
	}
	if err := n.checkBlock(req.GetLast()); err != nil {
		return nil, err
	}
	if result, done := n.ns.Check(op); done {
		if result.Err != nil {
			return nil, result.Err
		}
		return &hdfspb.CompleteResponseProto{Result: &result.Bool}, nil
	}
	f, err := n.ns.CheckLease(op.Caller, path, dfs.INodeID(req.GetFileId()), holder)
	if err != nil {
		return nil, err
	}
	if !n.waitReplicated(ctx, c, finalBlocks(f, optionalBlock(req.GetLast()))) {
		args.CommitOnly = true // the next one who asks may not know the block's length
	}
	result, err := n.edit(ctx, c, op)
	if err != nil {
		return nil, err
	}
	return &hdfspb.CompleteResponseProto{Result: &result.Bool}, nil
}

// finalBlocks are f's blocks as they will be once last, the writer's view of the last one, is committed. Without it the
// last block counts in any length.
func finalBlocks(f *namespace.FileInfo, last *dfs.Block) []dfs.Block {
	list := make([]dfs.Block, len(f.Blocks))
	for i := range f.Blocks {
		list[i] = f.Blocks[i].Block
	}
	if last != nil && len(list) > 0 && list[len(list)-1].ID == last.ID {
		list[len(list)-1] = *last
	}
	return list
}

// waitReplicated waits until each block has its minimal replication, for CompleteWait at most.
func (n *NameNode) waitReplicated(ctx context.Context, c *rpc.Call, list []dfs.Block) bool {
	var timeout <-chan time.Time
	for _, b := range list {
		ready := n.blocks.Wait(b, int(n.o.Limits.MinReplication))
		select {
		case <-ready:
			continue
		default:
		}
		if timeout == nil {
			c.Yield()
			timer := time.NewTimer(n.o.CompleteWait)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-ready:
		case <-timeout:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// fsync records the length of the block that is being written, where the client tells it.
func (n *NameNode) fsync(ctx context.Context, c *rpc.Call, req *hdfspb.FsyncRequestProto) (*hdfspb.FsyncResponseProto, error) {
	_, err := n.change(ctx, c, "Cannot fsync file ", req.GetSrc(), &namespace.Fsync{
		Path: req.GetSrc(), FileID: dfs.INodeID(req.GetFileId()), Holder: req.GetClient(), LastLen: req.GetLastBlockLength(),
	})
	return &hdfspb.FsyncResponseProto{}, err
}
