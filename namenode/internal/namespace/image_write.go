package namespace

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/tidwall/btree"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// An image is a magic and a version, then frames: section, length and CRC of the payload in twelve bytes, the payload.
// A section may take several frames; records do not cross frames. The last frame is that of sectionEnd.
const (
	imageMagic   = "MINIDFSI"
	imageVersion = 1
	frameHead    = 12
	frameSize    = 256 << 10 // frames are cut at the first record end behind it
	maxFrame     = 1 << 30
)

type section byte

const (
	sectionState    section = iota + 1 // counters, parameters, names
	sectionTree                        // the present tree
	sectionSnapshot                    // the trees of snapshots, in the order in which the present tree names them
	sectionKept                        // blocks that only snapshots hold
	sectionRetry                       // the retry cache, oldest first
	sectionEnd
)

func (s section) String() string {
	if s >= sectionState && s <= sectionEnd {
		return [...]string{"state", "tree", "snapshots", "kept blocks", "retry cache", "end"}[s-1]
	}
	return fmt.Sprintf("section %d", byte(s))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Image is the state at one moment. It does not change while the namespace goes on.
type Image struct {
	root     *inode
	counters counters
	params   Params
	names    []string
	kept     *btree.Map[dfs.BlockID, keptBlock]
	retry    []*retryEntry
	spared   []*retryEntry
}

// Snapshot freezes the state as it is between two batches, in constant time. It waits for a batch under way.
func (n *Namespace) Snapshot() *Image { return n.freeze() }

func (n *Namespace) freeze() *Image {
	n.applying.Lock()
	defer n.applying.Unlock()
	n.lock.exclude()
	defer n.lock.include()
	i := &Image{
		root:     n.root,
		counters: n.counters,
		params:   *n.params.Load(),
		names:    *n.names.list.Load(),
		kept:     n.kept.Copy(),
		retry:    slices.Clip(n.retry.queue),
		spared:   slices.Clip(n.retry.spared),
	}
	n.epoch++
	return i
}

// TxID is the id of the last edit record in the image.
func (i *Image) TxID() uint64 { return i.counters.tx }

// WriteTo streams the image.
func (i *Image) WriteTo(w io.Writer) (int64, error) {
	iw := &imageWriter{w: w, image: i}
	iw.owner = func(b []byte, number uint32) []byte { return appendUint(b, number) }
	if i.counters.snapshots > 0 {
		iw.written = map[*inode]uint64{}
	}
	iw.write(append([]byte(imageMagic), imageVersion))
	iw.state()
	iw.section(sectionTree)
	iw.tree(i.root)
	iw.section(sectionSnapshot)
	for k := 0; k < len(iw.snaps); k++ {
		iw.tree(iw.snaps[k].root)
	}
	iw.section(sectionKept)
	i.kept.Scan(func(_ dfs.BlockID, k keptBlock) bool {
		iw.b = appendBlockInfo(iw.b, k.BlockInfo)
		iw.b = appendUint(iw.b, uint64(len(k.holders)))
		for _, s := range k.holders {
			iw.b = appendInt(iw.b, s)
		}
		return iw.record()
	})
	iw.section(sectionRetry)
	for k, list := range [][]*retryEntry{i.spared, i.retry} {
		for _, e := range list {
			iw.b = append(appendBool(iw.b, k == 0), e.key.client[:]...)
			iw.b = appendResult(appendInt(appendInt(iw.b, e.key.call), e.time), &e.res)
			if !iw.record() {
				break
			}
		}
	}
	iw.section(sectionEnd)
	iw.b = appendUint(iw.b, iw.count)
	iw.flush(true)
	return iw.n, iw.err
}

type imageWriter struct {
	recorder
	w       io.Writer
	image   *Image
	cur     section
	frames  int // of cur
	count   uint64
	written map[*inode]uint64 // ordinals of inodes, where snapshots may share them
	snaps   []*snapshot       // in the order in which they were met
	n       int64
	err     error
}

func (w *imageWriter) write(b []byte) {
	if w.err == nil {
		var n int
		n, w.err = w.w.Write(b)
		w.n += int64(n)
	}
}

// section ends the frame of the one before.
func (w *imageWriter) section(s section) {
	w.flush(true)
	w.cur, w.frames = s, 0
}

// record ends a record; it answers false when writing has failed.
func (w *imageWriter) record() bool {
	if len(w.b) >= frameHead+frameSize {
		w.flush(false)
	}
	return w.err == nil
}

// flush writes the frame; an empty one only as the only one of its section.
func (w *imageWriter) flush(end bool) {
	if w.cur != 0 && (len(w.b) > frameHead || end && w.frames == 0) {
		payload := w.b[frameHead:]
		if len(payload) > maxFrame && w.err == nil {
			w.err = fmt.Errorf("image: a record of %d bytes in section %s is more than a frame may hold", len(payload), w.cur)
		}
		w.b[0] = byte(w.cur)
		binary.BigEndian.PutUint32(w.b[4:], uint32(len(payload)))
		binary.BigEndian.PutUint32(w.b[8:], frameCRC(w.b[:8], payload))
		w.write(w.b)
		w.frames++
	}
	w.b = append(w.b[:0], make([]byte, frameHead)...)
}

func frameCRC(head, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:8], castagnoli), castagnoli, payload)
}

func (w *imageWriter) state() {
	w.section(sectionState)
	w.b = appendCounters(w.b, w.image.counters)
	w.b = (&SetParams{w.image.params}).appendTo(w.b)
	w.b = appendStrings(w.b, w.image.names)
}

func appendCounters(b []byte, c counters) []byte {
	b = appendInt(appendUint(appendInt(b, c.time), c.tx), c.inode)
	b = appendInt(appendInt(appendInt(b, c.block), c.stamp), c.snapshot)
	return appendInt(appendUint(b, c.term), c.snapshots)
}

func (d *decoder) counters() counters {
	return counters{
		time: d.int64(), tx: d.uvarint(), inode: getInt[dfs.INodeID](d), block: getInt[dfs.BlockID](d),
		stamp: getInt[dfs.GenStamp](d), snapshot: getInt[int](d), term: d.uvarint(), snapshots: getInt[int](d),
	}
}

// tree writes an inode and what is below it, children behind their directory. An inode that was written before, for
// another tree, is recordShared and its ordinal; what is below it is not written again.
func (w *imageWriter) tree(in *inode) bool {
	if w.written != nil {
		if k, ok := w.written[in]; ok {
			w.b = appendUint(append(w.b, recordShared), k)
			return w.record()
		}
		w.written[in] = w.count
	}
	w.count++
	w.inode(in)
	if !w.record() {
		return false
	}
	if t := in.snaps(); t != nil {
		w.snaps = append(w.snaps, t.list...)
	}
	if in.isDir() {
		in.dir.each(w.tree)
	}
	return w.err == nil
}
