package client

import (
	"context"
	"io/fs"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// Chmod sets the permission bits, fs.ModeSticky among them.
func (c *Client) Chmod(ctx context.Context, path string, mode fs.FileMode) error {
	return c.call(ctx, "chmod", path, "setPermission", &hdfspb.SetPermissionRequestProto{
		Src:        proto.String(c.abs(path)),
		Permission: fromMode(mode),
	}, &hdfspb.SetPermissionResponseProto{})
}

// Chown sets owner and group; "" leaves one as it is. Only the superuser may change owners.
func (c *Client) Chown(ctx context.Context, path, user, group string) error {
	req := &hdfspb.SetOwnerRequestProto{Src: proto.String(c.abs(path))}
	if user != "" {
		req.Username = &user
	}
	if group != "" {
		req.Groupname = &group
	}
	return c.call(ctx, "chown", path, "setOwner", req, &hdfspb.SetOwnerResponseProto{})
}

// Chtimes sets the times of access and modification, in milliseconds; a zero time leaves one as it is.
func (c *Client) Chtimes(ctx context.Context, path string, atime, mtime time.Time) error {
	return c.call(ctx, "chtimes", path, "setTimes", &hdfspb.SetTimesRequestProto{
		Src:   proto.String(c.abs(path)),
		Mtime: millis(mtime),
		Atime: millis(atime),
	}, &hdfspb.SetTimesResponseProto{})
}

// millis is t as the wire has it; -1 means: leave it.
func millis(t time.Time) *uint64 {
	ms := int64(-1)
	if !t.IsZero() {
		ms = t.UnixMilli()
	}
	return proto.Uint64(uint64(ms))
}

// SetReplication sets how many replicas a file should have. The namenode makes or removes them later; that of minidfs
// makes none.
func (c *Client) SetReplication(ctx context.Context, path string, n int) error {
	var resp hdfspb.SetReplicationResponseProto
	err := c.call(ctx, "setreplication", path, "setReplication", &hdfspb.SetReplicationRequestProto{
		Src:         proto.String(c.abs(path)),
		Replication: proto.Uint32(uint32(n)),
	}, &resp)
	if err == nil && !resp.GetResult() {
		err = &fs.PathError{Op: "setreplication", Path: path, Err: dfs.Errorf(dfs.ClassFileNotFound, "Path is not a file: %s", path)}
	}
	return err
}
