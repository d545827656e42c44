package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// Op is one change to the namespace, as the journal carries it.
type Op struct {
	Time     int64      // milliseconds since 1970, stamped by the active; time never runs backwards in Apply
	Caller   dfs.Caller // whose permissions count; the zero Caller is the namenode itself and may do anything
	ClientID [16]byte   // with CallID the key of the retry cache; zero: not remembered
	CallID   int32      // negative: not remembered
	Args     Args       // what to do; one of the pointer types below
}

// Args is what an Op asks for: the closed set of pointer types in this file.
type Args interface {
	kind() Kind
	plan(p *planner) error
	appendTo(b []byte) []byte
	decodeFrom(d *decoder)
}

// SetParams replaces the parameters that Apply reads. An active journals it first when its configuration differs.
type SetParams struct{ Params Params }

// StartSegment opens an active's term; it makes the transaction id grow even when nothing else happens.
type StartSegment struct{ Term uint64 }

// Mkdirs makes a directory and, with CreateParent, those missing above it.
type Mkdirs struct {
	Path         string
	Perm         dfs.Perm // masked already
	CreateParent bool
}

// Create makes a file and opens it for writing. Flags with CreateOverwrite replaces a file that is there.
type Create struct {
	Path          string
	Perm          dfs.Perm
	Holder        string // the client's lease name
	Flags         dfs.CreateFlag
	CreateParent  bool
	Replication   int16
	BlockSize     int64
	StoragePolicy uint8 // 0: inherited
}

// Append reopens a closed file. NewBlock leaves the last block alone: the writer goes on in a new one.
type Append struct {
	Path     string
	Holder   string
	NewBlock bool
}

// AddBlock commits Previous, the last block as the writer has it, and allocates the next block.
type AddBlock struct {
	Path     string
	FileID   dfs.INodeID // 0: Path decides
	Holder   string
	Previous *dfs.Block // nil for the first block and for the first after Append
}

// AbandonBlock gives the last block of an open file back.
type AbandonBlock struct {
	Path   string
	FileID dfs.INodeID
	Holder string
	Block  dfs.Block
}

// Complete closes a file. The active journals it once the blocks have their minimal replication; when it gives up
// waiting for them, it journals it with CommitOnly, which settles Last and leaves the file open (answer: false).
type Complete struct {
	Path       string
	FileID     dfs.INodeID
	Holder     string
	Last       *dfs.Block
	CommitOnly bool
}

// Fsync records how long the last block of an open file is.
type Fsync struct {
	Path    string
	FileID  dfs.INodeID
	Holder  string
	LastLen int64 // -1: not known
}

// BumpGenStamp hands out a generation stamp for the pipeline of Block; nothing else changes.
type BumpGenStamp struct {
	Holder string
	Block  dfs.Block
}

// UpdatePipeline gives the last block of an open file a new stamp and length.
type UpdatePipeline struct {
	Holder   string
	Old, New dfs.Block
}

// Delete removes a file or a directory.
type Delete struct {
	Path      string
	Recursive bool
}

// Rename is HDFS's old rename: it answers false where Rename2 fails, and moves into Dst when that is a directory.
type Rename struct{ Src, Dst string }

// Rename2 moves Src to exactly Dst.
type Rename2 struct {
	Src, Dst  string
	Overwrite bool
	ToTrash   bool
}

// SetPermission sets the permission bits.
type SetPermission struct {
	Path string
	Perm dfs.Perm
}

// SetOwner sets owner and group; "" leaves one as it is.
type SetOwner struct{ Path, Owner, Group string }

// SetTimes sets modification and access time in milliseconds; -1 leaves one as it is.
type SetTimes struct {
	Path         string
	MTime, ATime int64
}

// TouchAccess records that a file was read. The active sends it when the recorded time is older than its precision.
type TouchAccess struct {
	FileID dfs.INodeID
	ATime  int64
}

// SetReplication sets the number of replicas that a file should have.
type SetReplication struct {
	Path        string
	Replication int16
}

// SetStoragePolicy sets or, with 0, unsets a file's or directory's storage policy.
type SetStoragePolicy struct {
	Path   string
	Policy uint8
}

// Truncate shortens a closed file.
type Truncate struct {
	Path   string
	Length int64
	Holder string
}

// Concat moves the blocks of Sources to the end of Target and removes Sources.
type Concat struct {
	Target  string
	Sources []string
}

// XAttr is one extended attribute.
type XAttr struct {
	Namespace dfs.XAttrNamespace
	Name      string
	Value     []byte
}

// SetXAttr creates or replaces an extended attribute, as Flags allow.
type SetXAttr struct {
	Path  string
	XAttr XAttr
	Flags dfs.XAttrFlag
}

// RemoveXAttr removes an extended attribute.
type RemoveXAttr struct {
	Path      string
	Namespace dfs.XAttrNamespace
	Name      string
}

// AllowSnapshot makes a directory snapshottable.
type AllowSnapshot struct{ Path string }

// DisallowSnapshot undoes AllowSnapshot.
type DisallowSnapshot struct{ Path string }

// CreateSnapshot takes a snapshot of a snapshottable directory. Name is never empty: the active fills the default in.
type CreateSnapshot struct{ Path, Name string }

// RenameSnapshot renames a snapshot.
type RenameSnapshot struct{ Path, Old, New string }

// DeleteSnapshot removes a snapshot, and the blocks that only it held.
type DeleteSnapshot struct{ Path, Name string }

// StartRecovery takes an open file's lease over for NewHolder and puts its last block under recovery with a new stamp.
// For a file whose blocks need no recovery the active sends CloseFile instead.
type StartRecovery struct {
	FileID    dfs.INodeID
	NewHolder string
}

// CloseFile closes an open file whose blocks need no recovery. Drop removes the last block first: it has no byte and
// no replica.
type CloseFile struct {
	FileID dfs.INodeID
	Drop   bool
}

// CommitBlockSync is the end of a block's recovery, as the primary datanode reports it.
type CommitBlockSync struct {
	Block       dfs.Block
	NewGenStamp dfs.GenStamp
	NewLength   int64
	CloseFile   bool
	DeleteBlock bool
}
