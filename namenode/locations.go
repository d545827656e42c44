package namenode

import (
	"context"
	"math"
	"sync"
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
		return nil, dfs.Errorf(dfs.ClassIllegalArgument, "Negative offset is not supported. File: %s", req.GetSrc())
	case length < 0:
		return nil, dfs.Errorf(dfs.ClassIllegalArgument, "Negative length is not supported. File: %s", req.GetSrc())
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
	if _, err := n.edit(ctx, c, internalOp(&namespace.TouchAccess{FileID: f.File, ATime: now})); err != nil {
		n.log.Debug("namenode: the access time was not recorded", "file", f.File, "err", err)
	}
}

func (n *NameNode) locatedBlocks(f *namespace.FileBlocks, host string) *hdfspb.LocatedBlocksProto {
	list := &hdfspb.LocatedBlocksProto{
		FileLength:          proto.Uint64(uint64(f.Length)),
		UnderConstruction:   proto.Bool(f.UnderConstruction),
		IsLastBlockComplete: proto.Bool(f.LastComplete),
		Blocks:              make([]*hdfspb.LocatedBlockProto, len(f.Blocks)),
	}
	for i := range f.Blocks {
		list.Blocks[i] = n.locatedBlock(&f.Blocks[i], host)
	}
	switch k := len(f.Blocks) - 1; {
	case f.Last == nil:
	case k >= 0 && f.Blocks[k].ID == f.Last.ID:
		list.LastBlock = list.Blocks[k]
	default:
		list.LastBlock = n.locatedBlock(f.Last, host)
	}
	return list
}

// locatedBlock is b with its replicas, in the order in which a reader on host should try them.
func (n *NameNode) locatedBlock(b *namespace.FileBlock, host string) *hdfspb.LocatedBlockProto {
	at := n.blocks.Locate(b.ID, host)
	lb := n.locatedAt(b, at.Targets)
	*lb.Corrupt = at.Corrupt
	return lb
}

// locatedBlock is the wire's form of a block. It holds the parts that are its own, so that they cost one allocation.
type locatedBlock struct {
	hdfspb.LocatedBlockProto
	block                     hdfspb.ExtendedBlockProto
	id, stamp, length, offset uint64
	corrupt                   bool
}

// noOffset stands for a block whose place in the file is not told.
const noOffset = -1

// unlocated is b without places: what a writer needs of a block whose pipeline it knows, or will ask for.
func (n *NameNode) unlocated(b dfs.Block) *hdfspb.LocatedBlockProto {
	return n.locatedAt(&namespace.FileBlock{BlockInfo: namespace.BlockInfo{Block: b}, Offset: noOffset}, nil)
}

// locatedAt is b at the given places, in their order.
func (n *NameNode) locatedAt(b *namespace.FileBlock, targets []blocks.Target) *hdfspb.LocatedBlockProto {
	lb := &locatedBlock{id: uint64(b.ID), stamp: uint64(b.GenStamp), length: uint64(b.Len), offset: uint64(b.Offset)}
	lb.block.PoolId = &n.identity.BlockPoolID
	lb.block.BlockId = &lb.id
	lb.block.GenerationStamp = &lb.stamp
	lb.block.NumBytes = &lb.length // even when 0: some clients insist
	lb.B = &lb.block
	lb.Offset = &lb.offset
	lb.Corrupt = &lb.corrupt
	lb.BlockToken = n.token
	lb.Locs = make([]*hdfspb.DatanodeInfoProto, len(targets))
	lb.IsCached = make([]bool, len(targets))
	lb.StorageTypes = make([]hdfspb.StorageTypeProto, len(targets))
	lb.StorageIDs = make([]string, len(targets))
	for i := range targets {
		t := &targets[i]
		lb.Locs[i] = n.datanodes.info(t.Node)
		lb.StorageTypes[i] = storageTypeProto(t.Type)
		lb.StorageIDs[i] = t.Storage
	}
	return &lb.LocatedBlockProto
}

// datanodeInfos keeps the wire's form of what each datanode was last known as: a heartbeat changes it every few seconds,
// and every location that a client asks for has three of them.
type datanodeInfos struct {
	mu   sync.RWMutex
	last map[string]datanodeForm // by the datanode's uuid
}

// datanodeForm is what a description looks like on the wire. Answers share it: nobody may change it.
type datanodeForm struct {
	of   *blocks.DatanodeInfo
	form *hdfspb.DatanodeInfoProto
}

func newDatanodeInfos() *datanodeInfos { return &datanodeInfos{last: map[string]datanodeForm{}} }

func (l *datanodeInfos) info(d *blocks.DatanodeInfo) *hdfspb.DatanodeInfoProto {
	l.mu.RLock()
	last := l.last[d.UUID]
	l.mu.RUnlock()
	if last.of != d {
		last = datanodeForm{d, datanodeInfo(d)}
		l.mu.Lock()
		l.last[d.UUID] = last
		l.mu.Unlock()
	}
	return last.form
}
