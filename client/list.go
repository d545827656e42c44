package client

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// ListOptions says where a listing begins and how much it tells.
type ListOptions struct {
	After     string // a name: the listing begins with the one behind it
	Locations bool   // fill in FileInfo.Blocks
}

// List gives the entries of a directory in byte order, page by page as they are asked for. A file lists itself. The error
// that ends a listing comes with a nil FileInfo.
func (c *Client) List(ctx context.Context, path string, o ListOptions) iter.Seq2[*FileInfo, error] {
	return func(yield func(*FileInfo, error) bool) {
		l := lister{c: c, path: path, abs: c.abs(path), after: []byte(o.After), locations: o.Locations}
		for !l.done {
			page, err := l.next(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, i := range page {
				if !yield(i, nil) {
					return
				}
			}
		}
	}
}

// lister asks for the pages of a listing.
type lister struct {
	c         *Client
	path, abs string
	after     []byte
	locations bool
	done      bool
}

// next gives a page, possibly an empty one when a directory was emptied meanwhile.
func (l *lister) next(ctx context.Context) ([]*FileInfo, error) {
	var resp hdfspb.GetListingResponseProto
	err := l.c.call(ctx, "readdir", l.path, "getListing", &hdfspb.GetListingRequestProto{
		Src:          &l.abs,
		StartAfter:   l.after,
		NeedLocation: &l.locations,
	}, &resp)
	if err == nil && resp.GetDirList() == nil {
		err = notFound("readdir", l.path)
	}
	if err != nil {
		return nil, err
	}
	list := resp.GetDirList().GetPartialListing()
	infos := make([]*FileInfo, len(list))
	for i, s := range list {
		infos[i] = newFileInfo(s, base(l.abs))
	}
	l.done = len(list) == 0 || resp.GetDirList().GetRemainingEntries() == 0
	if len(list) > 0 {
		l.after = list[len(list)-1].GetPath()
	}
	return infos, nil
}

// ReadDir gives all entries of a directory in byte order. Of a file it gives an error.
func (c *Client) ReadDir(ctx context.Context, path string) ([]*FileInfo, error) {
	l := lister{c: c, path: path, abs: c.abs(path), after: []byte{}}
	all := []*FileInfo{}
	for !l.done {
		page, err := l.next(ctx)
		if err != nil {
			return all, err
		}
		all = append(all, page...)
	}
	if len(all) == 1 && !all[0].IsDir() && all[0].Name() == base(l.abs) {
		// a file lists itself; so does, by the look of it, a directory that holds one file of its own name
		i, err := c.stat(ctx, "readdir", path)
		if err != nil {
			return nil, err
		}
		if !i.IsDir() {
			return nil, &fs.PathError{Op: "readdir", Path: path, Err: errNotDir}
		}
	}
	return all, nil
}

// Walk calls fn for root and everything under it, in byte order, as fs.WalkDir does. Large directories are walked page by
// page.
func (c *Client) Walk(ctx context.Context, root string, fn fs.WalkDirFunc) error {
	info, err := c.Stat(ctx, root)
	if err != nil {
		err = fn(root, nil, err)
	} else {
		err = c.walk(ctx, root, info, fn)
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (c *Client) walk(ctx context.Context, name string, info *FileInfo, fn fs.WalkDirFunc) error {
	if err := fn(name, info, nil); err != nil || !info.IsDir() {
		if errors.Is(err, fs.SkipDir) && info.IsDir() {
			err = nil
		}
		return err
	}
	for i, err := range c.List(ctx, name, ListOptions{}) {
		if err != nil {
			err = fn(name, info, err)
			if errors.Is(err, fs.SkipDir) {
				err = nil
			}
			return err
		}
		if err := c.walk(ctx, path.Join(name, i.Name()), i, fn); err != nil {
			if errors.Is(err, fs.SkipDir) {
				return nil
			}
			return err
		}
	}
	return nil
}

// Locations gives the blocks of a file and where their replicas are. The last one of a file that is being written has the
// length that the namenode knows.
func (c *Client) Locations(ctx context.Context, path string) ([]LocatedBlock, error) {
	var all []LocatedBlock
	for b, err := range c.located(ctx, "locations", path) {
		if err != nil {
			return nil, err
		}
		all = append(all, newLocatedBlock(b))
	}
	return all, nil
}

// located gives the blocks of a file, page by page.
func (c *Client) located(ctx context.Context, op, path string) iter.Seq2[*hdfspb.LocatedBlockProto, error] {
	return func(yield func(*hdfspb.LocatedBlockProto, error) bool) {
		p := c.abs(path)
		for off, more := uint64(0), true; more; {
			l, err := c.locate(ctx, op, path, p, int64(off), locatePage)
			if err != nil {
				yield(nil, err)
				return
			}
			more = false
			for _, b := range l.GetBlocks() {
				if b.GetOffset() < off {
					continue
				}
				if !yield(b, nil) {
					return
				}
				off = b.GetOffset() + b.GetB().GetNumBytes()
				more = b.GetB().GetBlockId() != l.GetLastBlock().GetB().GetBlockId()
			}
		}
	}
}

// locate asks for the locations of the blocks in a range of a file.
func (c *Client) locate(ctx context.Context, op, path, abs string, off, n int64) (*hdfspb.LocatedBlocksProto, error) {
	var resp hdfspb.GetBlockLocationsResponseProto
	err := c.call(ctx, op, path, "getBlockLocations", &hdfspb.GetBlockLocationsRequestProto{
		Src:    &abs,
		Offset: proto.Uint64(uint64(off)),
		Length: proto.Uint64(uint64(n)),
	}, &resp)
	if err == nil && resp.GetLocations() == nil {
		err = notFound(op, path)
	}
	return resp.GetLocations(), err
}
