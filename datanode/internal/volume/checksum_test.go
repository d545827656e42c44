package volume

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

var crc32c = Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}

func TestHeader(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   []byte
		want Checksum
		err  string
	}{
		{"crc32c", []byte{0, 1, 2, 0, 0, 2, 0}, crc32c, ""},
		{"crc32, more after it", []byte{0, 1, 1, 0, 0, 16, 0, 9, 9}, Checksum{dfs.ChecksumCRC32, 4096}, ""},
		{"null", []byte{0, 1, 0, 0, 0, 2, 0}, Checksum{dfs.ChecksumNull, 512}, ""},
		{"empty", nil, Checksum{}, "volume: checksum file has 0 bytes, expected 7 or more: corrupt checksum file"},
		{"short", []byte{0, 1, 2, 0, 0, 2}, Checksum{}, "volume: checksum file has 6 bytes, expected 7 or more: corrupt checksum file"},
		{"version", []byte{0, 2, 2, 0, 0, 2, 0}, Checksum{}, "volume: checksum file of version 2, expected 1: corrupt checksum file"},
		{"type", []byte{0, 1, 5, 0, 0, 2, 0}, Checksum{5, 512}, "volume: checksum type 5, expected 0, 1 or 2: corrupt checksum file"},
		{"no chunk", []byte{0, 1, 2, 0, 0, 0, 0}, Checksum{2, 0}, "volume: 0 bytes per checksum, expected 1 to 16777216: corrupt checksum file"},
		{"negative chunk", []byte{0, 1, 2, 255, 255, 255, 255}, Checksum{2, -1}, "volume: -1 bytes per checksum, expected 1 to 16777216: corrupt checksum file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := parseHeader(tc.in)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				require.ErrorIs(t, err, ErrBadMeta)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, c)
			require.Equal(t, tc.in[:headerLen], c.appendHeader(nil))
		})
	}
}

func TestExtend(t *testing.T) {
	data := random(3000)
	whole, _ := crc32c.extend(nil, 0, 0, data)
	for _, cut := range []int{0, 1, 511, 512, 513, 1024, 2999, 3000} {
		a, sum := crc32c.extend(nil, 0, 0, data[:cut])
		b, _ := crc32c.extend(nil, sum, cut%512, data[cut:])
		if cut%512 != 0 && cut < len(data) {
			a = a[:len(a)-4] // the sum of the chunk that b goes on with
		}
		require.Equal(t, whole, append(a, b...), "cut at %d", cut)
	}
}

func TestPrefix(t *testing.T) {
	data := random(2000)
	sums, last := crc32c.extend(nil, 0, 0, data)
	_, partial := crc32c.extend(nil, 0, 0, data[1536:1600])
	stale, _ := crc32c.extend(nil, 0, 0, data[:1600])
	flipped := append([]byte(nil), data...)
	flipped[600] ^= 1
	for _, tc := range []struct {
		name       string
		data, sums []byte
		want       int
		sum        uint32
	}{
		{"all", data, sums, 2000, last},
		{"whole chunks", data[:1536], sums, 1536, 0},
		{"the last sum is of a longer chunk", data[:1600], sums, 1536, 0},
		{"the last sum is of a prefix", data, stale, 1600, partial},
		{"sums end early", data, sums[:8], 1024, 0},
		{"half a sum", data, sums[:7], 512, 0},
		{"no sums", data, nil, 0, 0},
		{"a bad chunk", flipped, sums, 512, 0},
		{"nothing", nil, sums, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, sum := crc32c.prefix(tc.data, tc.sums)
			require.Equal(t, tc.want, n)
			require.Equal(t, tc.sum, sum)
		})
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte{0, 1, 2, 0, 0, 2, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseHeader(b)
		if err != nil {
			require.ErrorIs(t, err, ErrBadMeta)
			return
		}
		require.Equal(t, b[:headerLen], c.appendHeader(nil))
		require.Positive(t, c.BytesPerChunk)
	})
}
