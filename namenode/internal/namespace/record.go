package namespace

import (
	"fmt"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// The binary form of an inode without its children. The image numbers the names of owners and groups; the digest
// spells them out, so that it does not depend on the numbers.

const (
	recordDir = 1 << iota
	recordFeatures
	recordBlocks
	recordOpenPrev
	recordWriter
	recordShared // alone: an inode written before
)

// recorder appends records to b.
type recorder struct {
	b     []byte
	owner func(b []byte, number uint32) []byte
}

func (r *recorder) inode(in *inode) {
	var flags byte
	f := in.content.Load()
	switch {
	case f == nil:
		flags |= recordDir
	default:
		if f.hasBlocks() {
			flags |= recordBlocks
		}
		if f.openPrev {
			flags |= recordOpenPrev
		}
		if f.open() {
			flags |= recordWriter
		}
	}
	if in.feats() != nil {
		flags |= recordFeatures
	}
	r.b = appendString(appendInt(append(r.b, flags), in.id), in.name)
	a := in.attrs()
	r.b = r.owner(r.owner(r.b, a.owner), a.group)
	r.b = append(appendUint(r.b, a.perm), a.policy)
	if f == nil {
		r.b = appendInt(r.b, in.dir.mtime)
		r.b = appendUint(r.b, uint64(in.dir.len()))
	} else {
		r.file(f)
	}
	if flags&recordFeatures != 0 {
		r.features(in.feats())
	}
}

func (r *recorder) file(f *file) {
	b := appendInt(appendInt(appendInt(appendInt(r.b, f.mtime), f.atime), f.replication), f.blockSize)
	if f.hasBlocks() {
		b = appendUint(b, uint64(len(f.settled)))
		for _, k := range f.settled {
			b = appendBlock(b, k)
		}
		b = append(appendBlock(b, f.last), byte(f.lastState))
	}
	if w := f.writer; w != nil {
		b = appendInt(appendString(appendString(b, w.holder), w.host), w.recovery)
		b = appendBlock(appendInt(appendBool(b, w.truncate), w.truncateTo), w.copyOf)
	}
	r.b = b
}

func (r *recorder) features(f *features) {
	b := appendUint(r.b, uint64(len(f.xattrs)))
	for _, x := range f.xattrs {
		b = appendXAttr(b, x)
	}
	b = appendUint(b, uint64(len(f.held)))
	for _, h := range f.held {
		b = appendString(appendInt(appendInt(b, h.dir), h.snap), h.path)
	}
	b = appendBool(appendInt(b, f.atime), f.snaps != nil)
	if f.snaps != nil {
		b = appendUint(b, uint64(len(f.snaps.list)))
		for _, s := range f.snaps.list {
			b = appendInt(appendString(appendInt(b, s.id), s.name), s.mtime)
		}
	}
	r.b = b
}

// reader reads records. names maps the image's numbers of names to this process's.
type recordReader struct {
	*decoder
	names []uint32
}

// inode reads a record. kids is the number of children that follow a directory's.
func (r *recordReader) inode(epoch uint32) (in *inode, kids uint64) {
	flags := r.byte()
	in = &inode{id: getInt[dfs.INodeID](r.decoder), name: r.string(), epoch: epoch}
	if strings.Contains(in.name, "/") {
		r.fail(fmt.Errorf("a name with a slash in it: %q", in.name))
	}
	a := attrs{owner: r.name(), group: r.name(), perm: getUint[dfs.Perm](r.decoder) & dfs.PermMask, policy: r.byte()}
	var x *features
	if flags&recordDir != 0 {
		in.dir = &directory{attrs: a, mtime: r.int64()}
		kids = r.uvarint()
		if flags&recordFeatures != 0 {
			x = r.features()
		}
		in.dir.features = x
		return in, kids
	}
	f := &file{attrs: a, openPrev: flags&recordOpenPrev != 0}
	r.file(f, flags)
	if flags&recordFeatures != 0 {
		f.features = r.features()
	}
	in.content.Store(f)
	return in, 0
}

func (r *recordReader) name() uint32 {
	i := r.uvarint()
	if i >= uint64(len(r.names)) {
		r.fail(fmt.Errorf("owner or group %d of %d", i, len(r.names)))
		return 0
	}
	return r.names[i]
}

func (r *recordReader) file(f *file, flags byte) {
	f.mtime, f.atime, f.replication, f.blockSize = r.int64(), r.int64(), getInt[int16](r.decoder), r.int64()
	if flags&recordBlocks != 0 {
		if n := r.count(3); n > 0 {
			f.settled = make([]dfs.Block, n)
			for i := range f.settled {
				f.settled[i] = r.block()
				f.settledLen += f.settled[i].Len
			}
		}
		f.last, f.lastState = r.block(), dfs.BlockState(r.byte())
		if f.last.ID == 0 || f.lastState > dfs.BlockCommitted {
			r.fail(fmt.Errorf("block %d in state %d", f.last.ID, f.lastState))
		}
	}
	if flags&recordWriter != 0 {
		f.writer = &writer{holder: r.string(), host: r.string(), recovery: getInt[dfs.GenStamp](r.decoder)}
		f.writer.truncate, f.writer.truncateTo, f.writer.copyOf = r.bool(), r.int64(), r.block()
	} else if f.lastState != dfs.BlockComplete || f.openPrev {
		r.fail(fmt.Errorf("closed file whose block %d is %s", f.last.ID, f.lastState))
	}
}

func (r *recordReader) features() *features {
	f := new(features)
	for range r.count(3) {
		f.xattrs = append(f.xattrs, r.xattr())
	}
	for range r.count(3) {
		f.held = append(f.held, heldIn{dir: getInt[dfs.INodeID](r.decoder), snap: getInt[int](r.decoder), path: r.string()})
	}
	f.atime = r.int64()
	if r.bool() {
		f.snaps = &snapshottable{}
		for range r.count(3) {
			f.snaps.list = append(f.snaps.list, &snapshot{id: getInt[int](r.decoder), name: r.string(), mtime: r.int64()})
		}
	}
	return f
}

// appendResult and result carry an answer in the retry cache. Only successes are remembered.
func appendResult(b []byte, r *Result) []byte {
	b = appendString(appendBool(appendUint(b, r.TxID), r.Bool), r.Path)
	b = appendBool(b, r.Status != nil)
	if s := r.Status; s != nil {
		b = appendInt(appendString(appendInt(append(b, byte(s.Type)), s.ID), s.Name), s.Length)
		b = appendString(appendString(appendUint(b, s.Perm), s.Owner), s.Group)
		b = appendInt(appendInt(appendInt(appendInt(b, s.MTime), s.ATime), s.Replication), s.BlockSize)
		b = appendBool(appendBool(append(appendInt(b, s.Children), s.StoragePolicy), s.Snapshottable), s.UnderConstruction)
	}
	b = appendBool(b, r.Block != nil)
	if k := r.Block; k != nil {
		b = appendBlockInfo(b, k.BlockInfo)
		b = append(appendInt(appendInt(b, k.Offset), k.BlockSize), k.StoragePolicy)
	}
	return b
}

func (d *decoder) result() Result {
	r := Result{TxID: d.uvarint(), Bool: d.bool(), Path: d.string()}
	if d.bool() {
		s := &Status{Type: FileType(d.byte()), ID: getInt[dfs.INodeID](d), Name: d.string(), Length: d.int64()}
		s.Perm, s.Owner, s.Group = getUint[dfs.Perm](d), d.string(), d.string()
		s.MTime, s.ATime, s.Replication, s.BlockSize = d.int64(), d.int64(), getInt[int16](d), d.int64()
		s.Children, s.StoragePolicy, s.Snapshottable, s.UnderConstruction = getInt[int](d), d.byte(), d.bool(), d.bool()
		r.Status = s
	}
	if d.bool() {
		r.Block = &FileBlock{BlockInfo: d.blockInfo(), Offset: d.int64(), BlockSize: d.int64(), StoragePolicy: d.byte()}
	}
	return r
}

func appendBlockInfo(b []byte, k BlockInfo) []byte {
	b = append(appendInt(appendBlock(b, k.Block), k.File), byte(k.State))
	b = appendBool(appendInt(appendInt(b, k.Replication), k.RecoveryID), k.Truncate)
	return appendBlock(appendInt(b, k.TruncateTo), k.CopyOf)
}

func (d *decoder) blockInfo() BlockInfo {
	k := BlockInfo{Block: d.block(), File: getInt[dfs.INodeID](d), State: dfs.BlockState(d.byte())}
	k.Replication, k.RecoveryID, k.Truncate = getInt[int16](d), getInt[dfs.GenStamp](d), d.bool()
	k.TruncateTo, k.CopyOf = d.int64(), d.block()
	return k
}
