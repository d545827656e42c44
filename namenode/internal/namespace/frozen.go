package namespace

import (
	"slices"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// HDFS notes what a file was for a snapshot only before the first change to it that is not writing. So a file that was
// open when a snapshot was taken is shown there as it is now, until it is closed; from then on, as it was closed.

// frozenFile gives the content of a file as the snapshot that in belongs to shows it.
func (s *session) frozenFile(in *inode) *file {
	f := in.file()
	if !f.open() {
		return f
	}
	now := s.byID(in.id)
	if now == nil {
		return f
	}
	c := *now.file()
	c.attrs, c.features, c.replication = f.attrs, f.features, f.replication
	return &c
}

// follows reports whether a version is one that still follows the present file.
func (v version) follows() bool { return !v.node.isDir() && v.node.file().open() }

// closing makes f, closed now, the content of a file.
func (p *planner) closing(in *inode, f *file) {
	p.content(in, f.closed(p.now))
	p.ending(in)
}

// ending makes the step exclusive when versions in snapshots follow the file whose writing it ends.
func (p *planner) ending(in *inode) {
	p.step.alone = !in.isDir() && in.file().open() && slices.ContainsFunc(p.n.versions(in), version.follows)
}

// settle gives the versions that followed a file the content that it has in the end. The caller excludes everybody
// else if there are any.
func (n *Namespace) settle(f *file, versions []version) {
	for _, v := range versions {
		if v.follows() {
			c, was := *f, v.node.file()
			c.attrs, c.features, c.replication = was.attrs, was.features, was.replication
			n.refreeze(v, &c)
		}
	}
}

// abandoned gives what snapshots have of an open file that is deleted: a last block without a byte is worth nothing.
func (f *file) abandoned() *file {
	if f.hasBlocks() && f.lastState != dfs.BlockComplete && f.last.Len == 0 {
		return f.popped()
	}
	return f
}

// refreeze gives a file in a snapshot another content: the directories above it in the snapshot are copied, for images
// may have them too.
func (n *Namespace) refreeze(v version, f *file) {
	d := n.thaw(n.inodes.get(v.dir)).dir
	list := slices.Clone(d.features.snaps.list)
	i := slices.IndexFunc(list, func(s *snapshot) bool { return s.id == v.snap })
	s := *list[i]
	s.root = s.root.replaced(v.path, f)
	list[i] = &s
	d.features = d.features.with(func(x *features) { x.snaps = &snapshottable{list} })
}

// replaced copies what is on the path to a file below in, with another content of the file.
func (in *inode) replaced(path string, f *file) *inode {
	c := in.clone(in.epoch)
	if path == "" {
		c.content.Store(f)
		return c
	}
	name, rest, _ := strings.Cut(path, "/")
	c.dir.set(in.dir.child(name).replaced(rest, f))
	return c
}
