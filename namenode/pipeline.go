package namenode

import (
	"context"
	"errors"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
)

// updateBlockForPipeline hands out a new generation stamp for a pipeline that is to be rebuilt.
func (n *NameNode) updateBlockForPipeline(ctx context.Context, c *rpc.Call, req *hdfspb.UpdateBlockForPipelineRequestProto) (*hdfspb.UpdateBlockForPipelineResponseProto, error) {
	block := blockFromWire(req.GetBlock())
	result, err := n.change(ctx, c, "Cannot get a new generation stamp and an access token for block ", wireName(req.GetBlock()), &namespace.BumpGenStamp{Holder: req.GetClientName(), Block: block})
	if err != nil {
		return nil, err
	}
	return &hdfspb.UpdateBlockForPipelineResponseProto{Block: n.unlocated(result.Block.Block)}, nil
}

// updatePipeline records the stamp, length and datanodes of a rebuilt pipeline.
func (n *NameNode) updatePipeline(ctx context.Context, c *rpc.Call, req *hdfspb.UpdatePipelineRequestProto) (*hdfspb.UpdatePipelineResponseProto, error) {
	block := blockFromWire(req.GetNewBlock())
	_, err := n.change(ctx, c, "Pipeline not updated", "", &namespace.UpdatePipeline{
		Holder: req.GetClientName(), Old: blockFromWire(req.GetOldBlock()), New: block,
	})
	if err != nil {
		return nil, err
	}
	pipeline := make([]blocks.Ref, len(req.GetNewNodes()))
	for i, node := range req.GetNewNodes() {
		pipeline[i] = blocks.Ref{UUID: node.GetDatanodeUuid(), Storage: at(req.GetStorageIDs(), i)}
	}
	n.blocks.SetExpected(block.ID, pipeline)
	return &hdfspb.UpdatePipelineResponseProto{}, nil
}

// getAdditionalDatanode finds replacements for failed datanodes of a pipeline; the answer lists the ones that are left
// and the new ones.
func (n *NameNode) getAdditionalDatanode(_ context.Context, c *rpc.Call, req *hdfspb.GetAdditionalDatanodeRequestProto) (*hdfspb.GetAdditionalDatanodeResponseProto, error) {
	if n.blocks.InSafeMode() {
		return nil, n.safeModeError("Cannot add datanode; src=" + req.GetSrc() + ", blk=" + wireName(req.GetBlk()))
	}
	f, err := n.ns.CheckLease(n.caller(c), req.GetSrc(), dfs.INodeID(req.GetFileId()), req.GetClientName())
	if err != nil {
		return nil, err
	}
	want := blocks.TargetRequest{Replication: int(req.GetNumAdditionalNodes()), BlockSize: f.BlockSize, Writer: n.writer(f.Machine), Policy: f.StoragePolicy}
	var targets []blocks.Target
	for _, node := range req.GetExcludes() {
		want.Excluded = append(want.Excluded, node.GetId().GetDatanodeUuid())
	}
	for i, node := range req.GetExistings() {
		ref := blocks.Ref{UUID: node.GetId().GetDatanodeUuid(), Storage: at(req.GetExistingStorageUuids(), i)}
		if info := n.blocks.Datanode(ref.UUID); info != nil {
			want.Existing = append(want.Existing, ref)
			targets = append(targets, blocks.Target{Node: info, Storage: ref.Storage, Type: dfs.StorageDisk})
		}
	}
	more, err := n.blocks.ChooseTargets(want)
	var none *blocks.PlacementError
	if err != nil && !errors.As(err, &none) {
		return nil, err
	}
	targets = append(targets, more...)
	block := &namespace.FileBlock{BlockInfo: namespace.BlockInfo{Block: blockFromWire(req.GetBlk())}, Offset: noOffset}
	return &hdfspb.GetAdditionalDatanodeResponseProto{Block: n.locatedAt(block, targets)}, nil
}

// reportBadBlocks takes a client's word that a replica failed its checksums.
func (n *NameNode) reportBadBlocks(_ context.Context, c *rpc.Call, req *hdfspb.ReportBadBlocksRequestProto) (*hdfspb.ReportBadBlocksResponseProto, error) {
	n.markBad(req.GetBlocks())
	return &hdfspb.ReportBadBlocksResponseProto{}, nil
}

func (n *NameNode) markBad(list []*hdfspb.LocatedBlockProto) {
	var bad []blocks.BadReplica
	for _, lb := range list {
		for i, node := range lb.GetLocs() {
			bad = append(bad, blocks.BadReplica{
				Block: blockFromWire(lb.GetB()),
				Ref:   blocks.Ref{UUID: node.GetId().GetDatanodeUuid(), Storage: at(lb.GetStorageIDs(), i)},
			})
		}
	}
	n.blocks.BadBlocks(bad)
}

// at is list[i], or "" where the list is shorter: parallel lists of older clients are.
func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}
