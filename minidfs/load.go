package minidfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/minidfs/go-minidfs/client"
)

// load copies the tree of Files to where it belongs: a test has its directory, a program its whole cluster.
func (c *Cluster) load(ctx context.Context) error {
	if c.conf.files == nil {
		return nil
	}
	dir := "/"
	if c.t != nil {
		var err error
		if dir, err = c.directory(); err != nil {
			return fmt.Errorf("minidfs: loading files: %w", err)
		}
	}
	fs, err := c.root()
	if err != nil {
		return err
	}
	return loadTree(ctx, fs, c.conf.files, dir)
}

// loadTree copies a tree into a directory of HDFS: names, bytes and permissions.
func loadTree(ctx context.Context, to *client.Client, tree fs.FS, dir string) error {
	return fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("minidfs: loading files: %w", err)
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("minidfs: loading files: %w", err)
		}
		target := path.Join(dir, name)
		switch {
		case name == ".":
			return to.MkdirAll(ctx, target, 0o755)
		case d.IsDir():
			return to.Mkdir(ctx, target, info.Mode().Perm()|0o700)
		case !info.Mode().IsRegular():
			return fmt.Errorf("minidfs: loading files: %s is no regular file and no directory", name)
		}
		return loadFile(ctx, to, tree, name, target, info.Mode().Perm())
	})
}

func loadFile(ctx context.Context, to *client.Client, tree fs.FS, name, target string, perm fs.FileMode) error {
	in, err := tree.Open(name)
	if err != nil {
		return fmt.Errorf("minidfs: loading files: %w", err)
	}
	defer in.Close()
	out, err := to.Create(ctx, target, client.Mode(perm))
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(fmt.Errorf("minidfs: loading %s: %w", name, err), out.Abort())
	}
	return out.Close()
}
