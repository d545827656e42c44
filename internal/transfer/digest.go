package transfer

import (
	"crypto/md5"
	"encoding/binary"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// FileMD5 is the MD5 of a file's block digests, each the MD5 of a block's sums, as HDFS's default file checksum has it:
// the digests are padded with zeros to a power of two, 32 bytes at least.
func FileMD5(blocks [][md5.Size]byte) [md5.Size]byte {
	size := 32
	for size < len(blocks)*md5.Size {
		size *= 2
	}
	b := make([]byte, 0, size)
	for _, d := range blocks {
		b = append(b, d[:]...)
	}
	return md5.Sum(b[:size])
}

// Composer joins the CRCs of consecutive pieces into the CRC of the whole, without seeing a byte of it: HDFS's
// COMPOSITE-CRC, which does not depend on how a file is cut into chunks and blocks.
type Composer struct {
	poly uint32
	sum  uint32

	// the shift for the last piece's length: pieces mostly have the same
	n     int64
	shift uint32
}

// NewComposer makes a Composer for CRC32 or CRC32C.
func NewComposer(t dfs.ChecksumType) (*Composer, error) {
	// polynomials are written with x^0 in the highest bit, as the CRCs are
	switch t {
	case dfs.ChecksumCRC32:
		return &Composer{poly: 0xedb88320}, nil
	case dfs.ChecksumCRC32C:
		return &Composer{poly: 0x82f63b78}, nil
	}
	return nil, malformed("composite checksum: expected type 1 or 2, read %d", t)
}

// Sum is the CRC of all pieces so far, 0 of none.
func (c *Composer) Sum() uint32 { return c.sum }

// AppendSum appends Sum as it travels.
func (c *Composer) AppendSum(b []byte) []byte { return binary.BigEndian.AppendUint32(b, c.sum) }

// Add appends a piece of n bytes with that CRC.
func (c *Composer) Add(sum uint32, n int64) {
	if n <= 0 {
		return
	}
	if n != c.n {
		c.n, c.shift = n, c.power(uint64(n)*8)
	}
	c.sum = c.mul(c.shift, c.sum) ^ sum
}

// AddChunks appends n bytes, given the sums of their chunks.
func (c *Composer) AddChunks(sums []byte, bytesPerChunk int, n int64) error {
	if bytesPerChunk <= 0 || n < 0 || int64(len(sums)) != (n+int64(bytesPerChunk)-1)/int64(bytesPerChunk)*4 {
		return malformed("composite checksum: read %d bytes of sums for %d bytes in chunks of %d", len(sums), n, bytesPerChunk)
	}
	for ; len(sums) > 0; sums = sums[4:] {
		piece := min(n, int64(bytesPerChunk))
		c.Add(binary.BigEndian.Uint32(sums), piece)
		n -= piece
	}
	return nil
}

// mul multiplies two polynomials modulo poly.
func (c *Composer) mul(a, b uint32) uint32 {
	var p uint32
	for ; a != 0; a <<= 1 {
		p ^= b & -(a >> 31)
		b = b>>1 ^ c.poly&-(b&1)
	}
	return p
}

// power is x^n modulo poly.
func (c *Composer) power(n uint64) uint32 {
	p, square := uint32(1)<<31, uint32(1)<<30
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p = c.mul(p, square)
		}
		square = c.mul(square, square)
	}
	return p
}
