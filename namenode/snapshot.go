package namenode

import (
	"context"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"google.golang.org/protobuf/proto"
)

func (n *NameNode) allowSnapshot(ctx context.Context, c *rpc.Call, req *hdfspb.AllowSnapshotRequestProto) (*hdfspb.AllowSnapshotResponseProto, error) {
	if err := n.superuserOnly(c, "allowSnapshot"); err != nil {
		return nil, err
	}
	_, err := n.change(ctx, c, "Cannot allow snapshot for ", req.GetSnapshotRoot(), &namespace.AllowSnapshot{Path: req.GetSnapshotRoot()})
	return &hdfspb.AllowSnapshotResponseProto{}, err
}

func (n *NameNode) disallowSnapshot(ctx context.Context, c *rpc.Call, req *hdfspb.DisallowSnapshotRequestProto) (*hdfspb.DisallowSnapshotResponseProto, error) {
	if err := n.superuserOnly(c, "disallowSnapshot"); err != nil {
		return nil, err
	}
	_, err := n.change(ctx, c, "Cannot disallow snapshot for ", req.GetSnapshotRoot(), &namespace.DisallowSnapshot{Path: req.GetSnapshotRoot()})
	return &hdfspb.DisallowSnapshotResponseProto{}, err
}

// createSnapshot names the snapshot by the time, as HDFS does, when the client gives no name.
func (n *NameNode) createSnapshot(ctx context.Context, c *rpc.Call, req *hdfspb.CreateSnapshotRequestProto) (*hdfspb.CreateSnapshotResponseProto, error) {
	name := req.GetSnapshotName()
	if name == "" {
		name = time.Now().Format("s20060102-150405.000")
	}
	result, err := n.change(ctx, c, "Cannot create snapshot for ", req.GetSnapshotRoot(), &namespace.CreateSnapshot{
		Path: req.GetSnapshotRoot(), Name: name,
	})
	if err != nil {
		return nil, err
	}
	return &hdfspb.CreateSnapshotResponseProto{SnapshotPath: proto.String(result.Path)}, nil
}

func (n *NameNode) renameSnapshot(ctx context.Context, c *rpc.Call, req *hdfspb.RenameSnapshotRequestProto) (*hdfspb.RenameSnapshotResponseProto, error) {
	_, err := n.change(ctx, c, "Cannot rename snapshot for ", req.GetSnapshotRoot(), &namespace.RenameSnapshot{
		Path: req.GetSnapshotRoot(), Old: req.GetSnapshotOldName(), New: req.GetSnapshotNewName(),
	})
	return &hdfspb.RenameSnapshotResponseProto{}, err
}

func (n *NameNode) deleteSnapshot(ctx context.Context, c *rpc.Call, req *hdfspb.DeleteSnapshotRequestProto) (*hdfspb.DeleteSnapshotResponseProto, error) {
	_, err := n.change(ctx, c, "Cannot delete snapshot for ", req.GetSnapshotRoot(), &namespace.DeleteSnapshot{
		Path: req.GetSnapshotRoot(), Name: req.GetSnapshotName(),
	})
	return &hdfspb.DeleteSnapshotResponseProto{}, err
}

// getSnapshottableDirListing lists the caller's snapshottable directories, all of them for a superuser; no list at all
// when there are none.
func (n *NameNode) getSnapshottableDirListing(_ context.Context, c *rpc.Call, _ *hdfspb.GetSnapshottableDirListingRequestProto) (*hdfspb.GetSnapshottableDirListingResponseProto, error) {
	dirs, err := n.ns.Snapshottables(n.caller(c))
	if err != nil || len(dirs) == 0 {
		return &hdfspb.GetSnapshottableDirListingResponseProto{}, err
	}
	list := &hdfspb.SnapshottableDirectoryListingProto{}
	for i := range dirs {
		d := &dirs[i]
		list.SnapshottableDirListing = append(list.SnapshottableDirListing, &hdfspb.SnapshottableDirectoryStatusProto{
			DirStatus:      n.status(&d.Status, c.Remote),
			SnapshotQuota:  proto.Uint32(uint32(d.Quota)),
			SnapshotNumber: proto.Uint32(uint32(d.Snapshots)),
			ParentFullpath: []byte(d.Parent),
		})
	}
	return &hdfspb.GetSnapshottableDirListingResponseProto{SnapshottableDirList: list}, nil
}

func (n *NameNode) getSnapshotListing(_ context.Context, c *rpc.Call, req *hdfspb.GetSnapshotListingRequestProto) (*hdfspb.GetSnapshotListingResponseProto, error) {
	snapshots, err := n.ns.SnapshotListing(n.caller(c), req.GetSnapshotRoot())
	if err != nil || len(snapshots) == 0 {
		return &hdfspb.GetSnapshotListingResponseProto{}, err
	}
	list := &hdfspb.SnapshotListingProto{}
	for i := range snapshots {
		s := &snapshots[i]
		list.SnapshotListing = append(list.SnapshotListing, &hdfspb.SnapshotStatusProto{
			DirStatus:      n.status(&s.Status, c.Remote),
			SnapshotID:     proto.Uint32(uint32(s.SnapshotID)),
			ParentFullpath: []byte(s.Parent),
			IsDeleted:      proto.Bool(false),
		})
	}
	return &hdfspb.GetSnapshotListingResponseProto{SnapshotList: list}, nil
}

// getSnapshotDiffReport compares two states of a snapshottable directory; an empty name is the present state.
func (n *NameNode) getSnapshotDiffReport(_ context.Context, c *rpc.Call, req *hdfspb.GetSnapshotDiffReportRequestProto) (*hdfspb.GetSnapshotDiffReportResponseProto, error) {
	diff, err := n.ns.SnapshotDiff(n.caller(c), req.GetSnapshotRoot(), req.GetFromSnapshot(), req.GetToSnapshot())
	if err != nil {
		return nil, err
	}
	report := &hdfspb.SnapshotDiffReportProto{
		SnapshotRoot: proto.String(diff.Root), FromSnapshot: proto.String(diff.From), ToSnapshot: proto.String(diff.To),
	}
	for i := range diff.Entries {
		e := &diff.Entries[i]
		entry := &hdfspb.SnapshotDiffReportEntryProto{Fullpath: []byte(e.Path), ModificationLabel: proto.String(string(rune(e.Kind)))}
		if e.Kind == namespace.DiffRename {
			entry.TargetPath = []byte(e.Target)
		}
		report.DiffReportEntries = append(report.DiffReportEntries, entry)
	}
	return &hdfspb.GetSnapshotDiffReportResponseProto{DiffReport: report}, nil
}

// superuserOnly refuses everybody else, with the name of the call.
func (n *NameNode) superuserOnly(c *rpc.Call, operation string) error {
	caller := n.caller(c)
	if c.User == n.o.Superuser || n.ns.Superuser(caller) { // a namenode that has no state yet has its options
		return nil
	}
	return dfs.Errorf(dfs.ClassAccessControl, "Access denied for user %s. Superuser privilege is required for operation %s", c.User, operation)
}
