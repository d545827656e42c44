package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// Result is the answer to one op.
type Result struct {
	Err    error      // a *dfs.RemoteError, as HDFS would send it
	TxID   uint64     // of the last edit record so far: this op's, when it edited anything
	Bool   bool       // the answer of calls that answer yes or no; truncate: no recovery is needed
	Status *Status    // create, append: the file
	Block  *FileBlock // addBlock: the new block; append, startRecovery, truncate: the last one; updateBlockForPipeline: Block with its new stamp
	Path   string     // createSnapshot: the snapshot's root
}

// FileType tells files from directories.
type FileType uint8

// The types of inodes, numbered as on the wire.
const (
	TypeDir FileType = iota + 1
	TypeFile
)

// Status is a file or directory as getFileInfo and getListing show it.
type Status struct {
	ID                dfs.INodeID
	Type              FileType
	Name              string // the last component; "" for the path that was asked for
	Length            int64
	Perm              dfs.Perm
	Owner, Group      string
	MTime, ATime      int64
	Replication       int16
	BlockSize         int64
	Children          int
	StoragePolicy     uint8 // 0: none set here or above
	Snapshottable     bool
	UnderConstruction bool
	Blocks            *FileBlocks // only where locations were asked for
}

// FileBlock is a block in its place in a file.
type FileBlock struct {
	BlockInfo
	Offset        int64
	BlockSize     int64 // the file's preferred size
	StoragePolicy uint8
}

// FileBlocks are the blocks of a file, or those in a range of it.
type FileBlocks struct {
	File              dfs.INodeID
	Length            int64 // without a last block that is not complete
	UnderConstruction bool
	Blocks            []FileBlock
	Last              *FileBlock // the file's last block, also when it is outside the range
	LastComplete      bool
	ATime             int64 // when the last read was recorded
	Snapshot          bool  // read through a snapshot: its access time is not to be touched
	StoragePolicy     uint8
}

// Listing is a page of a directory.
type Listing struct {
	Entries   []Status
	Remaining int  // entries behind the page
	Reserved  bool // of /.reserved: its entries are as old as the file system
}

// AddBlockPlan is what an active needs to choose targets for a new block.
type AddBlockPlan struct {
	File          dfs.INodeID
	Path          string
	Offset        int64 // of the new block
	BlockSize     int64
	Replication   int16
	StoragePolicy uint8
	WriterHost    string     // the host that created the file or reopened it
	Penultimate   *FileBlock // must have its minimal replication first: NotReplicatedYetException otherwise
	Again         *FileBlock // the call is a repetition: this is its block, nothing is to be journaled
}

// FileInfo is a file by its id, for monitors and handlers.
type FileInfo struct {
	Status
	Path    string
	Holder  string // "" when closed
	Machine string // the host of the writer
	Blocks  []FileBlock
}

// OpenFile is a row of listOpenFiles.
type OpenFile struct {
	ID      dfs.INodeID
	Path    string
	Holder  string
	Machine string
}

// Lease is a holder and the files that it has open, ordered by id.
type Lease struct {
	Holder string
	Files  []dfs.INodeID
}

// ContentSummary is a tree in numbers. The Snapshot fields count what only snapshots hold and are part of the others.
type ContentSummary struct {
	Length, Files, Directories, SpaceConsumed                                 int64
	SnapshotLength, SnapshotFiles, SnapshotDirectories, SnapshotSpaceConsumed int64
	Quota, SpaceQuota                                                         int64 // -1: none
}

// ACLStatus is what getAclStatus answers while there are no entries.
type ACLStatus struct {
	Owner, Group string
	Perm         dfs.Perm
	Sticky       bool
}

// SnapshottableDir is a row of getSnapshottableDirListing.
type SnapshottableDir struct {
	Status
	Parent    string // full path of the directory above; "" for the root
	Snapshots int
	Quota     int
}

// SnapshotInfo is a row of getSnapshotListing.
type SnapshotInfo struct {
	Status
	SnapshotID int
	Parent     string // full path of the snapshottable directory
}

// DiffKind is the letter of a line in a snapshot difference.
type DiffKind byte

// The kinds of differences.
const (
	DiffCreate DiffKind = '+'
	DiffDelete DiffKind = '-'
	DiffModify DiffKind = 'M'
	DiffRename DiffKind = 'R'
)

// DiffEntry is a line of a snapshot difference; paths are relative to its root, "" for the root itself.
type DiffEntry struct {
	Kind   DiffKind
	Path   string
	Target string // of a rename
}

// SnapshotDiff is the difference between two states of a snapshottable directory.
type SnapshotDiff struct {
	Root, From, To string
	Entries        []DiffEntry
}

// Counts are the sizes of the present state, snapshots not counted.
type Counts struct {
	INodes, Files, Directories, Blocks, OpenFiles, Snapshots int64
}
