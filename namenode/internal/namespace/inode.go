package namespace

import (
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// inode is a file or a directory. Name, parent and directory contents change in place, under locks, while epoch is the
// present one; an older inode belongs to a snapshot or an image too and is copied first (see thaw). A file's content is
// never changed: it is replaced as a whole, so that whoever has loaded it may go on reading it without any lock.
type inode struct {
	id, parent dfs.INodeID
	name       string
	epoch      uint32
	wave       uint32 // the planner's: the wave in which it last changed
	dir        *directory
	content    atomic.Pointer[file] // nil for a directory
}

// attrs are what files and directories have in common.
type attrs struct {
	owner, group uint32 // see names
	perm         dfs.Perm
	policy       uint8 // storage policy; 0: inherited
}

// directory is the part of an inode that only directories have.
type directory struct {
	attrs
	mtime    int64
	kids     *btree.Map[string, *inode] // by nameKey; nil when empty from the start
	features *features
}

// features are what few inodes have. The struct and what it points to are never changed, only replaced.
type features struct {
	xattrs []XAttr        // the one set last comes first
	snaps  *snapshottable // of a snapshottable directory
	held   []heldIn       // snapshots that captured this inode under a path that a rename has left
	atime  int64          // of a directory, once somebody has set it
}

func newFile(id, parent dfs.INodeID, name string, epoch uint32, f *file) *inode {
	in := &inode{id: id, parent: parent, name: name, epoch: epoch}
	in.content.Store(f)
	return in
}

func newDir(id, parent dfs.INodeID, name string, epoch uint32, d *directory) *inode {
	return &inode{id: id, parent: parent, name: name, epoch: epoch, dir: d}
}

// clone copies in for the given epoch. The children's tree is shared until one of the two changes.
func (in *inode) clone(epoch uint32) *inode {
	c := &inode{id: in.id, parent: in.parent, name: in.name, epoch: epoch}
	if in.dir == nil {
		c.content.Store(in.content.Load())
		return c
	}
	d := *in.dir
	if d.kids != nil {
		d.kids = d.kids.Copy()
	}
	c.dir = &d
	return c
}

func (in *inode) isDir() bool { return in.dir != nil }

// file gives the content of a file; it must not be called on a directory.
func (in *inode) file() *file { return in.content.Load() }

func (in *inode) attrs() attrs {
	if in.dir != nil {
		return in.dir.attrs
	}
	return in.file().attrs
}

func (in *inode) feats() *features {
	if in.dir != nil {
		return in.dir.features
	}
	return in.file().features
}

func (in *inode) xattrs() []XAttr {
	if f := in.feats(); f != nil {
		return f.xattrs
	}
	return nil
}

func (in *inode) held() []heldIn {
	if f := in.feats(); f != nil {
		return f.held
	}
	return nil
}

// snaps gives the snapshots of a snapshottable directory, nil for anything else.
func (in *inode) snaps() *snapshottable {
	if in.dir != nil && in.dir.features != nil {
		return in.dir.features.snaps
	}
	return nil
}

// child looks a name up.
func (d *directory) child(name string) *inode {
	if d.kids == nil {
		return nil
	}
	in, _ := d.kids.Get(nameKey(name))
	return in
}

func (d *directory) len() int {
	if d.kids == nil {
		return 0
	}
	return d.kids.Len()
}

func (d *directory) set(in *inode) {
	if d.kids == nil {
		d.kids = new(btree.Map[string, *inode])
	}
	d.kids.Set(nameKey(in.name), in)
}

func (d *directory) remove(name string) { d.kids.Delete(nameKey(name)) }

// each calls f for every child in the order of names until f answers false.
func (d *directory) each(f func(*inode) bool) {
	if d.kids != nil {
		d.kids.Scan(func(_ string, in *inode) bool { return f(in) })
	}
}

// with gives features with a change made to a copy, or nil when nothing is left in it.
func (f *features) with(change func(*features)) *features {
	var c features
	if f != nil {
		c = *f
	}
	change(&c)
	if len(c.xattrs) == 0 && c.snaps == nil && len(c.held) == 0 && c.atime == 0 {
		return nil
	}
	return &c
}
