package editlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/spf13/afero"
)

const (
	segmentMagic     = "MDFSEDIT"
	segmentHeaderLen = 36
)

// A segmentHeader begins a segment.
type segmentHeader struct {
	identity uint32 // Identity.sum of the directory
	seq      uint64 // of the first op
	txid     uint64 // of the state before the first op
	salt     uint32 // checksum of all this; seeds those of the record headers
}

func (h *segmentHeader) encode() []byte {
	b := make([]byte, 0, segmentHeaderLen)
	b = append(b, segmentMagic...)
	b = binary.BigEndian.AppendUint32(b, layoutVersion)
	b = binary.BigEndian.AppendUint32(b, h.identity)
	b = binary.BigEndian.AppendUint64(b, h.seq)
	b = binary.BigEndian.AppendUint64(b, h.txid)
	h.salt = crc32.Checksum(b, castagnoli)
	return binary.BigEndian.AppendUint32(b, h.salt)
}

var errSegmentHeader = errors.New("checksum of the segment header does not match")

func parseSegmentHeader(b []byte) (segmentHeader, error) {
	if len(b) < segmentHeaderLen {
		return segmentHeader{}, errors.New("segment header is cut short")
	}
	sum := crc32.Checksum(b[:segmentHeaderLen-4], castagnoli)
	if string(b[:8]) != segmentMagic || binary.BigEndian.Uint32(b[32:]) != sum {
		return segmentHeader{}, errSegmentHeader
	}
	if v := binary.BigEndian.Uint32(b[8:]); v != layoutVersion {
		return segmentHeader{}, fmt.Errorf("segment has layout version %d, this program knows %d", v, layoutVersion)
	}
	h := segmentHeader{
		identity: binary.BigEndian.Uint32(b[12:]),
		seq:      binary.BigEndian.Uint64(b[16:]),
		txid:     binary.BigEndian.Uint64(b[24:]),
		salt:     sum,
	}
	if h.seq == 0 {
		return segmentHeader{}, errors.New("segment begins with op 0, ops are counted from 1")
	}
	return h, nil
}

// A segment is the file that is being written.
type segment struct {
	segmentHeader
	name string
	file afero.File

	end     int64 // offset of the next record
	durable int64 // offset up to which the file was synced
}

// createSegment makes a segment durably, without records.
func (s *store) createSegment(h segmentHeader) (*segment, error) {
	g := &segment{segmentHeader: h, name: inProgressName(h.txid + 1)}
	b := g.encode()
	f, err := s.fs.OpenFile(s.path(g.name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("editlog: cannot create %s: %w", s.path(g.name), err)
	}
	g.file = f
	if _, err = f.WriteAt(b, 0); err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("editlog: cannot begin %s: %w", s.path(g.name), err)
	}
	g.end, g.durable = segmentHeaderLen, segmentHeaderLen
	if err := s.syncDir(s.dir); err != nil {
		_ = f.Close()
		return nil, err
	}
	return g, nil
}

// reopenSegment goes on with a segment that ends at end; what stands behind it is cut off.
func (s *store) reopenSegment(name string, h segmentHeader, end int64) (*segment, error) {
	f, err := s.fs.OpenFile(s.path(name), os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("editlog: cannot open %s: %w", s.path(name), err)
	}
	if err = f.Truncate(end); err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("editlog: cannot cut %s at offset %d: %w", s.path(name), end, err)
	}
	return &segment{segmentHeader: h, name: name, file: f, end: end, durable: end}, nil
}

// write appends the record in b, whose body begins at recordHeaderLen.
func (g *segment) write(b []byte, seq uint64, count int) error {
	sealRecord(b, g.salt, g.end, record{seq: seq, count: uint32(count), durable: g.durable})
	n, err := g.file.WriteAt(b, g.end)
	if err != nil {
		return fmt.Errorf("cannot write %d bytes at offset %d of %s: %w", len(b), g.end, g.file.Name(), err)
	}
	g.end += int64(n)
	return nil
}

func (g *segment) dirty() bool { return g.durable < g.end }

func (g *segment) sync() error {
	if err := g.file.Sync(); err != nil {
		return fmt.Errorf("cannot sync %s: %w", g.file.Name(), err)
	}
	g.durable = g.end
	return nil
}

// finish ends the segment with the end mark and gives it its final name. The file is closed in any case.
func (s *store) finish(g *segment, next, lastTxID uint64) error {
	err := g.write(make([]byte, recordHeaderLen), next, 0)
	if err == nil {
		err = g.sync()
	}
	if cerr := g.file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return s.rename(g.name, editsName(g.txid+1, lastTxID))
}
