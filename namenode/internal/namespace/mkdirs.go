package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// ownerBits are what HDFS adds to directories that it makes on the way, so that their owner can go on below them.
const ownerBits dfs.Perm = 0o300

func (a *Mkdirs) plan(p *planner) error {
	if err := p.params.checkPathLength(a.Path, "mkdirs"); err != nil {
		return err
	}
	r, err := p.toCreate(a.Path, p.buf[:0])
	if err != nil {
		return err
	}
	p.res.Bool = true
	if last := r.last(); last != nil {
		if !last.isDir() {
			return dfs.Errorf(dfs.ClassFileAlreadyExists, "Path is not a directory: %s", a.Path)
		}
		return nil
	}
	if err := p.check(&r, need{ancestor: dfs.AccessWrite}); err != nil {
		return err
	}
	if !a.CreateParent {
		if err := p.checkParent(&r); err != nil {
			return err
		}
	}
	if err := p.checkNew(&r); err != nil {
		return err
	}
	if p.begin(r.depth + 1 - len(r.nodes)) {
		return nil
	}
	own := attrs{
		owner: p.n.names.number(p.owner()),
		group: r.nodes[len(r.nodes)-1].attrs().group,
		perm:  a.Perm & dfs.PermMask,
	}
	above := own
	above.perm |= ownerBits
	p.link(&r, above, func(parent dfs.INodeID, name string) *inode {
		return newDir(p.nextINode(), parent, name, p.n.epoch, &directory{attrs: own, mtime: p.now})
	})
	return nil
}
