package namenode

import (
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"google.golang.org/protobuf/proto"
)

// Between the wire's messages and our types. Numbers that HDFS treats as signed travel as unsigned.

func blockFromWire(b *hdfspb.ExtendedBlockProto) dfs.Block {
	return dfs.Block{
		ID:       dfs.BlockID(b.GetBlockId()),
		GenStamp: dfs.GenStamp(b.GetGenerationStamp()),
		Len:      int64(b.GetNumBytes()),
	}
}

// wireName is a block's name as its sender has it, pool and all.
func wireName(b *hdfspb.ExtendedBlockProto) string {
	return dfs.ExtendedBlock{Pool: b.GetPoolId(), Block: blockFromWire(b)}.String()
}

// checkBlock refuses a block of another file system; none is fine.
func (n *NameNode) checkBlock(b *hdfspb.ExtendedBlockProto) error {
	if b == nil || b.GetPoolId() == n.identity.BlockPoolID {
		return nil
	}
	return dfs.Errorf(dfs.ClassIO, "Unexpected BlockPoolId %s - expected %s", b.GetPoolId(), n.identity.BlockPoolID)
}

// optionalBlock is nil for an absent message.
func optionalBlock(b *hdfspb.ExtendedBlockProto) *dfs.Block {
	if b == nil {
		return nil
	}
	block := blockFromWire(b)
	return &block
}

func plainBlock(b *hdfspb.BlockProto) dfs.Block {
	return dfs.Block{ID: dfs.BlockID(b.GetBlockId()), GenStamp: dfs.GenStamp(b.GetGenStamp()), Len: int64(b.GetNumBytes())}
}

func blockProto(b dfs.Block) *hdfspb.BlockProto {
	return &hdfspb.BlockProto{
		BlockId: proto.Uint64(uint64(b.ID)), GenStamp: proto.Uint64(uint64(b.GenStamp)), NumBytes: proto.Uint64(uint64(b.Len)),
	}
}

func datanodeFromWire(id *hdfspb.DatanodeIDProto) dfs.DatanodeID {
	return dfs.DatanodeID{
		UUID: id.GetDatanodeUuid(), IP: id.GetIpAddr(), Host: id.GetHostName(),
		XferPort: int(id.GetXferPort()), IPCPort: int(id.GetIpcPort()),
		InfoPort: int(id.GetInfoPort()), InfoSecurePort: int(id.GetInfoSecurePort()),
	}
}

func datanodeProto(id dfs.DatanodeID) *hdfspb.DatanodeIDProto {
	return &hdfspb.DatanodeIDProto{
		IpAddr: proto.String(id.IP), HostName: proto.String(id.Host), DatanodeUuid: proto.String(id.UUID),
		XferPort: proto.Uint32(uint32(id.XferPort)), IpcPort: proto.Uint32(uint32(id.IPCPort)),
		InfoPort: proto.Uint32(uint32(id.InfoPort)), InfoSecurePort: proto.Uint32(uint32(id.InfoSecurePort)),
	}
}

func storageTypeProto(t dfs.StorageType) hdfspb.StorageTypeProto {
	if t == 0 {
		return hdfspb.StorageTypeProto_DISK
	}
	return hdfspb.StorageTypeProto(t)
}

func permission(p dfs.Perm) *hdfspb.FsPermissionProto {
	return &hdfspb.FsPermissionProto{Perm: proto.Uint32(uint32(p & dfs.PermMask))}
}

// permFromWire drops what is no permission: some clients send the bits of a file's type too.
func permFromWire(p *hdfspb.FsPermissionProto) dfs.Perm { return dfs.Perm(p.GetPerm()) & dfs.PermMask }

// noToken is the block token of a cluster without security: all four fields are required, and empty.
func noToken() *hdfspb.TokenProto {
	return &hdfspb.TokenProto{Identifier: []byte{}, Password: []byte{}, Kind: proto.String(""), Service: proto.String("")}
}
