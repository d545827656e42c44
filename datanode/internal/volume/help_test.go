package volume

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
)

var testPool = Pool{ID: "BP-1-127.0.0.1-1", ClusterID: "CID-test", NamespaceID: 7}

func random(n int) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func block(id dfs.BlockID, gs dfs.GenStamp, n int) dfs.Block {
	return dfs.Block{ID: 1<<30 + id, GenStamp: gs, Len: int64(n)}
}

// disks are the file systems that tests run on.
func disks(t *testing.T, f func(t *testing.T, cfg Config)) {
	t.Run("os", func(t *testing.T) { f(t, Config{FS: afero.NewOsFs(), Dir: t.TempDir(), Capacity: 1 << 30}) })
	t.Run("memory", func(t *testing.T) {
		f(t, Config{FS: faultfs.NewDisk(faultfs.Options{}), Dir: "/data", Capacity: 1 << 30})
	})
}

func openSet(t testing.TB, o Options) *Set {
	t.Helper()
	s, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	require.NoError(t, s.Join(testPool))
	return s
}

func openOne(t testing.TB, cfg Config) *Set { return openSet(t, Options{Volumes: []Config{cfg}}) }

func memory() Config {
	return Config{FS: faultfs.NewDisk(faultfs.Options{}), Dir: "/data", Capacity: 1 << 30}
}

func create(t testing.TB, s *Set, b dfs.Block) *Writer {
	t.Helper()
	w, err := s.CreateRBW(context.Background(), Spec{Block: b, Type: dfs.StorageDisk, Checksum: crc32c, Cancel: func() {}})
	require.NoError(t, err)
	return w
}

// write appends data with sums where it begins a chunk.
func write(t testing.TB, w *Writer, off int, data []byte) {
	t.Helper()
	sums, _ := crc32c.extend(nil, 0, 0, data)
	require.NoError(t, w.Write(int64(off), data, sums))
}

// put makes a finalized replica.
func put(t testing.TB, s *Set, b dfs.Block, data []byte) {
	t.Helper()
	w := create(t, s, dfs.Block{ID: b.ID, GenStamp: b.GenStamp})
	write(t, w, 0, data)
	got, err := w.Finalize()
	require.NoError(t, err)
	require.Equal(t, b, got)
	require.NoError(t, w.Close())
}

// readAll reads what a reader sees, each chunk verified.
func readAll(t testing.TB, s *Set, b dfs.Block) []byte {
	t.Helper()
	rd, err := s.Open(context.Background(), b, 0)
	require.NoError(t, err)
	defer rd.Close()
	return readFrom(t, rd)
}

func readFrom(t testing.TB, rd *Reader) []byte {
	t.Helper()
	data := make([]byte, rd.Block.Len)
	require.NoError(t, rd.ReadAt(data, 0))
	c := rd.Checksum
	sums, err := rd.Sums(make([]byte, c.metaLen(rd.Block.Len)), 0, len(data))
	require.NoError(t, err)
	good, _ := c.prefix(data, sums)
	require.Equal(t, len(data), good, "checksums")
	return data
}

// onDisk checks that the files of a replica are exactly what they should be.
func onDisk(t testing.TB, s *Set, id dfs.BlockID, data []byte) {
	t.Helper()
	info, ok := s.Replica(id)
	require.True(t, ok)
	fs := s.Volumes()[0].FS()
	got, err := afero.ReadFile(fs, info.Data)
	require.NoError(t, err)
	require.Equal(t, len(data), len(got))
	require.Equal(t, data, got)
	meta, err := afero.ReadFile(fs, info.Meta)
	require.NoError(t, err)
	want, _ := crc32c.extend(crc32c.appendHeader(nil), 0, 0, data)
	require.Equal(t, want, meta)
}

// usedIsExact checks the accounting against the files.
func usedIsExact(t testing.TB, s *Set) {
	t.Helper()
	for _, v := range s.Volumes() {
		sum := int64(0)
		for _, dir := range []string{v.layout.finalized, v.layout.rbw, v.layout.tmp} {
			require.NoError(t, afero.Walk(v.FS(), dir, func(_ string, i os.FileInfo, err error) error {
				if err == nil && !i.IsDir() {
					sum += i.Size()
				}
				return err
			}))
		}
		require.Equal(t, sum, v.Used(), "used of %s", v.Dir())
		require.Zero(t, v.Reserved(), "reserved of %s", v.Dir())
	}
}
