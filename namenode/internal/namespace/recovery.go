package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// recoverable gives the open file that an internal op is about; nothing when it was closed or deleted meanwhile.
func (p *planner) recoverable(id dfs.INodeID) (*inode, *file) {
	in := p.byID(id)
	if in == nil || in.isDir() || !in.file().open() {
		return nil, nil
	}
	return in, in.file()
}

func (a *StartRecovery) plan(p *planner) error {
	in, f := p.recoverable(a.FileID)
	if in == nil || !f.hasBlocks() {
		return notFound("File is not open for writing: inode %d", a.FileID)
	}
	if f.lastState != dfs.BlockUnderConstruction && f.lastState != dfs.BlockUnderRecovery {
		return ioError("Block %s of inode %d needs no recovery: it is %s", f.last, a.FileID, f.lastState)
	}
	p.res.Bool = true
	if p.begin(2) { // set the stamp, reassign the lease
		return nil
	}
	w := *f.writer
	if a.NewHolder != "" {
		w.holder = a.NewHolder
	}
	w.recovery = p.nextStamp()
	next := *f
	next.writer, next.lastState = &w, dfs.BlockUnderRecovery
	p.content(in, &next)
	b := next.place(in.id, next.count()-1, next.settledLen, 0)
	p.res.Block = &b
	return nil
}

func (a *CloseFile) plan(p *planner) error {
	in, f := p.recoverable(a.FileID)
	if in == nil {
		return notFound("File is not open for writing: inode %d", a.FileID)
	}
	p.res.Bool = true
	if p.begin(1) {
		return nil
	}
	if a.Drop && f.hasBlocks() {
		f = f.popped()
	}
	p.closing(in, f)
	return nil
}

func (a *CommitBlockSync) plan(p *planner) error {
	k, ok := p.block(a.Block.ID)
	var in *inode
	if ok {
		in = p.byID(k.File)
	}
	switch {
	case !ok && a.DeleteBlock:
		return nil // a repetition: the block is gone already
	case !ok:
		return ioError("Block (=%s) not found", p.pooled(&a.Block))
	case in == nil || in.isDir():
		return notFound("File not found: inode %d, likely due to delayed block removal", k.File)
	}
	f := in.file()
	if !f.open() || f.lastState == dfs.BlockComplete {
		return nil // a repetition: the first one closed the file
	}
	// A block that is being copied for a truncation is reported by the block that it is copied from.
	copied := f.writer.copyOf.ID == a.Block.ID
	if !copied && f.last.ID != a.Block.ID {
		return nil
	}
	if f.lastState != dfs.BlockUnderRecovery || f.writer.recovery != a.NewGenStamp {
		return ioError("The recovery id %d does not match current recovery id %d for block %s", a.NewGenStamp, f.writer.recovery, p.pooled(&a.Block))
	}
	if p.begin(1) {
		return nil
	}
	next := *f
	w := *f.writer
	w.recovery, w.truncate, w.truncateTo, w.copyOf = 0, false, 0, dfs.Block{}
	next.writer = &w
	switch {
	case a.DeleteBlock:
		next = *next.popped()
	default:
		next.last.GenStamp, next.last.Len = a.NewGenStamp, a.NewLength
		next.lastState = dfs.BlockUnderConstruction
		if a.CloseFile {
			next.lastState = dfs.BlockCommitted
		}
	}
	if a.CloseFile {
		p.closing(in, &next)
	} else {
		p.content(in, &next)
	}
	return nil
}
