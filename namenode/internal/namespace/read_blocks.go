package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// Blocks answers getBlockLocations: the blocks that hold some byte of [offset, offset+length).
func (n *Namespace) Blocks(c dfs.Caller, path string, offset, length int64) (*FileBlocks, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	if offset < 0 {
		return nil, dfs.Errorf(dfs.ClassIllegalArgument, "Negative offset is not supported. File: %s", path)
	}
	if length < 0 {
		return nil, dfs.Errorf(dfs.ClassIllegalArgument, "Negative length is not supported. File: %s", path)
	}
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return nil, err
	}
	f, err := needFile(&r)
	if err != nil {
		return nil, err
	}
	if err := s.check(&r, need{target: dfs.AccessRead}); err != nil {
		return nil, err
	}
	if s.super && findXAttr(r.last().xattrs(), dfs.XAttrSecurity, unreadable) >= 0 {
		return nil, dfs.Errorf(dfs.ClassAccessControl, "Access is denied for %s since the superuser is not allowed to perform this operation.", c.User)
	}
	if r.inSnapshot() {
		f = s.frozenFile(r.last())
	}
	return s.fileBlocks(r.last().id, f, offset, length, policyOf(r.nodes), r.inSnapshot()), nil
}

// fileBlocks gives the blocks in a range of a file. In a snapshot the file is what it was: closed, with the length it
// had.
func (s *session) fileBlocks(id dfs.INodeID, f *file, offset, length int64, policy uint8, frozen bool) *FileBlocks {
	b := &FileBlocks{File: id, Length: f.closedLength(), UnderConstruction: f.open(), ATime: f.atime, Snapshot: frozen, StoragePolicy: policy}
	if frozen {
		b.Length, b.UnderConstruction = f.length(), false
	}
	count := f.count()
	if count == 0 {
		return b
	}
	end := offset + length
	if end < offset {
		end = 1<<63 - 1
	}
	if frozen {
		end = min(end, f.length())
	}
	// The first block is there even when the range is empty, and a last block without a byte is when it is reached.
	for i, at := f.seek(offset); i < count; i++ {
		b.Blocks = append(b.Blocks, s.placed(id, f, i, at, policy, frozen))
		if at += f.block(i).Len; at >= end {
			break
		}
	}
	last := s.placed(id, f, count-1, f.settledLen, policy, frozen)
	b.Last = &last
	b.LastComplete = frozen || f.lastState == dfs.BlockComplete
	return b
}

// placed gives block i with its place. A snapshot's block has the stamp and length that its replicas have by now.
func (s *session) placed(id dfs.INodeID, f *file, i int, offset int64, policy uint8, frozen bool) FileBlock {
	b := f.place(id, i, offset, policy)
	if frozen {
		b.State, b.RecoveryID, b.Truncate, b.TruncateTo, b.CopyOf = dfs.BlockComplete, 0, false, 0, dfs.Block{}
		if now, ok := s.block(b.ID); ok {
			b.GenStamp, b.Len = now.GenStamp, now.Len
		}
	}
	return b
}

// seek gives the first block with a byte beyond offset, and where it starts; count() when there is none.
func (f *file) seek(offset int64) (i int, at int64) {
	if f.block(0).Len == 0 {
		return 0, 0 // HDFS shows a first block without a byte to everybody
	}
	for i < f.count() && at+f.block(i).Len <= offset {
		at += f.block(i).Len
		i++
	}
	return i, at
}

// block finds a block that a file or a snapshot holds.
func (s *session) block(id dfs.BlockID) (BlockInfo, bool) {
	if s.locked {
		s.n.lock.readIndex()
		defer s.n.lock.unreadIndex()
	} else if in := s.n.inodes.get(s.n.blocks.get(id)); id > s.settledBlock || in != nil && s.inWave(in) {
		s.again = true
	}
	return s.n.block(id)
}

func (n *Namespace) block(id dfs.BlockID) (BlockInfo, bool) {
	if k, ok := n.kept.Get(id); ok {
		return k.BlockInfo, true
	}
	in := n.inodes.get(n.blocks.get(id))
	if in == nil {
		return BlockInfo{}, false
	}
	f := in.file()
	if i := f.find(id); i >= 0 {
		return f.info(in.id, i), true
	}
	return BlockInfo{}, false
}

// Block gives what is known about a block that a file or a snapshot holds.
func (n *Namespace) Block(id dfs.BlockID) (BlockInfo, bool) {
	n.lock.share()
	defer n.lock.unshare()
	n.lock.readIndex()
	defer n.lock.unreadIndex()
	return n.block(id)
}

// BlockFile gives the file of the present state that a block belongs to.
func (n *Namespace) BlockFile(id dfs.BlockID) (*FileInfo, bool) {
	n.lock.share()
	defer n.lock.unshare()
	s := session{n: n, locked: true}
	n.lock.readIndex()
	in := n.inodes.get(n.blocks.get(id))
	n.lock.unreadIndex()
	if in == nil {
		return nil, false
	}
	return s.info(in, s.pathOf(in)), true
}

// FileByID gives a file of the present state.
func (n *Namespace) FileByID(id dfs.INodeID) (*FileInfo, bool) {
	n.lock.share()
	defer n.lock.unshare()
	s := session{n: n, locked: true}
	in := s.byID(id)
	if in == nil || in.isDir() {
		return nil, false
	}
	return s.info(in, s.pathOf(in)), true
}

// FileByPath gives a file of the present state, whoever asks: for monitors and for calls that check permissions in the
// op that follows.
func (n *Namespace) FileByPath(path string) (*FileInfo, error) {
	n.lock.share()
	defer n.lock.unshare()
	s := session{n: n, params: n.params.Load(), caller: &dfs.Caller{}, super: true, locked: true}
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return nil, err
	}
	if _, err := needFile(&r); err != nil {
		return nil, err
	}
	return s.info(r.last(), r.path), nil
}

// info describes a file whole.
func (s *session) info(in *inode, path string) *FileInfo {
	var buf [16]*inode
	r := s.chain(in, buf[:0])
	f, policy := in.file(), policyOf(r.nodes)
	i := &FileInfo{Path: path, Blocks: make([]FileBlock, 0, f.count())}
	s.fillFile(&i.Status, in.id, f, policy)
	if f.open() {
		i.Holder, i.Machine = f.writer.holder, f.writer.host
	}
	at := int64(0)
	for k := range f.count() {
		i.Blocks = append(i.Blocks, f.place(in.id, k, at, policy))
		at += f.block(k).Len
	}
	return i
}
