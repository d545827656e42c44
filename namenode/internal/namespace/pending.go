package namespace

import (
	"io"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Signatures first: each method moves to its own file with its body.

func (n *Namespace) Snapshot() *Image          { panic("unwritten") }
func (n *Namespace) Restore(r io.Reader) error { panic("unwritten") }
func (n *Namespace) Digest() uint64            { panic("unwritten") }

// Image is a frozen view of the state.
type Image struct{}

func (i *Image) WriteTo(w io.Writer) (int64, error) { panic("unwritten") }
func (i *Image) TxID() uint64                       { panic("unwritten") }

func (n *Namespace) ContentSummary(c dfs.Caller, path string) (*ContentSummary, error) {
	panic("unwritten")
}
func (n *Namespace) XAttrs(c dfs.Caller, path string, names []XAttr) ([]XAttr, error) {
	panic("unwritten")
}
func (n *Namespace) ListXAttrs(c dfs.Caller, path string) ([]XAttr, error)   { panic("unwritten") }
func (n *Namespace) Snapshottables(c dfs.Caller) ([]SnapshottableDir, error) { panic("unwritten") }
func (n *Namespace) SnapshotListing(c dfs.Caller, path string) ([]SnapshotInfo, error) {
	panic("unwritten")
}
func (n *Namespace) SnapshotDiff(c dfs.Caller, path, from, to string) (*SnapshotDiff, error) {
	panic("unwritten")
}
func (*SetPermission) plan(p *planner) error    { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*SetOwner) plan(p *planner) error         { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*SetTimes) plan(p *planner) error         { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*TouchAccess) plan(p *planner) error      { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*SetReplication) plan(p *planner) error   { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*SetStoragePolicy) plan(p *planner) error { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*Truncate) plan(p *planner) error         { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*Concat) plan(p *planner) error           { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*SetXAttr) plan(p *planner) error         { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*RemoveXAttr) plan(p *planner) error      { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*AllowSnapshot) plan(p *planner) error    { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*DisallowSnapshot) plan(p *planner) error { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*CreateSnapshot) plan(p *planner) error   { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*RenameSnapshot) plan(p *planner) error   { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
func (*DeleteSnapshot) plan(p *planner) error   { return dfs.Errorf(dfs.ClassUnsupported, "not yet") }
