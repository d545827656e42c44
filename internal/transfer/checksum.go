package transfer

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// maxBytesPerChunk bounds what a peer may ask for: a chunk must fit a packet.
const maxBytesPerChunk = MaxPacket

// Checksum is how data is protected: a sum for each chunk of BytesPerChunk bytes, the last one possibly shorter.
type Checksum struct {
	Type          dfs.ChecksumType
	BytesPerChunk int
}

// ChecksumError says that data and sums do not belong together.
type ChecksumError struct {
	Offset    int // of the bad chunk, in the data
	Want, Got uint32
}

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("transfer: checksum error at byte %d: expected %08x, the data gives %08x", e.Offset, e.Want, e.Got)
}

// ChecksumOf gives the Checksum of a message, or says what is wrong with it.
func ChecksumOf(p *hdfspb.ChecksumProto) (Checksum, error) {
	if t := p.GetType(); t < 0 || t > hdfspb.ChecksumTypeProto(dfs.ChecksumCRC32C) {
		return Checksum{}, badType(int(t))
	}
	c := Checksum{Type: dfs.ChecksumType(p.GetType()), BytesPerChunk: int(p.GetBytesPerChecksum())}
	return c, c.Check()
}

// Proto gives the Checksum as a message.
func (c Checksum) Proto() *hdfspb.ChecksumProto {
	t, n := hdfspb.ChecksumTypeProto(c.Type), uint32(c.BytesPerChunk)
	return &hdfspb.ChecksumProto{Type: &t, BytesPerChecksum: &n}
}

// Check says what is wrong with c: an unknown type, or chunks without a size.
func (c Checksum) Check() error {
	if c.Type > dfs.ChecksumCRC32C {
		return badType(int(c.Type))
	}
	if c.BytesPerChunk <= 0 || c.BytesPerChunk > maxBytesPerChunk {
		return malformed("checksum: expected 1 to %d bytes per chunk, read %d", maxBytesPerChunk, c.BytesPerChunk)
	}
	return nil
}

func badType(t int) error { return malformed("checksum: expected type 0, 1 or 2, read %d", t) }

// Size is the length of one sum.
func (c Checksum) Size() int { return c.Type.Size() }

// Len is the length of the sums of n bytes of data.
func (c Checksum) Len(n int) int {
	size := c.Size()
	if size == 0 || n <= 0 {
		return 0
	}
	return (n-1)/c.BytesPerChunk*size + size
}

// CheckLen says whether sums of that length can belong to data of that length.
func (c Checksum) CheckLen(dataLen, sumsLen int) error {
	if want := c.Len(dataLen); sumsLen != want {
		return malformed("checksums: expected %d bytes for %d bytes of data, read %d", want, dataLen, sumsLen)
	}
	return nil
}

// Sum appends the sums of data.
func (c Checksum) Sum(dst, data []byte) []byte {
	table := c.table()
	if table == nil {
		return dst
	}
	for len(data) > 0 {
		n := min(c.BytesPerChunk, len(data))
		dst = binary.BigEndian.AppendUint32(dst, crc32.Checksum(data[:n], table))
		data = data[n:]
	}
	return dst
}

// Verify holds data against its sums: nil, a *ChecksumError for the first bad chunk, or an ErrMalformed where there are
// too many or too few sums.
func (c Checksum) Verify(data, sums []byte) error {
	table := c.table()
	if table != nil && c.BytesPerChunk <= 0 {
		return c.Check()
	}
	if err := c.CheckLen(len(data), len(sums)); err != nil || table == nil {
		return err
	}
	for i := 0; len(sums) >= 4; i += c.BytesPerChunk {
		chunk := data[i:]
		if len(chunk) > c.BytesPerChunk {
			chunk = chunk[:c.BytesPerChunk]
		}
		want := binary.BigEndian.Uint32(sums)
		if got := crc32.Checksum(chunk, table); got != want {
			return &ChecksumError{Offset: i, Want: want, Got: got}
		}
		sums = sums[4:]
	}
	return nil
}

func (c Checksum) table() *crc32.Table { return tableOf(c.Type) }

func tableOf(t dfs.ChecksumType) *crc32.Table {
	switch t {
	case dfs.ChecksumCRC32:
		return crc32.IEEETable
	case dfs.ChecksumCRC32C:
		return crc32.MakeTable(crc32.Castagnoli) // one table, made once
	}
	return nil
}
