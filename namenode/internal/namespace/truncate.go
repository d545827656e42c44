package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

func (a *Truncate) plan(p *planner) error {
	if a.Length < 0 {
		return illegal("Cannot truncate to a negative file size: %d.", a.Length)
	}
	r, err := p.toWrite(a.Path, p.buf[:0])
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
	in := r.last()
	if policyOf(r.nodes) == policyLazyPersist {
		return dfs.Errorf(dfs.ClassUnsupported, "Cannot truncate lazy persist file %s", r.path)
	}
	if f.open() && f.writer.truncate {
		if f.settledLen+f.writer.truncateTo == a.Length {
			b := f.place(in.id, f.count()-1, f.settledLen, 0)
			p.res.Block = &b
			return nil
		}
		return dfs.Errorf(dfs.ClassAlreadyBeingCreated, "Failed to TRUNCATE_FILE %s for %s on %s because %s is being truncated.", r.path, a.Holder, p.caller.Host, r.path)
	}
	if err := p.checkNotOpen("TRUNCATE_FILE", &r, a.Holder); err != nil {
		return err
	}
	switch length := f.length(); {
	case a.Length == length:
		p.res.Bool = true
		return nil
	case a.Length > length:
		return illegal("Cannot truncate to a larger file size. Current size: %d, truncate size: %d.", length, a.Length)
	}
	// Blocks from the first one that starts at or behind the new end on are dropped.
	keep, at := 0, int64(0)
	for keep < f.count() && at < a.Length {
		at += f.block(keep).Len
		keep++
	}
	if at == a.Length {
		p.res.Bool = true
		if !p.begin(1) {
			next := f.cut(keep)
			next.mtime = p.now
			p.content(in, next)
		}
		return nil
	}
	copied := p.heldBySnapshot(in, f, keep-1)
	records := 2 // the stamp, the truncation
	if copied {
		records++ // the id of the copy
	}
	if p.begin(records) {
		return nil
	}
	next := f.cut(keep)
	next.mtime = p.now
	w := &writer{holder: a.Holder, host: p.caller.Host, truncate: true}
	w.truncateTo = a.Length - next.settledLen
	next.lastState = dfs.BlockUnderRecovery
	if copied {
		w.copyOf = next.last
		next.last = dfs.Block{ID: p.nextBlock(), GenStamp: p.nextStamp(), Len: w.truncateTo}
		w.recovery = next.last.GenStamp
	} else {
		w.recovery = p.nextStamp()
	}
	next.writer = w
	p.content(in, next)
	b := next.place(in.id, next.count()-1, next.settledLen, 0)
	p.res.Block = &b
	return nil
}

// heldBySnapshot reports whether a snapshot holds block i of a file.
func (p *planner) heldBySnapshot(in *inode, f *file, i int) bool {
	if p.locked {
		p.n.lock.readIndex()
		defer p.n.lock.unreadIndex()
	}
	for _, v := range p.n.versions(in) {
		if !v.node.isDir() && v.node.file().has(i, f.block(i).ID) {
			return true
		}
	}
	return false
}
