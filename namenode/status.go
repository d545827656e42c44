package namenode

import (
	"context"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"google.golang.org/protobuf/proto"
)

// fileStatus is the wire's form of a status. It holds all of a status's parts, so that one costs one allocation.
type fileStatus struct {
	hdfspb.HdfsFileStatusProto
	kind                                hdfspb.HdfsFileStatusProto_FileType
	length, mtime, atime, size, id      uint64
	perm                                hdfspb.FsPermissionProto
	bits, replication, policy, flagBits uint32
	children                            int32
	owner, group                        string
}

// status converts s. The name travels as bytes; it is empty for the path that was asked for.
func (n *NameNode) status(s *namespace.Status, host string) *hdfspb.HdfsFileStatusProto {
	f := &fileStatus{
		kind: hdfspb.HdfsFileStatusProto_IS_DIR, length: uint64(s.Length), mtime: uint64(s.MTime), atime: uint64(s.ATime),
		size: uint64(s.BlockSize), id: uint64(s.ID), bits: uint32(s.Perm & dfs.PermMask), replication: uint32(s.Replication),
		policy: uint32(s.StoragePolicy), children: int32(s.Children), owner: s.Owner, group: s.Group,
	}
	if s.Type == namespace.TypeFile {
		f.kind = hdfspb.HdfsFileStatusProto_IS_FILE
	}
	if s.Snapshottable {
		f.flagBits = uint32(hdfspb.HdfsFileStatusProto_SNAPSHOT_ENABLED)
	}
	f.perm.Perm = &f.bits
	f.FileType = &f.kind
	f.Path = []byte(s.Name)
	f.Length = &f.length
	f.Permission = &f.perm
	f.Owner = &f.owner
	f.Group = &f.group
	f.ModificationTime = &f.mtime
	f.AccessTime = &f.atime
	f.BlockReplication = &f.replication
	f.Blocksize = &f.size
	f.FileId = &f.id
	f.ChildrenNum = &f.children
	f.StoragePolicy = &f.policy
	f.Flags = &f.flagBits
	if s.Blocks != nil {
		f.Locations = n.locatedBlocks(s.Blocks, host)
	}
	return &f.HdfsFileStatusProto
}

// optionalStatus is nil for what does not exist.
func (n *NameNode) optionalStatus(s *namespace.Status, host string) *hdfspb.HdfsFileStatusProto {
	if s == nil {
		return nil
	}
	return n.status(s, host)
}

// getFileInfo answers without a status for a path that does not exist.
func (n *NameNode) getFileInfo(_ context.Context, c *rpc.Call, req *hdfspb.GetFileInfoRequestProto) (*hdfspb.GetFileInfoResponseProto, error) {
	s, err := n.ns.Status(n.caller(c), req.GetSrc(), true)
	if err != nil {
		return nil, err
	}
	return &hdfspb.GetFileInfoResponseProto{Fs: n.optionalStatus(s, c.Remote)}, nil
}

// getFileLinkInfo differs from getFileInfo for symlinks only, and there are none.
func (n *NameNode) getFileLinkInfo(_ context.Context, c *rpc.Call, req *hdfspb.GetFileLinkInfoRequestProto) (*hdfspb.GetFileLinkInfoResponseProto, error) {
	s, err := n.ns.Status(n.caller(c), req.GetSrc(), false)
	if err != nil {
		return nil, err
	}
	return &hdfspb.GetFileLinkInfoResponseProto{Fs: n.optionalStatus(s, c.Remote)}, nil
}

// getLocatedFileInfo is getFileInfo with the locations of a file's first blocks.
func (n *NameNode) getLocatedFileInfo(_ context.Context, c *rpc.Call, req *hdfspb.GetLocatedFileInfoRequestProto) (*hdfspb.GetLocatedFileInfoResponseProto, error) {
	s, err := n.ns.Status(n.caller(c), req.GetSrc(), true)
	if err != nil {
		return nil, err
	}
	if s != nil && s.Type == namespace.TypeFile {
		if s.Blocks, err = n.ns.Blocks(n.caller(c), req.GetSrc(), 0, s.Length+1); err != nil {
			return nil, err
		}
	}
	return &hdfspb.GetLocatedFileInfoResponseProto{Fs: n.optionalStatus(s, c.Remote)}, nil
}

func (n *NameNode) isFileClosed(_ context.Context, c *rpc.Call, req *hdfspb.IsFileClosedRequestProto) (*hdfspb.IsFileClosedResponseProto, error) {
	closed, err := n.ns.IsFileClosed(n.caller(c), req.GetSrc())
	if err != nil {
		return nil, err
	}
	return &hdfspb.IsFileClosedResponseProto{Result: proto.Bool(closed)}, nil
}

func (n *NameNode) getPreferredBlockSize(_ context.Context, c *rpc.Call, req *hdfspb.GetPreferredBlockSizeRequestProto) (*hdfspb.GetPreferredBlockSizeResponseProto, error) {
	size, err := n.ns.PreferredBlockSize(n.caller(c), req.GetFilename())
	if err != nil {
		return nil, err
	}
	return &hdfspb.GetPreferredBlockSizeResponseProto{Bsize: proto.Uint64(uint64(size))}, nil
}

// getEnclosingRoot is the root: there are no encryption zones or mounts.
func (n *NameNode) getEnclosingRoot(context.Context, *rpc.Call, *hdfspb.GetEnclosingRootRequestProto) (*hdfspb.GetEnclosingRootResponseProto, error) {
	return &hdfspb.GetEnclosingRootResponseProto{EnclosingRootPath: proto.String("/")}, nil
}

// getListing gives a page of a directory, in the order of names as signed bytes, behind startAfter; no page for a path that does not exist.
// Pages with locations end early, once the files in it are to have as many replicas as the limit has entries.
func (n *NameNode) getListing(_ context.Context, c *rpc.Call, req *hdfspb.GetListingRequestProto) (*hdfspb.GetListingResponseProto, error) {
	list, err := n.ns.List(n.caller(c), req.GetSrc(), string(req.GetStartAfter()), n.o.Limits.ListLimit, req.GetNeedLocation())
	if err != nil || list == nil {
		return &hdfspb.GetListingResponseProto{}, err
	}
	page := &hdfspb.DirectoryListingProto{
		PartialListing:   make([]*hdfspb.HdfsFileStatusProto, len(list.Entries)),
		RemainingEntries: proto.Uint32(uint32(list.Remaining)),
	}
	for i := range list.Entries {
		if list.Reserved {
			list.Entries[i].MTime, list.Entries[i].ATime = n.identity.CTime, n.identity.CTime
		}
		page.PartialListing[i] = n.status(&list.Entries[i], c.Remote)
	}
	return &hdfspb.GetListingResponseProto{DirList: page}, nil
}
