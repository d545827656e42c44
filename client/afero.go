package client

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/afero"
)

// aferoFS is the file system as an afero.Fs.
type aferoFS struct {
	c   *Client
	ctx context.Context
}

var _ afero.Fs = (*aferoFS)(nil)

// Afero gives the file system as an afero.Fs that lives within ctx. It behaves like the operating system's where HDFS
// can: files may be opened for reading and writing at once, what was written can be read from the same handle, Rename
// replaces files, Truncate makes files longer. What HDFS cannot do, change bytes that are already in a file, fails with
// ErrAppendOnly. Until a file is closed or synced, only its own handle knows its length.
func (c *Client) Afero(ctx context.Context) afero.Fs { return &aferoFS{c: c, ctx: ctx} }

func (a *aferoFS) Name() string { return "hdfs" }

func (a *aferoFS) Create(name string) (afero.File, error) {
	return a.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
}

func (a *aferoFS) Open(name string) (afero.File, error) { return a.OpenFile(name, os.O_RDONLY, 0) }

func (a *aferoFS) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	f := &aferoFile{a: a, name: name, flag: flag}
	info, err := a.c.stat(a.ctx, "open", name)
	if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		f.w, err = a.c.Create(a.ctx, name, Mode(perm))
		if err == nil && !f.writable() {
			err = f.closeWriter()
		}
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, osError("open", name, err)
		}
		info, err = a.c.stat(a.ctx, "open", name) // somebody else was faster
	}
	if err == nil {
		err = f.open(info)
	}
	if err != nil {
		return nil, osError("open", name, err)
	}
	return f, nil
}

// open opens a file or directory that exists.
func (f *aferoFile) open(info *FileInfo) error {
	f.size = info.Size()
	switch {
	case f.flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return fs.ErrExist
	case info.IsDir() && f.writable():
		return syscall.EISDIR
	case info.IsDir():
		f.rewind()
		return nil
	case !f.writable():
		return f.reopen()
	case f.flag&os.O_TRUNC != 0:
		return f.cut(0)
	}
	return f.a.c.Access(f.a.ctx, f.name, AccessWrite)
}

// osError gives an error that os.IsNotExist and its like know too, which look no further than into an *fs.PathError.
func osError(op, name string, err error) error {
	err = renamed(op, name, err)
	var remote *RemoteError
	if errors.As(err, &remote) {
		if native := remote.Class.Native(); native != nil {
			return &fs.PathError{Op: op, Path: name, Err: native}
		}
	}
	return err
}

func (a *aferoFS) Mkdir(name string, perm os.FileMode) error {
	return osError("mkdir", name, a.c.Mkdir(a.ctx, name, perm))
}

func (a *aferoFS) MkdirAll(path string, perm os.FileMode) error {
	return osError("mkdir", path, a.c.MkdirAll(a.ctx, path, perm))
}

func (a *aferoFS) Remove(name string) error {
	return osError("remove", name, a.c.Remove(a.ctx, name))
}

func (a *aferoFS) RemoveAll(path string) error {
	return osError("removeall", path, a.c.RemoveAll(a.ctx, path))
}

// Rename onto the same path is no error, as long as it exists.
func (a *aferoFS) Rename(oldname, newname string) error {
	if a.c.abs(oldname) == a.c.abs(newname) {
		_, err := a.c.stat(a.ctx, "rename", oldname)
		return osError("rename", oldname, err)
	}
	return osError("rename", oldname, a.c.RenameOverwrite(a.ctx, oldname, newname))
}

func (a *aferoFS) Stat(name string) (os.FileInfo, error) {
	info, err := a.c.Stat(a.ctx, name)
	if err != nil {
		return nil, osError("stat", name, err)
	}
	return info, nil
}

func (a *aferoFS) Chmod(name string, mode os.FileMode) error {
	return osError("chmod", name, a.c.Chmod(a.ctx, name, mode))
}

// Chown gives HDFS the names that the operating system has for the ids, or their digits; -1 leaves one as it is.
func (a *aferoFS) Chown(name string, uid, gid int) error {
	var owner, group string
	if uid >= 0 {
		owner = strconv.Itoa(uid)
		if u, err := user.LookupId(owner); err == nil {
			owner = u.Username
		}
	}
	if gid >= 0 {
		group = strconv.Itoa(gid)
		if g, err := user.LookupGroupId(group); err == nil {
			group = g.Name
		}
	}
	return osError("chown", name, a.c.Chown(a.ctx, name, owner, group))
}

func (a *aferoFS) Chtimes(name string, atime, mtime time.Time) error {
	return osError("chtimes", name, a.c.Chtimes(a.ctx, name, atime, mtime))
}
