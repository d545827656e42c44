package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// checkWriting gives the file whose last block b holder is writing.
func (s *session) checkWriting(b dfs.Block, holder string) (*inode, *file, error) {
	k, ok := s.block(b.ID)
	if !ok {
		return nil, nil, ioError("%s does not exist.", s.pooled(&b))
	}
	if k.State != dfs.BlockUnderConstruction {
		return nil, nil, ioError("Unexpected BlockUCState: %s is %s but not %s", s.pooled(&b), k.State, dfs.BlockUnderConstruction)
	}
	in := s.byID(k.File)
	if in == nil || in.isDir() || !in.file().open() || in.file().last.ID != b.ID {
		return nil, nil, ioError("The file %s belonged to does not exist or it is not under construction.", k.Block)
	}
	f := in.file()
	if f.writer.holder != holder {
		return nil, nil, dfs.Errorf(dfs.ClassLeaseExpired, "Lease mismatch: %s is accessed by a non lease holder %s", s.pooled(&b), holder)
	}
	return in, f, nil
}

func (a *BumpGenStamp) plan(p *planner) error {
	in, f, err := p.checkWriting(a.Block, a.Holder)
	if err != nil || p.begin(1) {
		return err
	}
	b := f.place(in.id, f.count()-1, f.settledLen, 0)
	b.Block = dfs.Block{ID: a.Block.ID, GenStamp: p.nextStamp(), Len: a.Block.Len}
	p.res.Block = &b
	return nil
}

func (a *UpdatePipeline) plan(p *planner) error {
	in, f, err := p.checkWriting(a.Old, a.Holder)
	if err != nil {
		return err
	}
	switch {
	case a.New.ID == a.Old.ID && a.New.GenStamp > f.last.GenStamp && a.New.Len < f.last.Len:
		return ioError("Update %s (size=%d) to a smaller size block %s (size=%d)", p.pooled(&a.Old), f.last.Len, p.pooled(&a.New), a.New.Len)
	case a.New.ID != a.Old.ID || a.New.GenStamp <= f.last.GenStamp:
		return ioError("Update %s but the new block %s does not have a larger generation stamp than the last block %s", p.pooled(&a.Old), p.pooled(&a.New), f.last)
	}
	if p.begin(1) {
		return nil
	}
	next := *f
	next.last = a.New
	p.content(in, &next)
	return nil
}

func (a *Append) plan(p *planner) error {
	r, err := p.toWrite(a.Path, p.buf[:0])
	if err != nil {
		return err
	}
	in := r.last()
	if in != nil && in.isDir() {
		return dfs.Errorf(dfs.ClassFileAlreadyExists, "Cannot append to directory %s; already exists as a directory.", r.path)
	}
	if err := p.check(&r, need{target: dfs.AccessWrite}); err != nil {
		return err
	}
	if in == nil {
		return notFound("Failed to append to non-existent file %s for client %s", r.path, p.caller.Host)
	}
	policy := policyOf(r.nodes)
	if policy == policyLazyPersist {
		return dfs.Errorf(dfs.ClassUnsupported, "Cannot append to lazy persist file %s", r.path)
	}
	if err := p.checkNotOpen("APPEND_FILE", &r, a.Holder); err != nil || p.begin(1) {
		return err
	}
	f := in.file()
	next := *f
	next.writer = &writer{holder: a.Holder, host: p.caller.Host}
	if f.hasBlocks() && (a.NewBlock || f.last.Len != f.blockSize) {
		if !a.NewBlock {
			next.lastState = dfs.BlockUnderConstruction
		}
		b := next.place(in.id, next.count()-1, next.settledLen, policy)
		p.res.Block = &b
	}
	p.content(in, &next)
	p.res.Status = new(Status)
	p.fillFile(p.res.Status, in.id, &next, policy)
	return nil
}
