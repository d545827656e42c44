package namespace

import (
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func (a *Delete) plan(p *planner) error {
	if isReserved(a.Path) {
		return dfs.Errorf(dfs.ClassInvalidPath, "Invalid path name %s", a.Path)
	}
	r, err := p.toWrite(a.Path, p.buf[:0])
	if err != nil {
		return err
	}
	if err := p.check(&r, need{parent: dfs.AccessWrite, sub: dfs.AccessRead | dfs.AccessWrite | dfs.AccessExecute, skipEmpty: true}); err != nil {
		return err
	}
	in := r.last()
	if in == nil {
		return nil
	}
	if in.isDir() && !a.Recursive && p.hasKids(in) {
		return dfs.Errorf(dfs.ClassPathIsNotEmpty, "`%s is non empty': Directory is not empty", r.path)
	}
	if r.depth == 0 {
		return nil // nobody deletes the root
	}
	if err := p.checkNoSnapshots(in); err != nil {
		return err
	}
	p.res.Bool = true
	if p.begin(1) {
		return nil
	}
	dir := r.parent()
	if !in.isDir() {
		p.step.kind, p.step.dir, p.step.node = stepUnlink, dir, in
		p.ending(in)
		return nil
	}
	now := p.now
	p.wide(func() { p.n.removeTree(dir, in, now) })
	return nil
}

// removeTree takes a directory, or a file, out of its parent for good.
func (n *Namespace) removeTree(dir, in *inode, now int64) {
	versions := n.versions(in)
	d := n.thaw(dir).dir
	d.remove(in.name)
	d.mtime = now
	n.forget(in, versions)
}

// forget takes an inode and all below it out of the indexes. versions are the snapshots' versions of it.
func (n *Namespace) forget(in *inode, versions []version) {
	n.inodes.remove(in.id)
	n.counts.INodes--
	if !in.isDir() {
		n.counts.Files--
		f := in.file()
		if f.open() {
			n.endLease(f.writer.holder, in.id)
			n.settle(f.abandoned(), versions)
		}
		for i := range f.count() {
			n.release(in.id, f, i, versions)
		}
		return
	}
	n.counts.Directories--
	delete(n.snapDirs, in.id)
	in.dir.each(func(c *inode) bool {
		n.forget(c, n.versionsBelow(versions, c))
		return true
	})
}

// forgetFile is forget for a file in the place that it has in the tree.
func (n *Namespace) forgetFile(in *inode) { n.forget(in, n.versions(in)) }

// lose is release for a file that lives on. Versions that follow it lose the block too.
func (n *Namespace) lose(in *inode, f *file, i int) {
	n.release(in.id, f, i, slices.DeleteFunc(n.versions(in), version.follows))
}

// release takes block i from a file of the present state. Snapshots that hold it keep it.
func (n *Namespace) release(id dfs.INodeID, f *file, i int, versions []version) {
	b := f.info(id, i)
	n.blocks.remove(b.ID)
	n.counts.Blocks--
	var holders []int
	for _, v := range versions {
		if v.follows() || !v.node.isDir() && v.node.file().has(i, b.ID) {
			holders = append(holders, v.snap)
		}
	}
	// A block that was opened and got no byte is worth nothing to a snapshot.
	if len(holders) == 0 || b.State != dfs.BlockComplete && b.Len == 0 {
		n.observer.RemoveBlock(b.ID)
		return
	}
	b.RecoveryID, b.Truncate, b.TruncateTo, b.CopyOf = 0, false, 0, dfs.Block{}
	n.kept.Set(b.ID, keptBlock{BlockInfo: b, holders: holders})
	for _, s := range holders {
		n.keptBy[s] = append(n.keptBy[s], b.ID)
	}
	n.observer.PutBlock(b)
}

// has reports whether block i of the file is the one with this id.
func (f *file) has(i int, id dfs.BlockID) bool { return i < f.count() && f.block(i).ID == id }
