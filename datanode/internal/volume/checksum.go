package volume

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Checksum is how a replica is protected: a sum for each chunk of BytesPerChunk bytes, the last one possibly shorter.
type Checksum struct {
	Type          dfs.ChecksumType
	BytesPerChunk int
}

// MaxBytesPerChunk bounds a chunk: it has to fit a packet.
const MaxBytesPerChunk = 16 << 20

// headerLen is the length of a checksum file's header: version (int16), type (int8), bytes per chunk (int32).
const headerLen = 7

const metaVersion = 1

// ErrBadMeta is in the chain of every error about a checksum file that makes no sense.
var ErrBadMeta = errors.New("corrupt checksum file")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c Checksum) table() *crc32.Table {
	switch c.Type {
	case dfs.ChecksumCRC32:
		return crc32.IEEETable
	case dfs.ChecksumCRC32C:
		return castagnoli
	}
	return nil
}

// Check says what is wrong with c.
func (c Checksum) Check() error {
	if c.Type > dfs.ChecksumCRC32C {
		return fmt.Errorf("volume: checksum type %d, expected 0, 1 or 2: %w", c.Type, ErrBadMeta)
	}
	if c.BytesPerChunk <= 0 || c.BytesPerChunk > MaxBytesPerChunk {
		return fmt.Errorf("volume: %d bytes per checksum, expected 1 to %d: %w", c.BytesPerChunk, MaxBytesPerChunk, ErrBadMeta)
	}
	return nil
}

// chunks is the number of chunks in n bytes.
func (c Checksum) chunks(n int64) int64 {
	return (n + int64(c.BytesPerChunk) - 1) / int64(c.BytesPerChunk)
}

// metaLen is the length of the checksum file of n bytes.
func (c Checksum) metaLen(n int64) int64 { return headerLen + c.chunks(n)*int64(c.Type.Size()) }

// metaOffset is where the sum of the chunk that holds byte off stands in the checksum file.
func (c Checksum) metaOffset(off int64) int64 {
	return headerLen + off/int64(c.BytesPerChunk)*int64(c.Type.Size())
}

// partial is how many bytes the last chunk of n bytes holds, 0 where the last chunk is whole.
func (c Checksum) partial(n int64) int { return int(n % int64(c.BytesPerChunk)) }

// appendHeader appends the checksum file's header.
func (c Checksum) appendHeader(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, metaVersion)
	return binary.BigEndian.AppendUint32(append(b, byte(c.Type)), uint32(c.BytesPerChunk))
}

// parseHeader decodes the header of a checksum file.
func parseHeader(b []byte) (Checksum, error) {
	if len(b) < headerLen {
		return Checksum{}, fmt.Errorf("volume: checksum file has %d bytes, expected %d or more: %w", len(b), headerLen, ErrBadMeta)
	}
	if v := int16(binary.BigEndian.Uint16(b)); v != metaVersion {
		return Checksum{}, fmt.Errorf("volume: checksum file of version %d, expected %d: %w", v, metaVersion, ErrBadMeta)
	}
	n := int32(binary.BigEndian.Uint32(b[3:]))
	c := Checksum{Type: dfs.ChecksumType(b[2]), BytesPerChunk: int(n)}
	return c, c.Check()
}

// extend appends to dst the sums of data, which follows a chunk of part bytes whose sum is sum: the first sum
// appended is that chunk's new one. It returns the sum of the last chunk, 0 where that is whole.
func (c Checksum) extend(dst []byte, sum uint32, part int, data []byte) ([]byte, uint32) {
	table := c.table()
	if table == nil {
		return dst, 0
	}
	for len(data) > 0 {
		n := min(c.BytesPerChunk-part, len(data))
		sum = crc32.Update(sum, table, data[:n])
		dst = binary.BigEndian.AppendUint32(dst, sum)
		data = data[n:]
		if part += n; part == c.BytesPerChunk {
			part, sum = 0, 0
		}
	}
	return dst, sum
}

// prefix is the length of the longest prefix of data whose sums are sums: a whole number of chunks, then as much of
// the next as has the sum that stands there. It also gives the sum of a last chunk that is not whole.
func (c Checksum) prefix(data, sums []byte) (int, uint32) {
	table := c.table()
	if table == nil {
		return len(data), 0
	}
	good := 0
	for len(data) > 0 && len(sums) >= 4 {
		want := binary.BigEndian.Uint32(sums)
		n := min(c.BytesPerChunk, len(data))
		if crc32.Checksum(data[:n], table) != want {
			if p := prefixOf(data[:n], want, table); p > 0 {
				return good + p, want
			}
			return good, 0
		}
		good += n
		if n < c.BytesPerChunk {
			return good, want
		}
		data, sums = data[n:], sums[4:]
	}
	return good, 0
}

const (
	sectorSize  = 512  // what a disk writes whole or not at all
	mostMending = 4096 // bytes of a chunk: in a larger one too many prefixes fit half a sum
)

// mended is prefix for one chunk, at off, of which a power loss may have torn the sum: the header makes a sector end within
// every 128th, so that one part can be of an old sum and the other of its successor. The data reach as far as the new sum
// says, being durable before it is written over one that counts. What is found is the smaller of the two, or between them.
func (c Checksum) mended(off int64, data, stored []byte) int {
	table := c.table()
	here := int(sectorSize - c.metaOffset(off)%sectorSize) // bytes of the sum before the sector's end
	if table == nil || here >= 4 || len(stored) < 4 || c.BytesPerChunk > mostMending {
		return 0
	}
	var first, second int // the longest prefixes that either part fits
	var sum uint32
	var b [4]byte
	for i := range data[:min(c.BytesPerChunk, len(data))] {
		sum = crc32.Update(sum, table, data[i:i+1])
		binary.BigEndian.PutUint32(b[:], sum)
		if bytes.Equal(b[:here], stored[:here]) {
			first = i + 1
		}
		if bytes.Equal(b[here:], stored[here:4]) {
			second = i + 1
		}
	}
	return min(first, second)
}

// prefixOf finds the longest prefix with that sum, 0 where there is none.
func prefixOf(data []byte, want uint32, table *crc32.Table) int {
	var sum uint32
	found := 0
	for i := range data {
		if sum = crc32.Update(sum, table, data[i:i+1]); sum == want {
			found = i + 1
		}
	}
	return found
}
