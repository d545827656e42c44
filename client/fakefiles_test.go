package client

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// The calls about the content of files, under the fake's lock.

func (f *fake) create(r *hdfspb.CreateRequestProto) (*hdfspb.CreateResponseProto, error) {
	switch n := f.files[r.GetSrc()]; {
	case f.files[parent(r.GetSrc())] == nil && !r.GetCreateParent():
		return nil, dfs.Errorf(dfs.ClassFileNotFound, "Parent directory doesn't exist: %s", parent(r.GetSrc()))
	case n != nil && n.open != "" && r.GetCreateFlag()&uint32(dfs.CreateOverwrite) == 0:
		return nil, dfs.Errorf(dfs.ClassAlreadyBeingCreated, "Failed to CREATE_FILE %s", r.GetSrc())
	case n != nil && r.GetCreateFlag()&uint32(dfs.CreateOverwrite) == 0:
		return nil, dfs.Errorf(dfs.ClassFileAlreadyExists, "%s already exists", r.GetSrc())
	}
	f.nextID++
	n := &fakeFile{id: f.nextID, open: r.GetClientName(), rep: int(r.GetReplication()), bsize: r.GetBlockSize()}
	f.files[r.GetSrc()] = n
	return &hdfspb.CreateResponseProto{Fs: n.status("")}, nil
}

func (f *fake) append(r *hdfspb.AppendRequestProto) (*hdfspb.AppendResponseProto, error) {
	n, err := f.fileLocked(r.GetSrc())
	switch {
	case err != nil:
		return nil, err
	case n.open != "":
		return nil, dfs.Errorf(dfs.ClassAlreadyBeingCreated, "Failed to APPEND_FILE %s", r.GetSrc())
	}
	n.open = r.GetClientName()
	resp := &hdfspb.AppendResponseProto{Stat: n.status("")}
	if k := len(n.blocks); k > 0 && n.blocks[k-1].size < n.bsize {
		resp.Block = f.located(n, k-1)
	}
	return resp, nil
}

// truncate cuts at once.
func (f *fake) truncate(r *hdfspb.TruncateRequestProto) (*hdfspb.TruncateResponseProto, error) {
	n, err := f.fileLocked(r.GetSrc())
	if err != nil {
		return nil, err
	}
	left := r.GetNewLength()
	for i, b := range n.blocks {
		if left < b.size {
			b.size, b.b.NumBytes = left, proto.Uint64(left)
			for _, d := range b.nodes {
				f.dns[d].cut(b.b.GetBlockId(), int(left))
			}
			if left == 0 {
				n.blocks = n.blocks[:i]
				break
			}
		}
		left -= min(left, b.size)
	}
	return &hdfspb.TruncateResponseProto{Result: proto.Bool(true)}, nil
}

// writer gives the file that a lease holder has open.
func (f *fake) writer(src, holder string) (*fakeFile, error) {
	n, err := f.fileLocked(src)
	if err == nil && n.open != holder {
		err = dfs.Errorf(dfs.ClassLeaseExpired, "Client (=%s) is not the lease owner of %s", holder, src)
	}
	return n, err
}

func (f *fake) addBlock(r *hdfspb.AddBlockRequestProto) (*hdfspb.AddBlockResponseProto, error) {
	n, err := f.writer(r.GetSrc(), r.GetClientName())
	if err != nil {
		return nil, err
	}
	n.commit(r.GetPrevious())
	nodes := []int{}
	for i, d := range f.dns {
		excluded := slices.ContainsFunc(r.GetExcludeNodes(), func(x *hdfspb.DatanodeInfoProto) bool {
			return x.GetId().GetDatanodeUuid() == d.uuid()
		})
		if !excluded {
			nodes = append(nodes, i)
		}
	}
	if f.order != nil {
		nodes = f.order(nodes)
	}
	if len(nodes) == 0 {
		return nil, dfs.Errorf(dfs.ClassIO, "File %s could only be written to 0 of the 1 minReplication nodes.", r.GetSrc())
	}
	f.nextID++
	f.nextGS++
	n.blocks = append(n.blocks, &fakeBlock{
		b:     &hdfspb.ExtendedBlockProto{PoolId: proto.String("BP-1"), BlockId: proto.Uint64(f.nextID), GenerationStamp: proto.Uint64(f.nextGS), NumBytes: proto.Uint64(0)},
		nodes: nodes[:min(n.rep, len(nodes))],
	})
	return &hdfspb.AddBlockResponseProto{Block: f.located(n, len(n.blocks)-1)}, nil
}

func (n *fakeFile) commit(b *hdfspb.ExtendedBlockProto) {
	if k := len(n.blocks); b != nil && k > 0 && n.blocks[k-1].b.GetBlockId() == b.GetBlockId() {
		n.blocks[k-1].b, n.blocks[k-1].size = proto.CloneOf(b), b.GetNumBytes()
	}
}

func (f *fake) abandonBlock(r *hdfspb.AbandonBlockRequestProto) (*hdfspb.AbandonBlockResponseProto, error) {
	n, err := f.writer(r.GetSrc(), r.GetHolder())
	if err == nil {
		n.blocks = slices.DeleteFunc(n.blocks, func(b *fakeBlock) bool { return b.b.GetBlockId() == r.GetB().GetBlockId() })
	}
	return nil, err
}

func (f *fake) complete(r *hdfspb.CompleteRequestProto) (*hdfspb.CompleteResponseProto, error) {
	n, err := f.writer(r.GetSrc(), r.GetClientName())
	if err != nil {
		return nil, err
	}
	n.commit(r.GetLast())
	n.open = ""
	return &hdfspb.CompleteResponseProto{Result: proto.Bool(true)}, nil
}

func (f *fake) updateBlockForPipeline(r *hdfspb.UpdateBlockForPipelineRequestProto) (*hdfspb.UpdateBlockForPipelineResponseProto, error) {
	f.nextGS++
	b := proto.CloneOf(r.GetBlock())
	b.GenerationStamp = proto.Uint64(f.nextGS)
	return &hdfspb.UpdateBlockForPipelineResponseProto{Block: &hdfspb.LocatedBlockProto{
		B: b, Offset: proto.Uint64(0), Corrupt: proto.Bool(false), BlockToken: token(),
	}}, nil
}

func (f *fake) updatePipeline(r *hdfspb.UpdatePipelineRequestProto) (*hdfspb.UpdatePipelineResponseProto, error) {
	for _, n := range f.files {
		for _, b := range n.blocks {
			if b.b.GetBlockId() != r.GetOldBlock().GetBlockId() {
				continue
			}
			b.b = proto.CloneOf(r.GetNewBlock())
			b.nodes = b.nodes[:0:0]
			for _, d := range r.GetNewNodes() {
				b.nodes = append(b.nodes, slices.IndexFunc(f.dns, func(x *fakeDN) bool { return x.uuid() == d.GetDatanodeUuid() }))
			}
			return nil, nil
		}
	}
	return nil, dfs.Errorf(dfs.ClassIO, "%v does not exist.", r.GetOldBlock())
}

func token() *hdfspb.TokenProto {
	return &hdfspb.TokenProto{Identifier: []byte{}, Password: []byte{}, Kind: proto.String(""), Service: proto.String("")}
}

// located gives a block as clients see it.
func (f *fake) located(n *fakeFile, i int) *hdfspb.LocatedBlockProto {
	var off uint64
	for _, b := range n.blocks[:i] {
		off += b.size
	}
	b := n.blocks[i]
	l := &hdfspb.LocatedBlockProto{B: proto.CloneOf(b.b), Offset: &off, Corrupt: proto.Bool(false), BlockToken: token()}
	for _, d := range b.nodes {
		l.Locs = append(l.Locs, f.dns[d].info())
		l.StorageIDs = append(l.StorageIDs, fmt.Sprintf("DS-%d", d+1))
		l.StorageTypes = append(l.StorageTypes, hdfspb.StorageTypeProto_DISK)
	}
	return l
}

func (f *fake) getBlockLocations(r *hdfspb.GetBlockLocationsRequestProto) (*hdfspb.GetBlockLocationsResponseProto, error) {
	n, err := f.fileLocked(r.GetSrc())
	if err != nil {
		return nil, err
	}
	l := &hdfspb.LocatedBlocksProto{
		FileLength: proto.Uint64(n.length()), UnderConstruction: proto.Bool(n.open != ""), IsLastBlockComplete: proto.Bool(n.open == ""),
	}
	for i, b := range n.blocks {
		x := f.located(n, i)
		l.LastBlock = x
		open := i == len(n.blocks)-1 && n.open != "" && b.size == 0
		*l.IsLastBlockComplete = !open
		if (x.GetOffset()+b.size > r.GetOffset() || open) && x.GetOffset() < r.GetOffset()+r.GetLength() && len(l.Blocks) < f.page {
			l.Blocks = append(l.Blocks, x)
		}
	}
	return &hdfspb.GetBlockLocationsResponseProto{Locations: l}, nil
}
