package client

import (
	"context"
	"path"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// AllowSnapshots lets a directory have snapshots; only the superuser may.
func (c *Client) AllowSnapshots(ctx context.Context, dir string) error {
	return c.call(ctx, "allowsnapshots", dir, "allowSnapshot", &hdfspb.AllowSnapshotRequestProto{SnapshotRoot: proto.String(c.abs(dir))}, &hdfspb.AllowSnapshotResponseProto{})
}

// DisallowSnapshots is the reverse of AllowSnapshots. The directory may have no snapshots left.
func (c *Client) DisallowSnapshots(ctx context.Context, dir string) error {
	return c.call(ctx, "disallowsnapshots", dir, "disallowSnapshot", &hdfspb.DisallowSnapshotRequestProto{SnapshotRoot: proto.String(c.abs(dir))}, &hdfspb.DisallowSnapshotResponseProto{})
}

// CreateSnapshot keeps the present state of a directory under a name, "" for one made from the time, and gives the path
// where it can be read.
func (c *Client) CreateSnapshot(ctx context.Context, dir, name string) (string, error) {
	req := &hdfspb.CreateSnapshotRequestProto{SnapshotRoot: proto.String(c.abs(dir))}
	if name != "" {
		req.SnapshotName = &name
	}
	var resp hdfspb.CreateSnapshotResponseProto
	err := c.call(ctx, "createsnapshot", dir, "createSnapshot", req, &resp)
	return resp.GetSnapshotPath(), err
}

// RenameSnapshot gives a snapshot another name.
func (c *Client) RenameSnapshot(ctx context.Context, dir, oldname, newname string) error {
	return c.call(ctx, "renamesnapshot", dir, "renameSnapshot", &hdfspb.RenameSnapshotRequestProto{
		SnapshotRoot:    proto.String(c.abs(dir)),
		SnapshotOldName: &oldname,
		SnapshotNewName: &newname,
	}, &hdfspb.RenameSnapshotResponseProto{})
}

// DeleteSnapshot removes a snapshot.
func (c *Client) DeleteSnapshot(ctx context.Context, dir, name string) error {
	return c.call(ctx, "deletesnapshot", dir, "deleteSnapshot", &hdfspb.DeleteSnapshotRequestProto{
		SnapshotRoot: proto.String(c.abs(dir)),
		SnapshotName: &name,
	}, &hdfspb.DeleteSnapshotResponseProto{})
}

// Snapshot is a snapshot of a directory. Its name is that of the FileInfo.
type Snapshot struct {
	*FileInfo
	ID      int
	Path    string // where it can be read
	Deleted bool   // kept only until older ones are gone
}

// Snapshots gives the snapshots of a directory, in the order of their names.
func (c *Client) Snapshots(ctx context.Context, dir string) ([]Snapshot, error) {
	p := c.abs(dir)
	var resp hdfspb.GetSnapshotListingResponseProto
	if err := c.call(ctx, "snapshots", dir, "getSnapshotListing", &hdfspb.GetSnapshotListingRequestProto{SnapshotRoot: &p}, &resp); err != nil {
		return nil, err
	}
	list := resp.GetSnapshotList().GetSnapshotListing()
	all := make([]Snapshot, len(list))
	for i, s := range list {
		info := newFileInfo(s.GetDirStatus(), "")
		all[i] = Snapshot{
			FileInfo: info,
			ID:       int(s.GetSnapshotID()),
			Path:     path.Join(p, ".snapshot", info.Name()),
			Deleted:  s.GetIsDeleted(),
		}
	}
	return all, nil
}

// SnapshottableDir is a directory that may have snapshots.
type SnapshottableDir struct {
	*FileInfo
	Path      string
	Snapshots int
	Limit     int
}

// SnapshottableDirs gives the directories of the user, or all for the superuser, that may have snapshots.
func (c *Client) SnapshottableDirs(ctx context.Context) ([]SnapshottableDir, error) {
	var resp hdfspb.GetSnapshottableDirListingResponseProto
	if err := c.call(ctx, "snapshottabledirs", "/", "getSnapshottableDirListing", &hdfspb.GetSnapshottableDirListingRequestProto{}, &resp); err != nil {
		return nil, err
	}
	list := resp.GetSnapshottableDirList().GetSnapshottableDirListing()
	all := make([]SnapshottableDir, len(list))
	for i, d := range list {
		info := newFileInfo(d.GetDirStatus(), "/")
		all[i] = SnapshottableDir{
			FileInfo:  info,
			Path:      path.Join("/", string(d.GetParentFullpath()), info.Name()),
			Snapshots: int(d.GetSnapshotNumber()),
			Limit:     int(d.GetSnapshotQuota()),
		}
	}
	return all, nil
}

// DiffKind says what became of a path between two snapshots.
type DiffKind byte

// The kinds, as HDFS writes them.
const (
	DiffCreated  DiffKind = '+'
	DiffDeleted  DiffKind = '-'
	DiffModified DiffKind = 'M'
	DiffRenamed  DiffKind = 'R'
)

// String gives HDFS's letter: +, -, M or R.
func (k DiffKind) String() string { return string(rune(k)) }

// DiffEntry is one difference. Paths are relative to the directory, which is itself ".".
type DiffEntry struct {
	Kind   DiffKind
	Path   string
	Target string // of a rename
}

// String gives the line of hdfs snapshotDiff: the letter, a tab, and the path.
func (d DiffEntry) String() string {
	line := d.Kind.String() + "\t" + shown(d.Path)
	if d.Kind == DiffRenamed {
		line += " -> " + shown(d.Target)
	}
	return line
}

// shown is a relative path as hdfs snapshotDiff shows it.
func shown(p string) string {
	if p == "." {
		return p
	}
	return "./" + p
}

// SnapshotDiff tells what changed in a directory from one snapshot to another; "" stands for the present.
func (c *Client) SnapshotDiff(ctx context.Context, dir, from, to string) ([]DiffEntry, error) {
	var resp hdfspb.GetSnapshotDiffReportResponseProto
	err := c.call(ctx, "snapshotdiff", dir, "getSnapshotDiffReport", &hdfspb.GetSnapshotDiffReportRequestProto{
		SnapshotRoot: proto.String(c.abs(dir)),
		FromSnapshot: &from,
		ToSnapshot:   &to,
	}, &resp)
	if err != nil {
		return nil, err
	}
	list := resp.GetDiffReport().GetDiffReportEntries()
	all := make([]DiffEntry, 0, len(list))
	for _, e := range list {
		d := DiffEntry{Path: relative(e.GetFullpath()), Target: relative(e.GetTargetPath())}
		if l := e.GetModificationLabel(); l != "" {
			d.Kind = DiffKind(l[0])
		}
		if len(e.GetTargetPath()) == 0 {
			d.Target = ""
		}
		all = append(all, d)
	}
	return all, nil
}

func relative(p []byte) string {
	if len(p) == 0 {
		return "."
	}
	return string(p)
}
