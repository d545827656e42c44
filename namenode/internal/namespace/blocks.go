package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// sameBlock reports whether a is the block b by id and stamp; nil is the block of an empty file.
func sameBlock(a *dfs.Block, b dfs.Block) bool {
	if a == nil {
		return b.ID == 0
	}
	return a.ID == b.ID && a.GenStamp == b.GenStamp
}

// pooled gives a block as HDFS's messages name those that came from a client.
func (s *session) pooled(b *dfs.Block) string {
	if b == nil {
		return "null"
	}
	return s.params.Pool + ":" + b.String()
}

func blockText(b dfs.Block) string {
	if b.ID == 0 {
		return "null"
	}
	return b.String()
}

// penultimate gives the block before the last, zero when there is none.
func (f *file) penultimate() dfs.Block {
	if n := len(f.settled); n > 0 {
		return f.settled[n-1]
	}
	return dfs.Block{}
}

// checkAddBlock looks a request for a block over, as far as the namespace knows. again: the caller asks for the last
// block a second time.
func (s *session) checkAddBlock(a *AddBlock, buf []*inode) (r resolved, f *file, again bool, err error) {
	if r, err = s.openFile(a.Path, a.FileID, buf); err != nil {
		return r, nil, false, err
	}
	if f, err = s.checkLease(&r, a.FileID, a.Holder); err != nil {
		return r, nil, false, err
	}
	switch {
	case sameBlock(a.Previous, f.last):
	case a.Previous == nil && f.hasBlocks() && f.last.Len >= f.blockSize && f.lastState == dfs.BlockComplete:
		// The first block after an append to a file whose last block is full.
	case sameBlock(a.Previous, f.penultimate()):
		if f.last.Len != 0 || f.lastState == dfs.BlockComplete {
			return r, nil, false, ioError("Request looked like a retry to allocate block %s but it already contains %d bytes", f.last, f.last.Len)
		}
		return r, f, true, nil
	default:
		return r, nil, false, ioError("Cannot allocate block in %s: passed 'previous' block %s does not match actual last block in file %s", r.path, s.pooled(a.Previous), blockText(f.last))
	}
	if int64(f.count()) >= s.params.MaxBlocksPerFile {
		return r, nil, false, ioError("File has reached the limit on maximum number of blocks (dfs.namenode.fs-limits.max-blocks-per-file): %d >= %d", f.count(), s.params.MaxBlocksPerFile)
	}
	return r, f, false, nil
}

// AddBlockCheck makes every check of an AddBlock op that does not depend on datanodes, and gives what choosing targets
// needs. Nothing is changed: the active chooses, then journals the op.
func (n *Namespace) AddBlockCheck(op *Op) (*AddBlockPlan, error) {
	a, ok := op.Args.(*AddBlock)
	if !ok {
		return nil, ioError("AddBlockCheck of a %s op", op.Kind())
	}
	s := n.begin(&op.Caller)
	defer n.lock.unshare()
	var buf [16]*inode
	r, f, again, err := s.checkAddBlock(a, buf[:0])
	if err != nil {
		return nil, err
	}
	in, policy := r.last(), policyOf(r.nodes)
	plan := &AddBlockPlan{
		File: in.id, Path: r.path, Offset: f.length(), BlockSize: f.blockSize, Replication: f.replication,
		StoragePolicy: policy, WriterHost: f.writer.host,
	}
	if k := f.count(); k > 1 {
		b := f.place(in.id, k-2, f.settledLen-f.penultimate().Len, policy)
		plan.Penultimate = &b
	}
	if again {
		b := f.place(in.id, f.count()-1, f.settledLen, policy)
		plan.Again = &b
		return plan, nil
	}
	if _, err := f.committed(a.Previous); err != nil {
		return nil, err
	}
	if a.Previous != nil && f.lastState != dfs.BlockComplete {
		plan.Offset = f.settledLen + a.Previous.Len
	}
	return plan, nil
}

// committed gives the file with its last block committed as b says; the same file when there is nothing to commit.
func (f *file) committed(b *dfs.Block) (*file, error) {
	if b == nil || !f.hasBlocks() || f.lastState == dfs.BlockComplete {
		return f, nil
	}
	switch {
	case f.lastState == dfs.BlockUnderRecovery:
		return nil, ioError("Commit or complete block %s, whereas it is under recovery.", b)
	case f.lastState == dfs.BlockCommitted:
		return f, nil
	case f.last.Len > b.Len:
		return nil, ioError("commitBlock length is less than the stored one %d vs. %d", b.Len, f.last.Len)
	case f.last.GenStamp != b.GenStamp:
		return nil, ioError("Commit block with mismatching GS. NN has %s, client submits %s", f.last, b)
	}
	c := *f
	c.last.Len, c.lastState = b.Len, dfs.BlockCommitted
	return &c, nil
}

func (a *AddBlock) plan(p *planner) error {
	r, f, again, err := p.checkAddBlock(a, p.buf[:0])
	if err != nil {
		return err
	}
	in, policy := r.last(), policyOf(r.nodes)
	if again {
		b := f.place(in.id, f.count()-1, f.settledLen, policy)
		p.res.Block = &b
		return nil
	}
	next, err := f.committed(a.Previous)
	if err != nil {
		return err
	}
	if p.begin(3) { // allocate the id, set the stamp, add the block
		return nil
	}
	next = next.pushed(dfs.Block{ID: p.nextBlock(), GenStamp: p.nextStamp()}, dfs.BlockUnderConstruction)
	p.content(in, next)
	b := next.place(in.id, next.count()-1, next.settledLen, policy)
	p.res.Block = &b
	return nil
}

func (a *AbandonBlock) plan(p *planner) error {
	r, err := p.openFile(a.Path, a.FileID, p.buf[:0])
	if err != nil {
		return err
	}
	f, err := p.checkLease(&r, a.FileID, a.Holder)
	if err != nil || f.last.ID != a.Block.ID || !f.hasBlocks() {
		return err
	}
	if !p.begin(1) {
		p.content(r.last(), f.popped())
	}
	return nil
}

func (a *Complete) plan(p *planner) error {
	r, err := p.openFile(a.Path, a.FileID, p.buf[:0])
	if err != nil {
		return err
	}
	f, err := p.checkLease(&r, a.FileID, a.Holder)
	if err != nil {
		// A repetition whose first answer was lost finds the file closed as it wanted it.
		if in := r.last(); in != nil && !in.isDir() && !in.file().open() && sameBlock(a.Last, in.file().last) {
			p.res.Bool = true
			return nil
		}
		return err
	}
	next, err := f.committed(a.Last)
	if err != nil {
		return err
	}
	if next.hasBlocks() && (next.lastState == dfs.BlockUnderConstruction || next.lastState == dfs.BlockUnderRecovery) {
		return nil // nobody has said yet how long the last block is
	}
	if a.CommitOnly {
		if next != f && !p.begin(0) {
			p.content(r.last(), next)
		}
		return nil
	}
	p.res.Bool = true
	if !p.begin(1) {
		p.closing(r.last(), next)
	}
	return nil
}

func (a *Fsync) plan(p *planner) error {
	r, err := p.openFile(a.Path, a.FileID, p.buf[:0])
	if err != nil {
		return err
	}
	f, err := p.checkLease(&r, a.FileID, a.Holder)
	if err != nil || p.begin(1) {
		return err
	}
	next := *f
	if a.LastLen > 0 && next.hasBlocks() && next.lastState != dfs.BlockComplete {
		next.last.Len = a.LastLen
	}
	p.content(r.last(), &next)
	return nil
}
