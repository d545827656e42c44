package client

import (
	"context"
	"io/fs"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// Stat describes a file or directory. A path below a file, which HDFS answers like a missing one for some users and with
// a permission error for others, gives that answer.
func (c *Client) Stat(ctx context.Context, path string) (*FileInfo, error) {
	return c.stat(ctx, "stat", path)
}

func (c *Client) stat(ctx context.Context, op, path string) (*FileInfo, error) {
	var resp hdfspb.GetFileInfoResponseProto
	p := c.abs(path)
	if err := c.call(ctx, op, path, "getFileInfo", &hdfspb.GetFileInfoRequestProto{Src: &p}, &resp); err != nil {
		return nil, err
	}
	if resp.GetFs() == nil {
		return nil, notFound(op, path)
	}
	return newFileInfo(resp.GetFs(), base(p)), nil
}

// notFound is the error for a path that the namenode answers with nothing at all.
func notFound(op, path string) error {
	return &fs.PathError{Op: op, Path: path, Err: dfs.Errorf(dfs.ClassFileNotFound, "File does not exist: %s", path)}
}

// base gives the last element of a clean path, "/" for the root.
func base(p string) string {
	for i := len(p) - 1; i > 0; i-- {
		if p[i-1] == '/' {
			return p[i:]
		}
	}
	return p
}

// Access says whether the user may do a: nil, or an error with fs.ErrPermission in it.
func (c *Client) Access(ctx context.Context, path string, a Access) error {
	p := c.abs(path)
	return c.call(ctx, "access", path, "checkAccess", &hdfspb.CheckAccessRequestProto{
		Path: &p,
		Mode: hdfspb.AclEntryProto_FsActionProto(a).Enum(),
	}, &hdfspb.CheckAccessResponseProto{})
}

// ContentSummary counts what is under a path. Quotas are -1 where there are none.
type ContentSummary struct {
	Length         int64 // bytes, each counted once
	Files          int64
	Directories    int64 // the path itself included
	Quota          int64 // names
	SpaceConsumed  int64 // bytes, each counted as often as it is replicated
	SpaceQuota     int64
	SnapshotLength int64
	SnapshotFiles  int64
	SnapshotDirs   int64
	SnapshotSpace  int64
}

// ContentSummary counts what is under a path.
func (c *Client) ContentSummary(ctx context.Context, path string) (ContentSummary, error) {
	var resp hdfspb.GetContentSummaryResponseProto
	p := c.abs(path)
	if err := c.call(ctx, "contentsummary", path, "getContentSummary", &hdfspb.GetContentSummaryRequestProto{Path: &p}, &resp); err != nil {
		return ContentSummary{}, err
	}
	s := resp.GetSummary()
	return ContentSummary{
		Length:         int64(s.GetLength()),
		Files:          int64(s.GetFileCount()),
		Directories:    int64(s.GetDirectoryCount()),
		Quota:          int64(s.GetQuota()),
		SpaceConsumed:  int64(s.GetSpaceConsumed()),
		SpaceQuota:     int64(s.GetSpaceQuota()),
		SnapshotLength: int64(s.GetSnapshotLength()),
		SnapshotFiles:  int64(s.GetSnapshotFileCount()),
		SnapshotDirs:   int64(s.GetSnapshotDirectoryCount()),
		SnapshotSpace:  int64(s.GetSnapshotSpaceConsumed()),
	}, nil
}

// DiskUsage gives the bytes under a path, and the bytes that their replicas take.
func (c *Client) DiskUsage(ctx context.Context, path string) (length, consumed int64, err error) {
	s, err := c.ContentSummary(ctx, path)
	return s.Length, s.SpaceConsumed, err
}

// FSStats is the state of the file system as a whole.
type FSStats struct {
	Capacity        int64
	Used            int64
	Remaining       int64
	UnderReplicated int64 // blocks with fewer replicas than they should have
	CorruptBlocks   int64 // blocks with a corrupt replica
	MissingBlocks   int64 // blocks without any good replica
	PendingDeletion int64
}

// StatFS gives the state of the file system as a whole.
func (c *Client) StatFS(ctx context.Context) (FSStats, error) {
	var resp hdfspb.GetFsStatsResponseProto
	if err := c.call(ctx, "statfs", "/", "getFsStats", &hdfspb.GetFsStatusRequestProto{}, &resp); err != nil {
		return FSStats{}, err
	}
	return FSStats{
		Capacity:        int64(resp.GetCapacity()),
		Used:            int64(resp.GetUsed()),
		Remaining:       int64(resp.GetRemaining()),
		UnderReplicated: int64(resp.GetUnderReplicated()),
		CorruptBlocks:   int64(resp.GetCorruptBlocks()),
		MissingBlocks:   int64(resp.GetMissingBlocks()),
		PendingDeletion: int64(resp.GetPendingDeletionBlocks()),
	}, nil
}

// IsFileClosed reports whether nobody has the file open for writing.
func (c *Client) IsFileClosed(ctx context.Context, path string) (bool, error) {
	var resp hdfspb.IsFileClosedResponseProto
	err := c.call(ctx, "isfileclosed", path, "isFileClosed", &hdfspb.IsFileClosedRequestProto{Src: proto.String(c.abs(path))}, &resp)
	return resp.GetResult(), err
}

// RecoverLease takes a file away from its writer, at once, and reports whether it is closed already; if not, its last
// block is being recovered: ask again, or IsFileClosed.
func (c *Client) RecoverLease(ctx context.Context, path string) (closed bool, err error) {
	var resp hdfspb.RecoverLeaseResponseProto
	err = c.call(ctx, "recoverlease", path, "recoverLease", &hdfspb.RecoverLeaseRequestProto{Src: proto.String(c.abs(path)), ClientName: &c.name}, &resp)
	return resp.GetResult(), err
}
