package namenode

import (
	"context"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"google.golang.org/protobuf/proto"
)

// wantedParams are the parameters that this namenode's options ask for.
func (n *NameNode) wantedParams() namespace.Params {
	p := namespace.DefaultParams()
	limits := &n.o.Limits
	p.Permissions = !n.o.NoPermissions
	p.Superuser = n.o.Superuser
	p.Supergroup = n.o.Supergroup
	p.Pool = n.identity.BlockPoolID
	p.MaxNameLen = int64(limits.MaxNameLen)
	p.MaxDirItems = int64(limits.MaxDirItems)
	p.MaxBlocksPerFile = int64(limits.MaxBlocksPerFile)
	p.MinBlockSize = limits.MinBlockSize
	p.MaxXAttrs = int64(limits.MaxXAttrs)
	p.MaxXAttrSize = int64(limits.MaxXAttrSize)
	p.MinReplication = limits.MinReplication
	p.MaxReplication = limits.MaxReplication
	return p
}

// getDefaults is the answer to getServerDefaults, made once.
type getDefaults = *hdfspb.GetServerDefaultsResponseProto

func (n *NameNode) serverDefaults() getDefaults {
	d := &n.o.Defaults
	return &hdfspb.GetServerDefaultsResponseProto{ServerDefaults: &hdfspb.FsServerDefaultsProto{
		BlockSize:                proto.Uint64(uint64(d.BlockSize)),
		BytesPerChecksum:         proto.Uint32(uint32(d.BytesPerChecksum)),
		WritePacketSize:          proto.Uint32(uint32(d.PacketSize)),
		Replication:              proto.Uint32(uint32(d.Replication)),
		FileBufferSize:           proto.Uint32(uint32(d.BufferSize)),
		EncryptDataTransfer:      proto.Bool(false),
		TrashInterval:            proto.Uint64(uint64(d.TrashInterval.Minutes())),
		ChecksumType:             hdfspb.ChecksumTypeProto(d.Checksum).Enum(),
		KeyProviderUri:           proto.String(""),
		PolicyId:                 proto.Uint32(defaultPolicy),
		SnapshotTrashRootEnabled: proto.Bool(false),
	}}
}

func (n *NameNode) getServerDefaults(context.Context, *rpc.Call, *hdfspb.GetServerDefaultsRequestProto) (*hdfspb.GetServerDefaultsResponseProto, error) {
	return n.params, nil
}
