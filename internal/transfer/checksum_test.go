package transfer

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

func TestChecksumLen(t *testing.T) {
	c := Checksum{Type: dfs.ChecksumCRC32, BytesPerChunk: 512}
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 4, 511: 4, 512: 4, 513: 8, 1024: 8, 64512: 504} {
		require.Equal(t, want, c.Len(n), "%d bytes", n)
		require.Zero(t, Checksum{Type: dfs.ChecksumNull, BytesPerChunk: 512}.Len(n))
	}
}

func TestVerify(t *testing.T) {
	data := make([]byte, 1300)
	for i := range data {
		data[i] = byte(i)
	}
	for _, typ := range []dfs.ChecksumType{dfs.ChecksumCRC32, dfs.ChecksumCRC32C} {
		t.Run(fmt.Sprint(typ), func(t *testing.T) {
			c := Checksum{Type: typ, BytesPerChunk: 512}
			sums := c.Sum(nil, data)
			require.NoError(t, c.Verify(data, sums))
			require.NoError(t, c.Verify(nil, nil))
			for at, offset := range map[int]int{0: 0, 511: 0, 512: 512, 1299: 1024} {
				bad := append([]byte(nil), data...)
				bad[at] ^= 1
				var e *ChecksumError
				require.ErrorAs(t, c.Verify(bad, sums), &e)
				require.Equal(t, offset, e.Offset)
				require.Equal(t, binary.BigEndian.Uint32(sums[offset/512*4:]), e.Want)
				require.NotEqual(t, e.Want, e.Got)
			}
			require.EqualError(t, c.Verify(data, sums[:8]), "transfer: checksums: expected 12 bytes for 1300 bytes of data, read 8: malformed data transfer")
			require.ErrorIs(t, c.Verify(data[:1024], sums), ErrMalformed)
			require.ErrorIs(t, c.Verify(data, sums[:11]), ErrMalformed)
			require.ErrorIs(t, c.Verify(nil, sums), ErrMalformed)
			require.ErrorIs(t, Checksum{Type: typ}.Verify(data, sums), ErrMalformed)
		})
	}
	require.EqualError(t, &ChecksumError{Offset: 512, Want: 1, Got: 0xabc}, "transfer: checksum error at byte 512: expected 00000001, the data gives 00000abc")
}

func TestNullChecksum(t *testing.T) {
	c := Checksum{Type: dfs.ChecksumNull, BytesPerChunk: 512}
	require.Zero(t, c.Size())
	require.Empty(t, c.Sum(nil, make([]byte, 99)))
	require.NoError(t, c.Verify(make([]byte, 99), nil))
	require.ErrorIs(t, c.Verify(make([]byte, 99), make([]byte, 4)), ErrMalformed)
}

func TestChecksumOf(t *testing.T) {
	c := Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}
	got, err := ChecksumOf(c.Proto())
	require.NoError(t, err)
	require.Equal(t, c, got)
	for name, bad := range map[string]Checksum{
		"checksum: expected type 0, 1 or 2, read 3":                       {Type: 3, BytesPerChunk: 512},
		"checksum: expected 1 to 16777216 bytes per chunk, read 0":        {Type: dfs.ChecksumNull},
		"checksum: expected 1 to 16777216 bytes per chunk, read 16777217": {Type: dfs.ChecksumCRC32, BytesPerChunk: MaxPacket + 1},
	} {
		_, err := ChecksumOf(bad.Proto())
		require.EqualError(t, err, "transfer: "+name+": malformed data transfer")
	}
	large := hdfspb.ChecksumTypeProto(258) // 2, in eight bits
	_, err = ChecksumOf(&hdfspb.ChecksumProto{Type: &large, BytesPerChecksum: c.Proto().BytesPerChecksum})
	require.ErrorIs(t, err, ErrMalformed)
}

func TestFileMD5(t *testing.T) {
	// an empty file: 32 zeros
	empty := FileMD5(nil)
	require.Equal(t, "70bc8f4b72a86921468bf8e8441dce51", hex.EncodeToString(empty[:]))
	for n, padded := range map[int]int{1: 32, 2: 32, 3: 64, 4: 64, 5: 128, 9: 256} {
		var blocks [][md5.Size]byte
		whole := make([]byte, 0, padded)
		for i := range n {
			blocks = append(blocks, md5.Sum([]byte{byte(i)}))
			whole = append(whole, blocks[i][:]...)
		}
		require.Equal(t, md5.Sum(whole[:padded]), FileMD5(blocks), "%d blocks", n)
	}
}

func TestComposerAnyCut(t *testing.T) {
	const seed = 7
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, 100_000)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	for typ, table := range map[dfs.ChecksumType]*crc32.Table{
		dfs.ChecksumCRC32: crc32.IEEETable, dfs.ChecksumCRC32C: crc32.MakeTable(crc32.Castagnoli),
	} {
		want := crc32.Checksum(data, table)
		for range 50 {
			c, err := NewComposer(typ)
			require.NoError(t, err)
			for rest := data; len(rest) > 0; {
				n := 1 + rng.IntN(len(rest))
				c.Add(crc32.Checksum(rest[:n], table), int64(n))
				c.Add(0, 0)
				rest = rest[n:]
			}
			require.Equal(t, want, c.Sum())
		}
		c, err := NewComposer(typ)
		require.NoError(t, err)
		require.NoError(t, c.AddChunks(Checksum{Type: typ, BytesPerChunk: 512}.Sum(nil, data[:1000]), 512, 1000))
		require.NoError(t, c.AddChunks(Checksum{Type: typ, BytesPerChunk: 4096}.Sum(nil, data[1000:]), 4096, 99_000))
		require.Equal(t, want, c.Sum())
	}
}

func TestComposerErrors(t *testing.T) {
	_, err := NewComposer(dfs.ChecksumNull)
	require.EqualError(t, err, "transfer: composite checksum: expected type 1 or 2, read 0: malformed data transfer")
	c, err := NewComposer(dfs.ChecksumCRC32)
	require.NoError(t, err)
	for _, bad := range []struct {
		sums, chunk int
		n           int64
	}{{4, 512, 513}, {8, 512, 512}, {4, 0, 1}, {0, 512, -1}, {3, 512, 1}} {
		require.ErrorIs(t, c.AddChunks(make([]byte, bad.sums), bad.chunk, bad.n), ErrMalformed)
	}
	require.Zero(t, c.Sum())
}

func BenchmarkVerify(b *testing.B) {
	data := make([]byte, 64512)
	for name, typ := range map[string]dfs.ChecksumType{"CRC32": dfs.ChecksumCRC32, "CRC32C": dfs.ChecksumCRC32C} {
		b.Run(name, func(b *testing.B) {
			c := Checksum{Type: typ, BytesPerChunk: 512}
			sums := c.Sum(nil, data)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Verify(data, sums); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A block of 128 MiB in chunks of 512 bytes.
func BenchmarkComposer(b *testing.B) {
	sums := make([]byte, 4*(128<<20)/512)
	b.SetBytes(128 << 20)
	for b.Loop() {
		c, err := NewComposer(dfs.ChecksumCRC32C)
		if err != nil {
			b.Fatal(err)
		}
		if err := c.AddChunks(sums, 512, 128<<20); err != nil {
			b.Fatal(err)
		}
	}
}
