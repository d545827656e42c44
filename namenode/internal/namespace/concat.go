package namespace

import (
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func (a *Concat) plan(p *planner) error {
	switch {
	case a.Target == "":
		return dfs.Errorf(dfs.ClassIllegalArgument, "Target file name is empty")
	case len(a.Sources) == 0:
		return dfs.Errorf(dfs.ClassIllegalArgument, "No sources given")
	}
	r, err := p.toWrite(a.Target, p.buf[:0])
	if err != nil {
		return err
	}
	if err := p.check(&r, need{target: dfs.AccessWrite}); err != nil {
		return err
	}
	f, err := needFile(&r)
	if err != nil {
		return err
	}
	if f.open() {
		return illegal("concat: target file %s is under construction", a.Target)
	}
	var sources []*inode
	for _, path := range a.Sources {
		in, err := a.source(p, path, &r, f)
		if err != nil {
			return err
		}
		sources = append(sources, in)
	}
	for i, in := range sources {
		if slices.Contains(sources[:i], in) {
			return illegal("concat: at least two of the source files are the same")
		}
	}
	if p.begin(1) {
		return nil
	}
	n, target, dir, now := p.n, r.last(), r.parent(), p.now
	p.wide(func() { n.concat(target, dir, sources, now) })
	return nil
}

// source gives a file whose blocks may be moved into the target.
func (a *Concat) source(p *planner, path string, target *resolved, f *file) (*inode, error) {
	r, err := p.toWrite(path, p.buf2[:0])
	if err != nil {
		return nil, err
	}
	if err := p.check(&r, need{target: dfs.AccessRead}); err != nil {
		return nil, err
	}
	if err := p.check(&r, need{parent: dfs.AccessWrite}); err != nil {
		return nil, err
	}
	s, err := needFile(&r)
	if err != nil {
		return nil, err
	}
	in := r.last()
	switch {
	case r.parent() != target.parent():
		return nil, illegal("Source file %s is not in the same directory with the target %s", path, target.path)
	case p.captured(in):
		return nil, dfs.Errorf(dfs.ClassSnapshot, "Concat: the source file %s is in snapshot", path)
	case in == target.last():
		return nil, illegal("concat: the src file %s is the same with the target file %s", path, target.path)
	case s.open() || !s.hasBlocks():
		return nil, illegal("concat: source file %s is invalid or empty or underConstruction", path)
	case s.blockSize > f.blockSize:
		return nil, illegal("concat: source file %s has preferred block size %d which is greater than the target file's preferred block size %d", path, s.blockSize, f.blockSize)
	}
	return in, nil
}

// captured reports whether a snapshot has some version of the inode.
func (p *planner) captured(in *inode) bool {
	if p.locked {
		p.n.lock.readIndex()
		defer p.n.lock.unreadIndex()
	}
	return len(p.n.versions(in)) > 0
}

// concat moves the blocks of the sources, which vanish, to the end of target.
func (n *Namespace) concat(target, dir *inode, sources []*inode, now int64) {
	d := n.thaw(dir).dir
	target = n.thaw(target)
	f := target.file()
	next := *f
	next.mtime = now
	blocks := make([]dfs.Block, 0, f.count()+len(sources))
	for i := range f.count() {
		blocks = append(blocks, f.block(i))
	}
	moved := len(blocks)
	for _, in := range sources {
		s := in.file()
		for i := range s.count() {
			blocks = append(blocks, s.block(i))
		}
		d.remove(in.name)
		n.inodes.remove(in.id)
		n.counts.INodes--
		n.counts.Files--
	}
	last := len(blocks) - 1
	next.settled, next.last, next.lastState, next.settledLen = blocks[:last:last], blocks[last], dfs.BlockComplete, 0
	for _, b := range next.settled {
		next.settledLen += b.Len
	}
	target.content.Store(&next)
	d.mtime = now
	for i := moved; i < len(blocks); i++ {
		b := next.info(target.id, i)
		n.blocks.set(b.ID, target.id)
		n.observer.PutBlock(b)
	}
}
