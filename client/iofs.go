package client

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"syscall"
)

// FS is a directory of HDFS as an fs.FS, for reading. Names are slash-separated and begin with no slash, as package fs
// wants them.
type FS struct {
	c    *Client
	ctx  context.Context
	root string
}

var (
	_ fs.ReadDirFS  = (*FS)(nil)
	_ fs.ReadFileFS = (*FS)(nil)
	_ fs.StatFS     = (*FS)(nil)
	_ fs.SubFS      = (*FS)(nil)
)

// FS gives the whole file system as an fs.FS that lives within ctx; its Sub gives directories.
func (c *Client) FS(ctx context.Context) *FS { return &FS{c: c, ctx: ctx, root: "/"} }

// at gives the path behind a name.
func (f *FS) at(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return path.Join(f.root, name), nil
}

// renamed makes an error speak of the name that the caller gave.
func renamed(op, name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Open opens a file or directory.
func (f *FS) Open(name string) (fs.File, error) {
	p, err := f.at("open", name)
	if err != nil {
		return nil, err
	}
	info, err := f.c.Stat(f.ctx, p)
	if err != nil {
		return nil, renamed("open", name, err)
	}
	info.name = path.Base(name)
	if info.IsDir() {
		return &openDir{info: info, list: lister{c: f.c, path: p, abs: p, after: []byte{}}, ctx: f.ctx}, nil
	}
	r, err := f.c.Open(f.ctx, p)
	if err != nil {
		return nil, renamed("open", name, err)
	}
	return &openFile{Reader: r, info: info}, nil
}

// ReadDir gives the entries of a directory, in byte order.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	p, err := f.at("readdir", name)
	if err != nil {
		return nil, err
	}
	infos, err := f.c.ReadDir(f.ctx, p)
	return entries(infos), renamed("readdir", name, err)
}

// ReadFile gives the content of a file.
func (f *FS) ReadFile(name string) ([]byte, error) {
	p, err := f.at("readfile", name)
	if err != nil {
		return nil, err
	}
	b, err := f.c.ReadFile(f.ctx, p)
	return b, renamed("readfile", name, err)
}

// Stat describes a file or directory.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	p, err := f.at("stat", name)
	if err != nil {
		return nil, err
	}
	info, err := f.c.Stat(f.ctx, p)
	if err != nil {
		return nil, renamed("stat", name, err)
	}
	info.name = path.Base(name)
	return info, nil
}

// Sub gives a directory as an FS of its own. Whether it exists shows when it is used.
func (f *FS) Sub(dir string) (fs.FS, error) {
	p, err := f.at("sub", dir)
	if err != nil {
		return nil, err
	}
	return &FS{c: f.c, ctx: f.ctx, root: p}, nil
}

func entries(infos []*FileInfo) []fs.DirEntry {
	list := make([]fs.DirEntry, len(infos))
	for i, info := range infos {
		list[i] = info
	}
	return list
}

// openFile is a Reader that knows what it was when it was opened.
type openFile struct {
	*Reader
	info *FileInfo
}

// Stat gives the FileInfo of the time of Open.
func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// openDir is a directory that is being read.
type openDir struct {
	ctx  context.Context
	info *FileInfo
	list lister
	page []*FileInfo // listed and not read yet
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.list.path, Err: syscall.EISDIR}
}

func (d *openDir) Close() error {
	d.list.done, d.page = true, nil
	return nil
}

// ReadDir gives the next n entries, or all that are left for n <= 0.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	infos, err := d.next(n)
	return entries(infos), err
}

func (d *openDir) next(n int) ([]*FileInfo, error) {
	for !d.list.done && (n <= 0 || len(d.page) < n) {
		page, err := d.list.next(d.ctx)
		d.page = append(d.page, page...)
		if err != nil {
			infos := d.page
			d.page = nil
			return infos, err
		}
	}
	if n > 0 && len(d.page) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.page) {
		n = len(d.page)
	}
	infos := d.page[:n:n]
	d.page = d.page[n:]
	return infos, nil
}
