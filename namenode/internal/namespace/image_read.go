package namespace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/tidwall/btree"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// ImageError says where an image cannot be read.
type ImageError struct {
	Offset  int64 // of the frame
	Section string
	Err     error
}

func (e *ImageError) Error() string {
	return fmt.Sprintf("bad image: %s, frame at offset %d: %v", e.Section, e.Offset, e.Err)
}

func (e *ImageError) Unwrap() error { return e.Err }

// Restore replaces the whole state by that of an image; the observer hears of all blocks anew. After an error the state
// is as before.
func (n *Namespace) Restore(r io.Reader) error {
	ir := &imageReader{r: r, names: n.names}
	if err := ir.read(); err != nil {
		return err
	}
	n.applying.Lock()
	defer n.applying.Unlock()
	n.lock.exclude()
	defer n.lock.include()
	s := &ir.state
	n.params.Store(&ir.params)
	n.root, n.epoch = s.root, ir.epoch
	n.setCounters(s.counters)
	n.counts = s.counts
	n.inodes, n.blocks, n.leases = s.inodes, s.blocks, s.leases
	n.kept, n.keptBy, n.snapDirs, n.retry = s.kept, s.keptBy, s.snapDirs, s.retry
	n.observer.Reset(n.allBlocks())
	return nil
}

// allBlocks gives every block that a file or a snapshot holds.
func (n *Namespace) allBlocks() iter.Seq[BlockInfo] {
	return func(yield func(BlockInfo) bool) {
		for _, in := range n.inodes.all() {
			if in.isDir() {
				continue
			}
			f := in.file()
			for i := range f.count() {
				if !yield(f.info(in.id, i)) {
					return
				}
			}
		}
		n.kept.Scan(func(_ dfs.BlockID, k keptBlock) bool { return yield(k.BlockInfo) })
	}
}

// imageReader builds a state beside the present one.
type imageReader struct {
	r        io.Reader
	names    *names
	offset   int64 // behind the frame
	at       int64 // of the frame
	cur      section
	rec      recordReader
	state    Namespace // only what Restore takes over
	params   Params
	epoch    uint32
	shared   []sharedInode // by ordinal, where snapshots may share them
	sharable int           // how many of them are complete: those of the trees before
	snaps    []*snapshot   // in the order in which they were met
	count    uint64
}

func (r *imageReader) read() error {
	head := make([]byte, len(imageMagic)+1)
	if _, err := io.ReadFull(r.r, head); err != nil {
		return &ImageError{0, "head", short(err)}
	}
	if string(head[:len(imageMagic)]) != imageMagic {
		return &ImageError{0, "head", errors.New("this is no image of a namespace")}
	}
	if v := head[len(imageMagic)]; v != imageVersion {
		return &ImageError{0, "head", fmt.Errorf("version %d, this program knows version %d", v, imageVersion)}
	}
	r.offset = int64(len(head))
	steps := []struct {
		s    section
		read func() error
	}{
		{sectionState, r.readState}, {sectionTree, r.readTree}, {sectionSnapshot, r.readSnapshots},
		{sectionKept, r.readKept}, {sectionRetry, r.readRetry}, {sectionEnd, r.readEnd},
	}
	r.rec.decoder = &decoder{}
	if err := r.frame(); err != nil {
		return err
	}
	for _, s := range steps {
		if r.cur != s.s {
			return r.bad(fmt.Errorf("expected section %s", s.s))
		}
		if err := s.read(); err != nil {
			return err
		}
		if r.rec.err != nil {
			return r.bad(r.rec.err)
		}
		if r.cur != s.s {
			continue // it has seen the end of its section
		}
		if len(r.rec.b) > 0 {
			return r.bad(errors.New("bytes are left behind the last record"))
		}
		if s.s == sectionEnd {
			break
		}
		if err := r.frame(); err != nil {
			return err
		}
	}
	if n, err := io.ReadFull(r.r, head[:1]); n > 0 || err != io.EOF {
		return &ImageError{r.offset, sectionEnd.String(), errors.New("bytes are left behind the end")}
	}
	return nil
}

func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the image ends too early")
	}
	return err
}

func (r *imageReader) bad(err error) error { return &ImageError{r.at, r.cur.String(), err} }

// frame reads the next frame. Its payload grows as it arrives, whatever its length says.
func (r *imageReader) frame() error {
	r.at = r.offset
	var head [frameHead]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return &ImageError{r.at, "behind " + r.cur.String(), short(err)}
	}
	r.cur = section(head[0])
	size := binary.BigEndian.Uint32(head[4:])
	if size > maxFrame {
		return r.bad(fmt.Errorf("a frame of %d bytes", size))
	}
	payload, err := io.ReadAll(io.LimitReader(r.r, int64(size)))
	if err == nil && len(payload) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return r.bad(short(err))
	}
	if frameCRC(head[:], payload) != binary.BigEndian.Uint32(head[8:]) {
		return r.bad(errors.New("wrong checksum"))
	}
	r.rec.b = payload
	r.offset += frameHead + int64(size)
	return nil
}

// more readies the next record of a section, and answers false behind the last one.
func (r *imageReader) more(s section) (bool, error) {
	for r.cur == s && len(r.rec.b) == 0 && r.rec.err == nil {
		if err := r.frame(); err != nil {
			return false, err
		}
	}
	if r.rec.err != nil {
		return false, r.bad(r.rec.err)
	}
	return r.cur == s, nil
}

func (r *imageReader) readState() error {
	r.state = Namespace{
		inodes:   newTable[dfs.INodeID, *inode](),
		blocks:   newTable[dfs.BlockID, dfs.INodeID](),
		leases:   map[string]map[dfs.INodeID]struct{}{},
		kept:     new(btree.Map[dfs.BlockID, keptBlock]),
		keptBy:   map[int][]dfs.BlockID{},
		snapDirs: map[dfs.INodeID]struct{}{},
		observer: deaf{},
	}
	r.state.counters = r.rec.counters()
	var p SetParams
	p.decodeFrom(r.rec.decoder)
	r.params = p.Params
	for _, name := range r.rec.strings() {
		r.rec.names = append(r.rec.names, r.names.number(name))
	}
	// What snapshots share must be copied before it is changed; without any, everything may be changed in place.
	r.epoch = 1
	if r.state.counters.snapshots > 0 {
		r.epoch = 2
	}
	return nil
}

func (r *imageReader) readTree() (err error) {
	s := &r.state
	s.root, err = r.tree(func(in *inode) error {
		if s.inodes.get(in.id) != nil {
			return fmt.Errorf("inode %d is there twice", in.id)
		}
		if in.snaps() != nil {
			s.snapDirs[in.id] = struct{}{}
			s.counts.Snapshots += int64(len(in.snaps().list))
		}
		if !in.isDir() {
			f := in.file()
			for i := range f.count() {
				if s.blocks.get(f.block(i).ID) != 0 {
					return fmt.Errorf("block %d is there twice", f.block(i).ID)
				}
			}
			s.inodes.set(in.id, in)
			s.counts.INodes++
			s.counts.Files++
			s.changed(in, &file{}, f)
			return nil
		}
		s.inodes.set(in.id, in)
		s.counts.INodes++
		s.counts.Directories++
		return nil
	})
	if err == nil && (!s.root.isDir() || s.root.id != dfs.RootINodeID || s.root.name != "") {
		err = r.bad(fmt.Errorf("inode %d is no root", s.root.id))
	}
	if err == nil && s.counts.Snapshots != int64(s.counters.snapshots) {
		err = r.bad(fmt.Errorf("%d snapshots instead of %d", s.counts.Snapshots, s.counters.snapshots))
	}
	return err
}

func (r *imageReader) readSnapshots() error {
	parents := map[int]dfs.INodeID{}
	for id := range r.state.snapDirs {
		for _, s := range r.state.inodes.get(id).snaps().list {
			parents[s.id] = r.state.inodes.get(id).parent
		}
	}
	for _, s := range slices.Clone(r.snaps) {
		root, err := r.tree(func(in *inode) error {
			if in.snaps() != nil {
				return errors.New("a snapshot with snapshots in it")
			}
			return nil
		})
		if err != nil {
			return err
		}
		if !root.isDir() {
			return r.bad(fmt.Errorf("the root of snapshot %d is a file", s.id))
		}
		if root.parent == 0 {
			root.parent = parents[s.id]
		}
		s.root = root
	}
	return nil
}

func (r *imageReader) readKept() error {
	for {
		ok, err := r.more(sectionKept)
		if !ok {
			return err
		}
		k := keptBlock{BlockInfo: r.rec.blockInfo()}
		for range r.rec.count(1) {
			k.holders = append(k.holders, getInt[int](r.rec.decoder))
		}
		if len(k.holders) == 0 {
			r.rec.fail(fmt.Errorf("block %d is kept for nobody", k.ID))
			continue
		}
		r.state.kept.Set(k.ID, k)
		for _, s := range k.holders {
			r.state.keptBy[s] = append(r.state.keptBy[s], k.ID)
		}
	}
}

func (r *imageReader) readRetry() error {
	for {
		ok, err := r.more(sectionRetry)
		if !ok {
			return err
		}
		e, queue := new(retryEntry), &r.state.retry.queue
		if r.rec.bool() {
			queue = &r.state.retry.spared
		}
		copy(e.key.client[:], r.rec.raw(16))
		e.key.call, e.time, e.res = getInt[int32](r.rec.decoder), r.rec.int64(), r.rec.result()
		r.state.retry.count(e)
		*queue = append(*queue, e)
	}
}

func (r *imageReader) readEnd() error {
	if n := r.rec.uvarint(); n != r.count {
		return r.bad(fmt.Errorf("%d inodes instead of %d", r.count, n))
	}
	return nil
}
