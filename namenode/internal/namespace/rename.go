package namespace

import (
	"slices"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// quiet reports whether the old rename answers false to an error of rename2: everything but permissions and snapshots.
func quiet(err error) bool {
	class := dfs.AsRemote(err).Class
	return class != dfs.ClassSnapshot && class != dfs.ClassAccessControl
}

func (a *Rename) plan(p *planner) error {
	if err := p.params.checkPathLength(a.Dst, "rename"); err != nil {
		return err
	}
	src, err := p.toWrite(a.Src, p.buf[:0])
	if err != nil {
		return err
	}
	dst, err := p.toCreate(a.Dst, p.buf2[:0])
	if err != nil {
		return err
	}
	if d := dst.last(); d != nil && d.isDir() && src.depth > 0 {
		dst.path = join(dst.path, src.name())
		dst.depth++
		if c := p.child(d, src.name()); c != nil {
			dst.nodes = append(dst.nodes, c)
		}
	}
	if err := p.checkRename(&src, &dst, false); err != nil {
		return err
	}
	if err := p.checkSource(&src); err != nil {
		if quiet(err) {
			return nil
		}
		return err
	}
	if src.path == dst.path {
		p.res.Bool = true
		p.begin(1) // HDFS logs it though nothing moves
		return nil
	}
	if underSource(&src, &dst) {
		return nil
	}
	if isReserved(dst.path) {
		return ontoReserved()
	}
	if dst.depth == 0 || dst.last() != nil || dst.parent() == nil {
		return nil
	}
	return p.move(&src, &dst)
}

func (a *Rename2) plan(p *planner) error {
	if err := p.params.checkPathLength(a.Dst, "rename"); err != nil {
		return err
	}
	src, err := p.toWrite(a.Src, p.buf[:0])
	if err != nil {
		return err
	}
	dst, err := p.toCreate(a.Dst, p.buf2[:0])
	if err != nil {
		return err
	}
	if err := p.checkRename(&src, &dst, a.ToTrash); err != nil {
		return err
	}
	if err := p.checkSource(&src); err != nil {
		return err
	}
	if src.path == dst.path {
		return dfs.Errorf(dfs.ClassFileAlreadyExists, "The source %s and destination %s are the same", src.path, dst.path)
	}
	if underSource(&src, &dst) {
		return ioError("Rename destination %s is a directory or file under source %s", dst.path, src.path)
	}
	if isReserved(dst.path) {
		return ontoReserved()
	}
	if dst.depth == 0 {
		return ioError("rename destination cannot be the root")
	}
	if err := p.checkOverwrite(&src, &dst, a.Overwrite); err != nil {
		return err
	}
	switch parent := dst.parent(); {
	case parent == nil:
		return notFound("rename destination parent %s not found.", dst.path)
	case !parent.isDir():
		return dfs.Errorf(dfs.ClassParentNotDirectory, "rename destination parent %s is a file.", dst.path)
	}
	return p.move(&src, &dst)
}

// checkRename asks for the permissions of both kinds of rename.
func (p *planner) checkRename(src, dst *resolved, toTrash bool) error {
	w := need{parent: dfs.AccessWrite}
	if toTrash {
		w.sub, w.skipEmpty = dfs.AccessRead|dfs.AccessWrite|dfs.AccessExecute, true
	}
	if err := p.check(src, w); err != nil {
		return err
	}
	return p.check(dst, need{ancestor: dfs.AccessWrite})
}

func (p *planner) checkSource(src *resolved) error {
	switch in := src.last(); {
	case in == nil:
		return notFound("rename source %s is not found.", src.path)
	case src.depth == 0:
		return ioError("rename source cannot be the root")
	default:
		return p.checkNoSnapshots(in)
	}
}

func underSource(src, dst *resolved) bool {
	return strings.HasPrefix(dst.path, src.path) && len(dst.path) > len(src.path) && dst.path[len(src.path)] == '/'
}

func ontoReserved() error {
	return dfs.Errorf(dfs.ClassInvalidPath, "Invalid path name Cannot rename to or from /%s", dotReserved)
}

// checkOverwrite looks at what is at the destination.
func (p *planner) checkOverwrite(src, dst *resolved, overwrite bool) error {
	d := dst.last()
	switch {
	case d == nil:
		return nil
	case d.isDir() != src.last().isDir():
		return ioError("Source %s and destination %s must both be directories", src.path, dst.path)
	case !overwrite:
		return dfs.Errorf(dfs.ClassFileAlreadyExists, "rename destination %s already exists", dst.path)
	case d.isDir() && p.hasKids(d):
		return ioError("rename destination directory is not empty: %s", dst.path)
	}
	return p.checkNoSnapshots(d)
}

// move makes the rename the step, once its limits are checked.
func (p *planner) move(src, dst *resolved) error {
	in, old, dir := src.last(), dst.last(), dst.parent()
	if err := p.checkNesting(src, dst); err != nil {
		return err
	}
	// A full directory takes an entry that only changes its name there, or that replaces another.
	limited := dir
	if src.parent() == dir || old != nil {
		limited = nil
	}
	if err := p.checkName(limited, dst.parentPath(), dst.name()); err != nil {
		return err
	}
	p.res.Bool = true
	if p.begin(1) {
		return nil
	}
	n, now, name, from := p.n, p.now, strings.Clone(dst.name()), src.parent()
	p.wide(func() { n.moveTo(in, from, dir, old, name, now) })
	return nil
}

// checkNesting refuses to bring a snapshottable directory below another one.
func (p *planner) checkNesting(src, dst *resolved) error {
	if !src.last().isDir() {
		return nil
	}
	owner := ""
	for i, in := range dst.nodes {
		if i < dst.depth && in.snaps() != nil {
			owner = dst.prefix(i)
		}
	}
	if owner == "" {
		return nil
	}
	if p.locked {
		p.n.lock.readIndex()
		defer p.n.lock.unreadIndex()
	}
	for id := range p.n.snapDirs {
		if d := p.n.inodes.get(id); p.n.below(d, src.last()) {
			return dfs.Errorf(dfs.ClassSnapshot, "Unable to rename because %s has snapshottable descendant directories and %s is a descent of a snapshottable directory, and HDFS does not support nested snapshottable directory.", src.path, dst.parentPath())
		}
	}
	return nil
}

// moveTo gives an inode a new parent and a new name; old is what it replaces there.
func (n *Namespace) moveTo(in, from, dir, old *inode, name string, now int64) {
	held := n.versions(in)
	if old != nil {
		n.removeTree(dir, old, now)
	}
	in = n.thaw(in)
	src := n.thaw(n.inodes.get(from.id)).dir
	src.remove(in.name)
	src.mtime = now
	to := n.thaw(n.inodes.get(dir.id))
	in.parent, in.name = to.id, name
	to.dir.set(in)
	to.dir.mtime = now
	n.hold(in, held)
}

// hold leaves word at a moved inode of the snapshots that captured it in its old place.
func (n *Namespace) hold(in *inode, versions []version) {
	var held []heldIn
	for _, v := range versions {
		if v.path != "" { // a snapshottable directory needs no word of its own snapshots
			held = append(held, heldIn{v.dir, v.snap, v.path})
		}
	}
	if len(held) == 0 && len(in.held()) == 0 {
		return
	}
	slices.SortFunc(held, func(a, b heldIn) int { return a.snap - b.snap })
	set := func(f *features) { f.held = held }
	if in.isDir() {
		in.dir.features = in.dir.features.with(set)
		return
	}
	f := *in.file()
	f.features = f.features.with(set)
	in.content.Store(&f)
}
