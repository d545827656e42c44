package namenode

import (
	"context"
	"math"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"google.golang.org/protobuf/proto"
)

// getBlockLocations gives the blocks in a range of a file, nearest replicas first. The file's length leaves out a last
// block that is still being written.
func (n *NameNode) getBlockLocations(ctx context.Context, c *rpc.Call, req *hdfspb.GetBlockLocationsRequestProto) (*hdfspb.GetBlockLocationsResponseProto, error) {
	offset, length := int64(req.GetOffset()), int64(req.GetLength())
	switch {
	case offset < 0:
		return nil, dfs.Errorf(dfs.ClassHadoopIllegal, "Negative offset is not supported. File: %s", req.GetSrc())
	case length < 0:
		return nil, dfs.Errorf(dfs.ClassHadoopIllegal, "Negative length is not supported. File: %s", req.GetSrc())
	}
	length = min(length, math.MaxInt64-offset)
	f, err := n.ns.Blocks(n.caller(c), req.GetSrc(), offset, length)
	if err != nil {
		return nil, err
	}
	n.touch(ctx, c, f)
	return &hdfspb.GetBlockLocationsResponseProto{Locations: n.locatedBlocks(f, c.Remote)}, nil
}

// touch records that a file was read, when the recorded time is older than the precision asks for.
func (n *NameNode) touch(ctx context.Context, c *rpc.Call, f *namespace.FileBlocks) {
	now := time.Now().UnixMilli()
	if n.o.AccessPrecision < 0 || f.Snapshot || n.blocks.InSafeMode() || now <= f.ATime+n.o.AccessPrecision.Milliseconds() {
		return
	}
	c.Yield()
	if _, err := n.edit(ctx, internalOp(&namespace.TouchAccess{FileID: f.File, ATime: now})); err != nil {
		n.log.Debug("namenode: the access time was not recorded", "file", f.File, "err", err)
	}
}

func (n *NameNode) locatedBlocks(f *namespace.FileBlocks, host string) *hdfspb.LocatedBlocksProto {
	list := &hdfspb.LocatedBlocksProto{
		FileLength:          proto.Uint64(uint64(f.Length)),
		UnderConstruction:   proto.Bool(f.UnderConstruction),
		IsLastBlockComplete: proto.Bool(f.LastComplete),
	}
	for i := range f.Blocks {
		list.Blocks = append(list.Blocks, n.locatedBlock(&f.Blocks[i], host))
	}
	if f.Last != nil {
		list.LastBlock = n.locatedBlock(f.Last, host)
	}
	return list
}

// locatedBlock is b with its replicas, in the order in which a reader on host should try them.
func (n *NameNode) locatedBlock(b *namespace.FileBlock, host string) *hdfspb.LocatedBlockProto {
	at := n.blocks.Locate(b.ID, host)
	lb := n.locatedAt(b, at.Targets)
	lb.Corrupt = proto.Bool(at.Corrupt)
	return lb
}

// locatedAt is b at the given places, in their order.
func (n *NameNode) locatedAt(b *namespace.FileBlock, targets []blocks.Target) *hdfspb.LocatedBlockProto {
	lb := &hdfspb.LocatedBlockProto{
		B:          extendedBlock(n.identity.BlockPoolID, b.Block),
		Offset:     proto.Uint64(uint64(b.Offset)),
		Corrupt:    proto.Bool(false),
		BlockToken: noToken(),
	}
	for i := range targets {
		t := &targets[i]
		lb.Locs = append(lb.Locs, datanodeInfo(t.Node))
		lb.IsCached = append(lb.IsCached, false)
		lb.StorageTypes = append(lb.StorageTypes, storageTypeProto(t.Type))
		lb.StorageIDs = append(lb.StorageIDs, t.Storage)
	}
	return lb
}
