package client

import (
	"io/fs"
	"path"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

type (
	// Block is a block of a file: its ID, its GenStamp and its Len in bytes. It prints as blk_ID_GENSTAMP.
	Block = dfs.Block

	// BlockID is an integer that no other block of the file system ever has.
	BlockID = dfs.BlockID

	// GenStamp is an integer that grows each time a pipeline is rebuilt, a block recovered or a file reopened.
	GenStamp = dfs.GenStamp

	// ExtendedBlock is a Block and the Pool that it belongs to.
	ExtendedBlock = dfs.ExtendedBlock

	// DatanodeID says who a datanode is, its UUID, and where it listens: IP, Host, XferPort, IPCPort. XferAddr gives the
	// ip:port for data, by which NodeError, Favored and a cluster's DataNode.Addr name it too.
	DatanodeID = dfs.DatanodeID

	// StorageType is the kind of disk a replica is on. It prints as HDFS spells it: DISK, SSD, ARCHIVE...
	StorageType = dfs.StorageType

	// Access is bits of AccessRead, AccessWrite, AccessExecute.
	Access = dfs.Access

	// CreateFlag is bits of SyncBlock, NoLocalWrite and so on, for Flags.
	CreateFlag = dfs.CreateFlag

	// XAttrFlag is XAttrCreate, XAttrReplace, or 0 for either.
	XAttrFlag = dfs.XAttrFlag

	// DialFunc opens a connection, as net.Dialer.DialContext does; network is "tcp".
	DialFunc = dfs.DialFunc
)

// The accesses that Client.Access asks about.
const (
	AccessExecute = dfs.AccessExecute
	AccessWrite   = dfs.AccessWrite
	AccessRead    = dfs.AccessRead
)

// FileInfo describes a file or directory. It is an fs.FileInfo and an fs.DirEntry; Sys gives the FileInfo itself.
type FileInfo struct {
	name        string
	mode        fs.FileMode
	modTime     time.Time
	size        int64
	Owner       string
	Group       string
	AccessTime  time.Time
	Replication int   // 0 for directories
	BlockSize   int64 // 0 for directories
	ID          int64 // the same for the whole life of the file, across renames
	Children    int   // of a directory; -1 where the namenode did not say
	Policy      int   // id of the storage policy, 0 for none
	HasACL      bool
	Blocks      []LocatedBlock // where they were asked for
}

var (
	_ fs.FileInfo = (*FileInfo)(nil)
	_ fs.DirEntry = (*FileInfo)(nil)
)

// Name is the last element of the path.
func (i *FileInfo) Name() string { return i.name }

// Size is the length in bytes, 0 for directories. Of a file that is open for writing it is what the namenode knows.
func (i *FileInfo) Size() int64 { return i.size }

// Mode gives the kind of file and the permission bits, fs.ModeSticky among them.
func (i *FileInfo) Mode() fs.FileMode { return i.mode }

// ModTime is when the content changed last, in milliseconds.
func (i *FileInfo) ModTime() time.Time { return i.modTime }

// IsDir reports whether this is a directory.
func (i *FileInfo) IsDir() bool { return i.mode.IsDir() }

// Sys gives i.
func (i *FileInfo) Sys() any { return i }

// Type gives the kind of file.
func (i *FileInfo) Type() fs.FileMode { return i.mode.Type() }

// Info gives i.
func (i *FileInfo) Info() (fs.FileInfo, error) { return i, nil }

// String gives what ls shows of a directory entry.
func (i *FileInfo) String() string { return fs.FormatFileInfo(i) }

// newFileInfo decodes a status; name is for statuses that carry none.
func newFileInfo(s *hdfspb.HdfsFileStatusProto, name string) *FileInfo {
	if p := s.GetPath(); len(p) > 0 {
		name = path.Base(string(p))
	}
	perm := s.GetPermission().GetPerm()
	i := &FileInfo{
		name:       name,
		mode:       toMode(perm),
		modTime:    time.UnixMilli(int64(s.GetModificationTime())),
		size:       int64(s.GetLength()),
		Owner:      s.GetOwner(),
		Group:      s.GetGroup(),
		AccessTime: time.UnixMilli(int64(s.GetAccessTime())),
		ID:         int64(s.GetFileId()),
		Children:   int(s.GetChildrenNum()),
		Policy:     int(s.GetStoragePolicy()),
		HasACL:     s.GetFlags()&uint32(hdfspb.HdfsFileStatusProto_HAS_ACL) != 0,
	}
	switch s.GetFileType() {
	case hdfspb.HdfsFileStatusProto_IS_DIR:
		i.mode |= fs.ModeDir
		i.size = 0
	case hdfspb.HdfsFileStatusProto_IS_SYMLINK:
		i.mode |= fs.ModeSymlink
	default:
		i.Replication = int(s.GetBlockReplication())
		i.BlockSize = int64(s.GetBlocksize())
	}
	if l := s.GetLocations(); l != nil {
		i.Blocks = locatedBlocks(l.GetBlocks())
	}
	return i
}

// toMode turns the bits of the wire into Go's, where sticky stands elsewhere.
func toMode(perm uint32) fs.FileMode {
	m := fs.FileMode(perm) & fs.ModePerm
	if perm&uint32(dfs.PermSticky) != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// fromMode is the reverse of toMode.
func fromMode(m fs.FileMode) *hdfspb.FsPermissionProto {
	perm := uint32(m.Perm())
	if m&fs.ModeSticky != 0 {
		perm |= uint32(dfs.PermSticky)
	}
	return &hdfspb.FsPermissionProto{Perm: &perm}
}

// Datanode is a datanode as the namenode describes it.
type Datanode struct {
	DatanodeID
	Rack        string
	State       string // NORMAL, DECOMMISSION_INPROGRESS, DECOMMISSIONED, ENTERING_MAINTENANCE, IN_MAINTENANCE
	Capacity    int64
	Used        int64
	Remaining   int64
	NonDFSUsed  int64
	PoolUsed    int64
	Blocks      int
	Xceivers    int // transfers that run there
	LastContact time.Time
	LastReport  time.Time
}

func newDatanode(d *hdfspb.DatanodeInfoProto) Datanode {
	return Datanode{
		DatanodeID:  newDatanodeID(d.GetId()),
		Rack:        d.GetLocation(),
		State:       d.GetAdminState().String(),
		Capacity:    int64(d.GetCapacity()),
		Used:        int64(d.GetDfsUsed()),
		Remaining:   int64(d.GetRemaining()),
		NonDFSUsed:  int64(d.GetNonDfsUsed()),
		PoolUsed:    int64(d.GetBlockPoolUsed()),
		Blocks:      int(d.GetNumBlocks()),
		Xceivers:    int(d.GetXceiverCount()),
		LastContact: time.UnixMilli(int64(d.GetLastUpdate())),
		LastReport:  time.UnixMilli(int64(d.GetLastBlockReportTime())),
	}
}

func newDatanodeID(d *hdfspb.DatanodeIDProto) DatanodeID {
	return DatanodeID{
		UUID:           d.GetDatanodeUuid(),
		IP:             d.GetIpAddr(),
		Host:           d.GetHostName(),
		XferPort:       int(d.GetXferPort()),
		IPCPort:        int(d.GetIpcPort()),
		InfoPort:       int(d.GetInfoPort()),
		InfoSecurePort: int(d.GetInfoSecurePort()),
	}
}

// LocatedBlock is a block of a file and where its replicas are.
type LocatedBlock struct {
	ExtendedBlock
	Offset   int64 // in the file
	Corrupt  bool  // every replica is known to be corrupt
	Replicas []Replica
}

// Replica is where one copy of a block is.
type Replica struct {
	Datanode
	StorageID   string
	StorageType StorageType
}

func locatedBlocks(list []*hdfspb.LocatedBlockProto) []LocatedBlock {
	out := make([]LocatedBlock, len(list))
	for i, b := range list {
		out[i] = newLocatedBlock(b)
	}
	return out
}

func newLocatedBlock(b *hdfspb.LocatedBlockProto) LocatedBlock {
	l := LocatedBlock{
		ExtendedBlock: newExtendedBlock(b.GetB()),
		Offset:        int64(b.GetOffset()),
		Corrupt:       b.GetCorrupt(),
		Replicas:      make([]Replica, len(b.GetLocs())),
	}
	for i, d := range b.GetLocs() {
		r := Replica{Datanode: newDatanode(d), StorageType: dfs.StorageDisk}
		if i < len(b.GetStorageIDs()) {
			r.StorageID = b.GetStorageIDs()[i]
		}
		if i < len(b.GetStorageTypes()) {
			r.StorageType = StorageType(b.GetStorageTypes()[i])
		}
		l.Replicas[i] = r
	}
	return l
}

func newExtendedBlock(b *hdfspb.ExtendedBlockProto) ExtendedBlock {
	return ExtendedBlock{Pool: b.GetPoolId(), Block: Block{
		ID:       BlockID(b.GetBlockId()),
		GenStamp: GenStamp(b.GetGenerationStamp()),
		Len:      int64(b.GetNumBytes()),
	}}
}
