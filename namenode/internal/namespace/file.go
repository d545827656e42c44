package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// file is the content of a file inode. It is immutable once an inode points to it.
//
// Blocks but the last are settled: their stamp and length do not change any more (only truncate, which makes a new
// list, reaches back). A successor appends to its predecessor's list in place; whoever shortens the list cuts its
// capacity, so that two versions never write to the same slot.
type file struct {
	attrs
	replication int16
	lastState   dfs.BlockState
	openPrev    bool // the block before the last is committed, not yet complete
	mtime       int64
	atime       int64
	blockSize   int64
	settled     []dfs.Block
	settledLen  int64     // bytes in settled
	last        dfs.Block // ID 0: the file has no block
	writer      *writer   // nil: closed
	features    *features
}

// writer is the part of a file that only files under construction have.
type writer struct {
	holder     string
	host       string
	recovery   dfs.GenStamp // the stamp that the recovery under way will give the last block
	copyOf     dfs.Block    // recovery makes the last block from a prefix of this one, which a snapshot holds
	truncate   bool         // recovery cuts the last block to truncateTo bytes
	truncateTo int64
}

func (f *file) open() bool { return f.writer != nil }

func (f *file) hasBlocks() bool { return f.last.ID != 0 }

func (f *file) count() int {
	if f.last.ID == 0 {
		return 0
	}
	return len(f.settled) + 1
}

func (f *file) block(i int) dfs.Block {
	if i < len(f.settled) {
		return f.settled[i]
	}
	return f.last
}

func (f *file) state(i int) dfs.BlockState {
	switch {
	case i == len(f.settled):
		return f.lastState
	case i == len(f.settled)-1 && f.openPrev:
		return dfs.BlockCommitted
	}
	return dfs.BlockComplete
}

// length is the file's size with all that the namenode knows of its last block.
func (f *file) length() int64 { return f.settledLen + f.last.Len }

// closedLength leaves out a last block that is not complete.
func (f *file) closedLength() int64 {
	if f.lastState != dfs.BlockComplete {
		return f.settledLen
	}
	return f.length()
}

// info describes block i of a file with the given id.
func (f *file) info(id dfs.INodeID, i int) BlockInfo {
	b := BlockInfo{Block: f.block(i), File: id, State: f.state(i), Replication: f.replication}
	if i == len(f.settled) && f.writer != nil {
		w := f.writer
		b.RecoveryID, b.Truncate, b.TruncateTo, b.CopyOf = w.recovery, w.truncate, w.truncateTo, w.copyOf
	}
	return b
}

// place describes block i with its offset.
func (f *file) place(id dfs.INodeID, i int, offset int64, policy uint8) FileBlock {
	return FileBlock{BlockInfo: f.info(id, i), Offset: offset, BlockSize: f.blockSize, StoragePolicy: policy}
}

// find gives the index of a block, searching from the end; -1 when the file does not have it.
func (f *file) find(id dfs.BlockID) int {
	for i := f.count() - 1; i >= 0; i-- {
		if f.block(i).ID == id {
			return i
		}
	}
	return -1
}

// pushed settles the last block and puts b behind it.
func (f *file) pushed(b dfs.Block, s dfs.BlockState) *file {
	c := *f
	c.openPrev = f.hasBlocks() && f.lastState == dfs.BlockCommitted
	if f.hasBlocks() {
		c.settled = append(f.settled, f.last)
		c.settledLen += f.last.Len
	}
	c.last, c.lastState = b, s
	return &c
}

// popped takes the last block off, and with it any recovery of it.
func (f *file) popped() *file {
	c := *f
	c.openPrev = false
	if w := f.writer; w != nil && w.recovery != 0 {
		c.writer = &writer{holder: w.holder, host: w.host}
	}
	if n := len(f.settled); n > 0 {
		c.last, c.lastState = f.settled[n-1], f.state(n-1)
		c.settled = f.settled[: n-1 : n-1]
		c.settledLen -= c.last.Len
	} else {
		c.last, c.lastState = dfs.Block{}, dfs.BlockComplete
	}
	return &c
}

// cut keeps the first n blocks.
func (f *file) cut(n int) *file {
	c := *f
	if n >= f.count() {
		return &c
	}
	c.openPrev, c.lastState, c.last, c.settled = false, dfs.BlockComplete, dfs.Block{}, nil
	c.settledLen = 0
	if n > 0 {
		c.last = f.settled[n-1]
		c.settled = f.settled[: n-1 : n-1]
		for _, b := range c.settled {
			c.settledLen += b.Len
		}
	}
	return &c
}

// closed ends construction: all blocks complete, modified at mtime.
func (f *file) closed(mtime int64) *file {
	c := *f
	c.writer, c.openPrev, c.lastState, c.mtime = nil, false, dfs.BlockComplete, mtime
	if cap(c.settled) > len(c.settled) { // most files are never opened again
		c.settled = append(make([]dfs.Block, 0, len(c.settled)), c.settled...)
	}
	return &c
}
