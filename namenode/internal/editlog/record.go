package editlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	recordHeaderLen = 32
	// maxOpLen bounds one encoded op, cutBatchLen ends a batch: together they bound a record.
	maxOpLen    = 64 << 20
	cutBatchLen = 1 << 20
	maxBodyLen  = maxOpLen + cutBatchLen + 2*binary.MaxVarintLen64
)

// A record is one batch of ops in a segment. A record without ops is the end mark of a closed segment.
type record struct {
	seq     uint64 // of the first op; of the next one in an end mark
	count   uint32 // ops
	durable int64  // so much of the segment was known to be on the disk when the record was written
	body    []byte // each op preceded by its length as uvarint
}

// Reasons why bytes are not a record.
var (
	errShortRecord = errors.New("record is cut short")
	errHeaderSum   = errors.New("checksum of the record header does not match")
	errBodySum     = errors.New("checksum of the record does not match")
	errNotDurable  = errors.New("record claims that more is durable than was written")
)

// sealRecord fills in the header of the record in b, whose body begins at recordHeaderLen. The sum of the header
// also covers the segment (its salt) and the offset, so that a record is valid in its own place only.
func sealRecord(b []byte, salt uint32, offset int64, r record) {
	body := b[recordHeaderLen:]
	binary.BigEndian.PutUint32(b[0:], uint32(len(body)))
	binary.BigEndian.PutUint32(b[4:], crc32.Checksum(body, castagnoli))
	binary.BigEndian.PutUint64(b[8:], r.seq)
	binary.BigEndian.PutUint64(b[16:], uint64(r.durable))
	binary.BigEndian.PutUint32(b[24:], r.count)
	binary.BigEndian.PutUint32(b[28:], headerSum(b, salt, offset))
}

func headerSum(b []byte, salt uint32, offset int64) uint32 {
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], uint64(offset))
	sum := crc32.Update(salt, castagnoli, b[:28])
	return crc32.Update(sum, castagnoli, place[:])
}

// parseHeader reads the header of the record at offset of a segment's bytes and gives the length of its body.
func parseHeader(data []byte, salt uint32, offset int64) (r record, bodyLen int, err error) {
	if int64(len(data))-offset < recordHeaderLen {
		return r, 0, errShortRecord
	}
	b := data[offset:]
	if binary.BigEndian.Uint32(b[28:]) != headerSum(b, salt, offset) {
		return r, 0, errHeaderSum
	}
	n := binary.BigEndian.Uint32(b[0:])
	durable := binary.BigEndian.Uint64(b[16:])
	r = record{seq: binary.BigEndian.Uint64(b[8:]), count: binary.BigEndian.Uint32(b[24:])}
	if n > maxBodyLen || r.count > n || (r.count == 0) != (n == 0) || r.seq == 0 || r.seq > math.MaxInt64 {
		return r, 0, fmt.Errorf("record of %d bytes with ops %d and following (%d of them) cannot be", n, r.seq, r.count)
	}
	if durable > uint64(offset) {
		return r, 0, errNotDurable
	}
	r.durable = int64(durable)
	return r, int(n), nil
}

// parseRecord reads the record at offset and gives the offset behind it.
func parseRecord(data []byte, salt uint32, offset int64) (r record, end int64, err error) {
	r, n, err := parseHeader(data, salt, offset)
	if err != nil {
		return record{}, 0, err
	}
	start := offset + recordHeaderLen
	if int64(len(data))-start < int64(n) {
		return record{}, 0, errShortRecord
	}
	end = start + int64(n)
	r.body = data[start:end:end]
	if crc32.Checksum(r.body, castagnoli) != binary.BigEndian.Uint32(data[offset+4:]) {
		return record{}, 0, errBodySum
	}
	return r, end, nil
}

// appendOp adds one encoded op to a body.
func appendOp(body, op []byte) []byte {
	body = binary.AppendUvarint(body, uint64(len(op)))
	return append(body, op...)
}

// nextOp takes the first op off a body.
func nextOp(body []byte) (op, rest []byte, err error) {
	n, w := binary.Uvarint(body)
	if w <= 0 || n > uint64(len(body)-w) {
		return nil, nil, errors.New("op reaches beyond its record")
	}
	end := w + int(n)
	return body[w:end:end], body[end:], nil
}
