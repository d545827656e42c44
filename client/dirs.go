package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// Mkdir makes a directory; its parent must exist and it must not. Permissions are taken as they are: there is no umask.
func (c *Client) Mkdir(ctx context.Context, path string, perm fs.FileMode) error {
	// mkdirs accepts a directory that is there: whoever needs to know asks first, as Hadoop's own callers do
	if _, err := c.stat(ctx, "mkdir", path); err == nil {
		return &fs.PathError{Op: "mkdir", Path: path, Err: dfs.Errorf(dfs.ClassFileAlreadyExists, "%s already exists", path)}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return c.mkdirs(ctx, path, perm, false)
}

// MkdirAll makes a directory and what is missing above it. A directory that is there is fine.
func (c *Client) MkdirAll(ctx context.Context, path string, perm fs.FileMode) error {
	return c.mkdirs(ctx, path, perm, true)
}

func (c *Client) mkdirs(ctx context.Context, path string, perm fs.FileMode, parents bool) error {
	p, mode := c.abs(path), fromMode(perm)
	var resp hdfspb.MkdirsResponseProto
	err := c.call(ctx, "mkdir", path, "mkdirs", &hdfspb.MkdirsRequestProto{Src: &p, Masked: mode, Unmasked: mode, CreateParent: &parents}, &resp)
	if err == nil && !resp.GetResult() {
		err = &fs.PathError{Op: "mkdir", Path: path, Err: dfs.Errorf(dfs.ClassIO, "mkdirs of %s answered false", p)}
	}
	return err
}

// Remove removes a file or an empty directory.
func (c *Client) Remove(ctx context.Context, path string) error {
	found, err := c.delete(ctx, "remove", path, false)
	if err == nil && !found {
		err = notFound("remove", path)
	}
	return err
}

// RemoveAll removes a path and everything under it. A path that does not exist is fine.
func (c *Client) RemoveAll(ctx context.Context, path string) error {
	_, err := c.delete(ctx, "removeall", path, true)
	return err
}

func (c *Client) delete(ctx context.Context, op, path string, recursive bool) (bool, error) {
	p := c.abs(path)
	if p == "/" {
		return false, &fs.PathError{Op: op, Path: path, Err: fmt.Errorf("the root cannot be removed: %w", fs.ErrInvalid)}
	}
	var resp hdfspb.DeleteResponseProto
	err := c.call(ctx, op, path, "delete", &hdfspb.DeleteRequestProto{Src: &p, Recursive: &recursive}, &resp)
	return resp.GetResult(), err
}

// Rename moves a file or directory to a path that does not exist yet.
func (c *Client) Rename(ctx context.Context, oldpath, newpath string) error {
	return c.rename(ctx, oldpath, newpath, false)
}

// RenameOverwrite is Rename onto a path that may exist: a file replaces a file, a directory an empty directory.
func (c *Client) RenameOverwrite(ctx context.Context, oldpath, newpath string) error {
	return c.rename(ctx, oldpath, newpath, true)
}

func (c *Client) rename(ctx context.Context, oldpath, newpath string, overwrite bool) error {
	return c.call(ctx, "rename", oldpath, "rename2", &hdfspb.Rename2RequestProto{
		Src:           proto.String(c.abs(oldpath)),
		Dst:           proto.String(c.abs(newpath)),
		OverwriteDest: &overwrite,
		MoveToTrash:   proto.Bool(false),
	}, &hdfspb.Rename2ResponseProto{})
}
