package volume

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// lengthTimeout is how long a reader waits for bytes of a replica that is being written.
const lengthTimeout = 3 * time.Second

// Reader reads a replica as it was when it was opened: later bytes do not show. Its methods may run concurrently.
type Reader struct {
	Block    dfs.Block // with the replica's own stamp; Len is what can be read
	Visible  int64     // what the whole pipeline is known to have; at most Len
	Storage  string
	Checksum Checksum // type NULL where the checksums are missing

	set        *Set
	vol        *Volume
	data, meta afero.File
	sum        uint32 // of the last chunk where that is not whole
	hasSum     bool
	whole      int64  // sums before this byte are read from the file
	head       []byte // the beginning of the checksum file
	null       bool   // the bytes are not kept
}

// headLen is how much of a checksum file is read at once when it is opened: enough for half a megabyte of data in
// chunks of 512 bytes.
const headLen = 4 << 10

// Open opens a replica of at least the stamp of b. It waits a little for one being written to have min bytes.
func (s *Set) Open(ctx context.Context, b dfs.Block, min int64) (*Reader, error) {
	ctx, cancel := context.WithTimeout(ctx, lengthTimeout)
	defer cancel()
	for {
		v, err := s.view(ctx, b, min)
		if err != nil {
			return nil, err
		}
		rd, err := s.open(v)
		s.mu.Lock()
		now := s.lookupLocked(b.ID)
		same := now == v.r && now.moved == v.moved
		var busy <-chan struct{}
		if now != nil {
			busy = now.busy
		}
		s.mu.Unlock()
		switch {
		case same && err == nil:
			return rd, nil
		case same && busy == nil && errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w: %w", ErrMissing, err)
		case same && busy == nil:
			return nil, s.check(v.r.vol, err)
		case err == nil:
			rd.Close()
		}
		if busy != nil { // the files are on their way from one directory to the other
			select {
			case <-busy:
			case <-ctx.Done():
				return nil, fmt.Errorf("volume: %s is in use by another operation: %w", b, ctx.Err())
			}
		}
	}
}

// ErrMissing is in the chain of the error when a replica's files are gone.
var ErrMissing = errors.New("the files of the replica are missing")

// view is a moment of a replica.
type view struct {
	r       *replica
	moved   int
	info    Info
	sum     uint32
	hasSum  bool
	visible int64
}

// view waits until the replica has min bytes and takes that moment.
func (s *Set) view(ctx context.Context, b dfs.Block, min int64) (view, error) {
	for {
		s.mu.Lock()
		if err := s.usableLocked(); err != nil {
			s.mu.Unlock()
			return view{}, err
		}
		r := s.lookupLocked(b.ID)
		if err := readable(r, b); err != nil {
			s.mu.Unlock()
			return view{}, err
		}
		if r.place() != dfs.ReplicaRBW || r.len >= min || ctx.Err() != nil {
			v := view{r: r, moved: r.moved, info: r.info(), visible: r.visible()}
			if r.place() == dfs.ReplicaRBW {
				v.sum, v.hasSum = r.sum, true
			}
			s.mu.Unlock()
			return v, nil
		}
		wait := r.waitLocked()
		s.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
		}
	}
}

// readable says why a reader of b cannot have r.
func readable(r *replica, b dfs.Block) error {
	switch {
	case r == nil:
		return dfs.Errorf(dfs.ClassReplicaNotFound, "Replica not found for %s", b)
	case r.gs < b.GenStamp:
		return dfs.Errorf(dfs.ClassIO, "Replica gen stamp < block genstamp, block=%s, replica=%s", b, r)
	case r.visible() < 0:
		return dfs.Errorf(dfs.ClassIO, "Replica is not readable, block=%s, replica=%s", b, r)
	}
	return nil
}

// VisibleLength is how many bytes of b readers may ask for.
func (s *Set) VisibleLength(b dfs.Block) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usableLocked(); err != nil {
		return 0, err
	}
	r := s.lookupLocked(b.ID)
	switch {
	case r == nil:
		return 0, dfs.Errorf(dfs.ClassReplicaNotFound, "Replica not found for %s", b)
	case r.gs < b.GenStamp:
		return 0, dfs.Errorf(dfs.ClassIO, "replica.getGenerationStamp() < block.getGenerationStamp(), block=%s, replica=%s", b, r)
	}
	return r.visible(), nil
}

// open opens the files and reads the sum of a last chunk that is not whole, which a later append would replace.
func (s *Set) open(v view) (*Reader, error) {
	rd := &Reader{set: s, vol: v.r.vol, Block: v.info.Block, Visible: v.visible, Storage: v.info.Storage, sum: v.sum, hasSum: v.hasSum, null: v.r.vol.cfg.Null}
	f := v.r.vol.cfg.FS
	var err error
	if rd.data, err = f.Open(v.info.Data); err != nil {
		return nil, err
	}
	rd.meta, err = f.Open(v.info.Meta)
	if errors.Is(err, fs.ErrNotExist) && v.info.State == dfs.ReplicaFinalized {
		rd.Checksum = Checksum{Type: dfs.ChecksumNull, BytesPerChunk: 512}
		return rd, nil
	}
	if err == nil {
		err = rd.readHead()
	}
	if err != nil {
		rd.Close()
		return nil, err
	}
	return rd, nil
}

func (r *Reader) readHead() error {
	want := int64(headLen)
	if r.Block.Len < headLen/8*512 {
		want = headerLen + (r.Block.Len+511)/512*4
	}
	head := make([]byte, want)
	n, err := readFull(r.meta, head, 0)
	if err != nil {
		return err
	}
	r.head = head[:n]
	if r.Checksum, err = parseHeader(r.head); err != nil {
		return fmt.Errorf("volume: %s: %w", r.meta.Name(), err)
	}
	c := r.Checksum
	part := c.partial(r.Block.Len)
	r.whole = r.Block.Len - int64(part)
	if part == 0 || c.Type == dfs.ChecksumNull || r.hasSum {
		return nil
	}
	var sum [4]byte
	if n, err = r.readMeta(sum[:], c.metaOffset(r.whole)); err != nil {
		return err
	}
	if n < 4 {
		return fmt.Errorf("volume: %s ends before the sum of byte %d: %w", r.meta.Name(), r.whole, ErrBadMeta)
	}
	r.sum, r.hasSum = binary.BigEndian.Uint32(sum[:]), true
	return nil
}

func (r *Reader) readMeta(p []byte, off int64) (int, error) {
	if off+int64(len(p)) <= int64(len(r.head)) {
		return copy(p, r.head[off:]), nil
	}
	return readFull(r.meta, p, off)
}

// ReadAt fills p with the bytes at off, which must lie within Block.Len.
func (r *Reader) ReadAt(p []byte, off int64) error {
	n, err := readFull(r.data, p, off)
	if err == nil && n < len(p) {
		err = fmt.Errorf("volume: %s ends at %d, expected %d bytes: %w", r.data.Name(), off+int64(n), r.Block.Len, ErrMissing)
	}
	return r.set.check(r.vol, err)
}

// OSFile gives the data as a file of the operating system, which has an offset of its own, where they are one and nothing
// stands between them and the reader.
func (r *Reader) OSFile() (*os.File, bool) {
	if r.null {
		return nil, false
	}
	switch f := r.data.(type) {
	case *os.File:
		return f, true
	case interface{ OSFile() (*os.File, bool) }:
		return f.OSFile()
	}
	return nil, false
}

// Sums fills p with the sums of the chunks that hold n bytes from off, which begins a chunk, and gives the part filled.
func (r *Reader) Sums(p []byte, off int64, n int) ([]byte, error) {
	c := r.Checksum
	p = p[:c.chunks(int64(n))*int64(c.Type.Size())]
	if len(p) == 0 {
		return p, nil
	}
	body := p
	if off+int64(n) > r.whole {
		body = p[:len(p)-4]
		binary.BigEndian.PutUint32(p[len(p)-4:], r.sum)
	}
	m, err := r.readMeta(body, c.metaOffset(off))
	if err == nil && m < len(body) {
		err = fmt.Errorf("volume: %s is too short for %d bytes: %w", r.meta.Name(), r.Block.Len, ErrBadMeta)
	}
	return p, r.set.check(r.vol, err)
}

// Close closes the files.
func (r *Reader) Close() error {
	var err error
	for _, f := range []afero.File{r.data, r.meta} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}
