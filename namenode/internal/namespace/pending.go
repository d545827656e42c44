package namespace

import (
	"io"
	"iter"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Signatures first: each method moves to its own file with its body.

type decoder struct{}

func (n *Namespace) Apply(batch []*Op) []Result                  { panic("unwritten") }
func (n *Namespace) Check(op *Op) (Result, bool)                 { panic("unwritten") }
func (n *Namespace) AddBlockCheck(op *Op) (*AddBlockPlan, error) { panic("unwritten") }
func (n *Namespace) Snapshot() *Image                            { panic("unwritten") }
func (n *Namespace) Restore(r io.Reader) error                   { panic("unwritten") }
func (n *Namespace) Digest() uint64                              { panic("unwritten") }
func (n *Namespace) TxID() uint64                                { panic("unwritten") }
func (n *Namespace) Params() Params                              { panic("unwritten") }
func (n *Namespace) LastBlockID() dfs.BlockID                    { panic("unwritten") }
func (n *Namespace) LastGenStamp() dfs.GenStamp                  { panic("unwritten") }
func (n *Namespace) Counts() Counts                              { panic("unwritten") }

// Image is a frozen view of the state.
type Image struct{}

func (i *Image) WriteTo(w io.Writer) (int64, error) { panic("unwritten") }
func (i *Image) TxID() uint64                       { panic("unwritten") }

func (o *Op) AppendTo(b []byte) []byte { panic("unwritten") }
func DecodeOp(b []byte) (*Op, error)   { panic("unwritten") }

func (n *Namespace) Status(c dfs.Caller, path string, resolveLast bool) (*Status, error) {
	panic("unwritten")
}
func (n *Namespace) List(c dfs.Caller, path, startAfter string, limit int, withBlocks bool) (*Listing, error) {
	panic("unwritten")
}
func (n *Namespace) Blocks(c dfs.Caller, path string, offset, length int64) (*FileBlocks, error) {
	panic("unwritten")
}
func (n *Namespace) ContentSummary(c dfs.Caller, path string) (*ContentSummary, error) {
	panic("unwritten")
}
func (n *Namespace) PreferredBlockSize(c dfs.Caller, path string) (int64, error) { panic("unwritten") }
func (n *Namespace) IsFileClosed(c dfs.Caller, path string) (bool, error)        { panic("unwritten") }
func (n *Namespace) CheckAccess(c dfs.Caller, path string, access dfs.Access) error {
	panic("unwritten")
}
func (n *Namespace) XAttrs(c dfs.Caller, path string, names []XAttr) ([]XAttr, error) {
	panic("unwritten")
}
func (n *Namespace) ListXAttrs(c dfs.Caller, path string) ([]XAttr, error)   { panic("unwritten") }
func (n *Namespace) ACLStatus(c dfs.Caller, path string) (*ACLStatus, error) { panic("unwritten") }
func (n *Namespace) StoragePolicy(c dfs.Caller, path string) (uint8, error)  { panic("unwritten") }
func (n *Namespace) Snapshottables(c dfs.Caller) ([]SnapshottableDir, error) { panic("unwritten") }
func (n *Namespace) SnapshotListing(c dfs.Caller, path string) ([]SnapshotInfo, error) {
	panic("unwritten")
}
func (n *Namespace) SnapshotDiff(c dfs.Caller, path, from, to string) (*SnapshotDiff, error) {
	panic("unwritten")
}
func (n *Namespace) OpenFiles(after dfs.INodeID, limit int) (files []OpenFile, more bool) {
	panic("unwritten")
}
func (n *Namespace) FileByID(id dfs.INodeID) (*FileInfo, bool)  { panic("unwritten") }
func (n *Namespace) FileByPath(path string) (*FileInfo, error)  { panic("unwritten") }
func (n *Namespace) BlockFile(id dfs.BlockID) (*FileInfo, bool) { panic("unwritten") }
func (n *Namespace) Block(id dfs.BlockID) (BlockInfo, bool)     { panic("unwritten") }
func (n *Namespace) Lease(holder string) (Lease, bool)          { panic("unwritten") }
func (n *Namespace) Leases() iter.Seq[Lease]                    { panic("unwritten") }
func (n *Namespace) CheckLease(c dfs.Caller, path string, id dfs.INodeID, holder string) (*FileInfo, error) {
	panic("unwritten")
}
func (*SetParams) appendTo(b []byte) []byte        { panic("unwritten") }
func (*SetParams) decodeFrom(d *decoder)           { panic("unwritten") }
func (*StartSegment) appendTo(b []byte) []byte     { panic("unwritten") }
func (*StartSegment) decodeFrom(d *decoder)        { panic("unwritten") }
func (*Mkdirs) appendTo(b []byte) []byte           { panic("unwritten") }
func (*Mkdirs) decodeFrom(d *decoder)              { panic("unwritten") }
func (*Create) appendTo(b []byte) []byte           { panic("unwritten") }
func (*Create) decodeFrom(d *decoder)              { panic("unwritten") }
func (*Append) appendTo(b []byte) []byte           { panic("unwritten") }
func (*Append) decodeFrom(d *decoder)              { panic("unwritten") }
func (*AddBlock) appendTo(b []byte) []byte         { panic("unwritten") }
func (*AddBlock) decodeFrom(d *decoder)            { panic("unwritten") }
func (*AbandonBlock) appendTo(b []byte) []byte     { panic("unwritten") }
func (*AbandonBlock) decodeFrom(d *decoder)        { panic("unwritten") }
func (*Complete) appendTo(b []byte) []byte         { panic("unwritten") }
func (*Complete) decodeFrom(d *decoder)            { panic("unwritten") }
func (*Fsync) appendTo(b []byte) []byte            { panic("unwritten") }
func (*Fsync) decodeFrom(d *decoder)               { panic("unwritten") }
func (*BumpGenStamp) appendTo(b []byte) []byte     { panic("unwritten") }
func (*BumpGenStamp) decodeFrom(d *decoder)        { panic("unwritten") }
func (*UpdatePipeline) appendTo(b []byte) []byte   { panic("unwritten") }
func (*UpdatePipeline) decodeFrom(d *decoder)      { panic("unwritten") }
func (*Delete) appendTo(b []byte) []byte           { panic("unwritten") }
func (*Delete) decodeFrom(d *decoder)              { panic("unwritten") }
func (*Rename) appendTo(b []byte) []byte           { panic("unwritten") }
func (*Rename) decodeFrom(d *decoder)              { panic("unwritten") }
func (*Rename2) appendTo(b []byte) []byte          { panic("unwritten") }
func (*Rename2) decodeFrom(d *decoder)             { panic("unwritten") }
func (*SetPermission) appendTo(b []byte) []byte    { panic("unwritten") }
func (*SetPermission) decodeFrom(d *decoder)       { panic("unwritten") }
func (*SetOwner) appendTo(b []byte) []byte         { panic("unwritten") }
func (*SetOwner) decodeFrom(d *decoder)            { panic("unwritten") }
func (*SetTimes) appendTo(b []byte) []byte         { panic("unwritten") }
func (*SetTimes) decodeFrom(d *decoder)            { panic("unwritten") }
func (*TouchAccess) appendTo(b []byte) []byte      { panic("unwritten") }
func (*TouchAccess) decodeFrom(d *decoder)         { panic("unwritten") }
func (*SetReplication) appendTo(b []byte) []byte   { panic("unwritten") }
func (*SetReplication) decodeFrom(d *decoder)      { panic("unwritten") }
func (*SetStoragePolicy) appendTo(b []byte) []byte { panic("unwritten") }
func (*SetStoragePolicy) decodeFrom(d *decoder)    { panic("unwritten") }
func (*Truncate) appendTo(b []byte) []byte         { panic("unwritten") }
func (*Truncate) decodeFrom(d *decoder)            { panic("unwritten") }
func (*Concat) appendTo(b []byte) []byte           { panic("unwritten") }
func (*Concat) decodeFrom(d *decoder)              { panic("unwritten") }
func (*SetXAttr) appendTo(b []byte) []byte         { panic("unwritten") }
func (*SetXAttr) decodeFrom(d *decoder)            { panic("unwritten") }
func (*RemoveXAttr) appendTo(b []byte) []byte      { panic("unwritten") }
func (*RemoveXAttr) decodeFrom(d *decoder)         { panic("unwritten") }
func (*AllowSnapshot) appendTo(b []byte) []byte    { panic("unwritten") }
func (*AllowSnapshot) decodeFrom(d *decoder)       { panic("unwritten") }
func (*DisallowSnapshot) appendTo(b []byte) []byte { panic("unwritten") }
func (*DisallowSnapshot) decodeFrom(d *decoder)    { panic("unwritten") }
func (*CreateSnapshot) appendTo(b []byte) []byte   { panic("unwritten") }
func (*CreateSnapshot) decodeFrom(d *decoder)      { panic("unwritten") }
func (*RenameSnapshot) appendTo(b []byte) []byte   { panic("unwritten") }
func (*RenameSnapshot) decodeFrom(d *decoder)      { panic("unwritten") }
func (*DeleteSnapshot) appendTo(b []byte) []byte   { panic("unwritten") }
func (*DeleteSnapshot) decodeFrom(d *decoder)      { panic("unwritten") }
func (*StartRecovery) appendTo(b []byte) []byte    { panic("unwritten") }
func (*StartRecovery) decodeFrom(d *decoder)       { panic("unwritten") }
func (*CloseFile) appendTo(b []byte) []byte        { panic("unwritten") }
func (*CloseFile) decodeFrom(d *decoder)           { panic("unwritten") }
func (*CommitBlockSync) appendTo(b []byte) []byte  { panic("unwritten") }
func (*CommitBlockSync) decodeFrom(d *decoder)     { panic("unwritten") }
