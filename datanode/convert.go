package datanode

import (
	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

func ptr[T any](v T) *T { return &v }

func blockOf(p *hdfspb.ExtendedBlockProto) dfs.ExtendedBlock {
	return dfs.ExtendedBlock{Pool: p.GetPoolId(), Block: dfs.Block{
		ID: dfs.BlockID(p.GetBlockId()), GenStamp: dfs.GenStamp(p.GetGenerationStamp()), Len: int64(p.GetNumBytes()),
	}}
}

func extendedProto(pool string, b dfs.Block) *hdfspb.ExtendedBlockProto {
	return &hdfspb.ExtendedBlockProto{
		PoolId: &pool, BlockId: ptr(uint64(b.ID)), GenerationStamp: ptr(uint64(b.GenStamp)), NumBytes: ptr(uint64(b.Len)),
	}
}

func plainOf(p *hdfspb.BlockProto) dfs.Block {
	return dfs.Block{ID: dfs.BlockID(p.GetBlockId()), GenStamp: dfs.GenStamp(p.GetGenStamp()), Len: int64(p.GetNumBytes())}
}

func plainProto(b dfs.Block) *hdfspb.BlockProto {
	return &hdfspb.BlockProto{BlockId: ptr(uint64(b.ID)), GenStamp: ptr(uint64(b.GenStamp)), NumBytes: ptr(uint64(b.Len))}
}

func datanodeOf(p *hdfspb.DatanodeIDProto) dfs.DatanodeID {
	return dfs.DatanodeID{
		UUID: p.GetDatanodeUuid(), IP: p.GetIpAddr(), Host: p.GetHostName(), XferPort: int(p.GetXferPort()),
		IPCPort: int(p.GetIpcPort()), InfoPort: int(p.GetInfoPort()), InfoSecurePort: int(p.GetInfoSecurePort()),
	}
}

func datanodeProto(d dfs.DatanodeID) *hdfspb.DatanodeIDProto {
	return &hdfspb.DatanodeIDProto{
		DatanodeUuid: &d.UUID, IpAddr: &d.IP, HostName: &d.Host, XferPort: ptr(uint32(d.XferPort)),
		IpcPort: ptr(uint32(d.IPCPort)), InfoPort: ptr(uint32(d.InfoPort)), InfoSecurePort: ptr(uint32(d.InfoSecurePort)),
	}
}

func storageProto(v *volume.Volume) *hdfspb.DatanodeStorageProto {
	return &hdfspb.DatanodeStorageProto{
		StorageUuid: ptr(v.ID()), State: hdfspb.DatanodeStorageProto_NORMAL.Enum(), StorageType: hdfspb.StorageTypeProto(v.Type()).Enum(),
	}
}

func replicaStateProto(s dfs.ReplicaState) *hdfspb.ReplicaStateProto {
	return ptr(hdfspb.ReplicaStateProto(s))
}

// onDisk gives a checksum of the wire as the volumes know it, and back.
func onDisk(c transfer.Checksum) volume.Checksum { return volume.Checksum(c) }
func onWire(c volume.Checksum) transfer.Checksum { return transfer.Checksum(c) }
