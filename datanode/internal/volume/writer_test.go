package volume

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
)

func TestLayout(t *testing.T) {
	disks(t, func(t *testing.T, cfg Config) {
		s := openOne(t, cfg)
		b := block(0x30201, 1001, 700)
		w := create(t, s, b)
		root := filepath.Join(cfg.Dir, "current", testPool.ID)
		for _, name := range []string{"blk_1073938945", "blk_1073938945_1001.meta"} {
			_, err := cfg.FS.Stat(filepath.Join(root, "current", "rbw", name))
			require.NoError(t, err)
		}
		write(t, w, 0, random(700))
		_, err := w.Finalize()
		require.NoError(t, err)
		require.NoError(t, w.Close())
		for _, name := range []string{"blk_1073938945", "blk_1073938945_1001.meta"} {
			_, err := cfg.FS.Stat(filepath.Join(root, "current", "finalized", "subdir3", "subdir2", name))
			require.NoError(t, err)
		}
		onDisk(t, s, b.ID, random(700))
		version, err := readProperties(cfg.FS, filepath.Join(cfg.Dir, "current", "VERSION"))
		require.NoError(t, err)
		require.Equal(t, properties{
			"storageID": s.Volumes()[0].ID(), "clusterID": "CID-test", "cTime": "0", "datanodeUuid": s.UUID(),
			"storageType": "DATA_NODE", "layoutVersion": "-57",
		}, version)
		version, err = readProperties(cfg.FS, filepath.Join(root, "current", "VERSION"))
		require.NoError(t, err)
		require.Equal(t, properties{"namespaceID": "7", "cTime": "0", "blockpoolID": testPool.ID, "layoutVersion": "-57"}, version)
	})
}

// TestPackets writes blocks in packets that overlap, continue chunks and repeat, and compares the files byte by byte.
func TestPackets(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	s := openOne(t, memory())
	for i := range 200 {
		data := random(rng.IntN(5000))
		b := block(dfs.BlockID(i), 1001, 0)
		w := create(t, s, b)
		for done := 0; done < len(data); {
			off := done
			if rng.IntN(3) == 0 {
				off = rng.IntN(done + 1)
			}
			n := min(1+rng.IntN(1500), len(data)-off)
			switch {
			case rng.IntN(2) == 0:
				off -= off % 512 // a chunk sent again from its beginning
				n = min(n+512, len(data)-off)
			case off%512 != 0:
				n = min(n, 512-off%512) // a chunk continued
			}
			write(t, w, off, data[off:off+n])
			done = max(done, off+n)
			require.Equal(t, int64(done), w.Len())
		}
		onDisk(t, s, b.ID, data)
		_, err := w.Finalize()
		require.NoError(t, err)
		require.NoError(t, w.Close())
		onDisk(t, s, b.ID, data)
		require.Equal(t, data, readAll(t, s, b))
	}
	usedIsExact(t, s)
}

func TestWriteRefusals(t *testing.T) {
	s := openOne(t, memory())
	w := create(t, s, block(1, 1001, 0))
	write(t, w, 0, random(100))
	require.EqualError(t, w.Write(101, []byte{1}, make([]byte, 4)),
		"Received an out-of-sequence packet for blk_1073741825_1001: it begins at 101, received so far are 100 bytes (IOException)")
	require.EqualError(t, w.Write(-1, []byte{1}, make([]byte, 4)),
		"Received an out-of-sequence packet for blk_1073741825_1001: it begins at -1, received so far are 100 bytes (IOException)")
	require.EqualError(t, w.Write(0, random(600), make([]byte, 4)), "volume: 4 bytes of sums for 600 bytes of data in chunks of 512")
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	onDisk(t, s, block(1, 0, 0).ID, random(100))
}

func TestOtherChecksums(t *testing.T) {
	for _, c := range []Checksum{{dfs.ChecksumCRC32, 100}, {dfs.ChecksumNull, 512}, {dfs.ChecksumCRC32C, 1}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			s := openOne(t, memory())
			b := block(1, 1001, 0)
			w, err := s.CreateRBW(context.Background(), Spec{Block: b, Type: dfs.StorageDisk, Checksum: c})
			require.NoError(t, err)
			data := random(1050)
			require.NoError(t, w.Write(0, data[:333], nil))
			require.NoError(t, w.Write(333, data[333:], nil))
			_, err = w.Finalize()
			require.NoError(t, err)
			require.NoError(t, w.Close())
			require.Equal(t, data, readAll(t, s, b))
			usedIsExact(t, s)
		})
	}
}

func TestCreateRefusals(t *testing.T) {
	s := openOne(t, memory())
	put(t, s, block(1, 1001, 3), []byte("abc"))
	w := create(t, s, block(2, 1005, 0))
	defer w.Close()
	ctx := context.Background()
	for _, tc := range []struct {
		name string
		b    dfs.Block
		tmp  bool
		repl bool
		err  string
	}{
		{"finalized", block(1, 1001, 0), false, false, "Block blk_1073741825_1001 already exists in state FINALIZED and thus cannot be created. (ReplicaAlreadyExistsException)"},
		{"finalized, newer, temporary", block(1, 1002, 0), true, false, "Block blk_1073741825_1002 already exists in state FINALIZED and thus cannot be created. (ReplicaAlreadyExistsException)"},
		{"rbw, same stamp", block(2, 1005, 0), false, true, "Block blk_1073741826_1005 already exists in state RBW and thus cannot be created. (ReplicaAlreadyExistsException)"},
		{"rbw, newer without the right", block(2, 1006, 0), false, false, "Block blk_1073741826_1006 already exists in state RBW and thus cannot be created. (ReplicaAlreadyExistsException)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := s.CreateRBW
			if tc.tmp {
				f = s.CreateTemporary
			}
			_, err := f(ctx, Spec{Block: tc.b, Type: dfs.StorageDisk, Checksum: crc32c, Replace: tc.repl, Cancel: func() {}})
			require.EqualError(t, err, tc.err)
		})
	}
	_, err := s.CreateRBW(ctx, Spec{Block: block(3, 1, 0), Type: dfs.StorageSSD, Checksum: crc32c})
	require.EqualError(t, err, "No more available volumes of storage type SSD (DiskOutOfSpaceException)")
	_, err = s.CreateRBW(ctx, Spec{Block: block(3, 1, 0), Type: dfs.StorageDisk})
	require.ErrorIs(t, err, ErrBadMeta)
}

// TestReplace makes way for a newer replica: the old writer is told to stop, and waited for.
func TestReplace(t *testing.T) {
	s := openOne(t, memory())
	stop := make(chan struct{})
	old, err := s.CreateRBW(context.Background(), Spec{Block: block(1, 1001, 0), Type: dfs.StorageDisk, Checksum: crc32c, Cancel: func() { close(stop) }})
	require.NoError(t, err)
	write(t, old, 0, random(5000))
	go func() {
		<-stop
		old.Close()
	}()
	w, err := s.CreateRBW(context.Background(), Spec{Block: block(1, 1002, 0), Type: dfs.StorageDisk, Checksum: crc32c, Replace: true, Cancel: func() {}})
	require.NoError(t, err)
	write(t, w, 0, []byte("new"))
	_, err = w.Finalize()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	onDisk(t, s, block(1, 0, 0).ID, []byte("new"))
	usedIsExact(t, s)
}

func TestTemporaryGoesWithItsWriter(t *testing.T) {
	s := openOne(t, memory())
	spec := Spec{Block: block(1, 1001, 5000), Type: dfs.StorageDisk, Checksum: crc32c, Cancel: func() {}}
	w, err := s.CreateTemporary(context.Background(), spec)
	require.NoError(t, err)
	write(t, w, 0, random(1000))
	require.Empty(t, s.Reports()[s.Volumes()[0]], "a copy in the making is not reported")
	_, err = s.Open(context.Background(), spec.Block, 0)
	require.ErrorContains(t, err, "Replica is not readable")
	require.NoError(t, w.Close())
	require.Empty(t, s.Replicas())
	usedIsExact(t, s)

	w, err = s.CreateTemporary(context.Background(), spec)
	require.NoError(t, err)
	write(t, w, 0, random(1000))
	_, err = w.ToRBW()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	info, _ := s.Replica(spec.Block.ID)
	require.Equal(t, dfs.ReplicaRBW, info.State)
	require.Equal(t, int64(1000), info.Visible)
	onDisk(t, s, spec.Block.ID, random(1000))
	usedIsExact(t, s)
}

func TestCapacity(t *testing.T) {
	cfg := memory()
	cfg.Capacity = 10_000
	s := openOne(t, cfg)
	w := create(t, s, block(1, 1001, 6000))
	_, room := s.Volumes()[0].Space()
	require.Equal(t, int64(10_000-6000-7), room)
	_, err := s.CreateRBW(context.Background(), Spec{Block: block(2, 1001, 6000), Type: dfs.StorageDisk, Checksum: crc32c})
	require.EqualError(t, err, "Out of space: The volume with the most available space (=3993 B) is less than the block size (=6055 B). (DiskOutOfSpaceException)")
	write(t, w, 0, random(9000))
	err = w.Write(9000-9000%512, random(2000), make([]byte, 16))
	require.ErrorContains(t, err, "no room for")
	onDisk(t, s, block(1, 0, 0).ID, random(9000))
	require.NoError(t, w.Close())
	usedIsExact(t, s)
}

func TestRoundRobin(t *testing.T) {
	disk := faultfs.NewDisk(faultfs.Options{})
	var o Options
	for i, size := range []int64{1 << 30, 50, 1 << 30} {
		o.Volumes = append(o.Volumes, Config{FS: disk, Dir: fmt.Sprint("/", i), Capacity: size})
	}
	s := openSet(t, o)
	var got []string
	for i := range 5 {
		w := create(t, s, block(dfs.BlockID(i), 1001, 100))
		got = append(got, w.Storage().Dir())
		require.NoError(t, w.Close())
	}
	require.Equal(t, []string{"/0", "/2", "/0", "/2", "/0"}, got)
	_, err := Open(Options{})
	require.EqualError(t, err, "volume: no volumes are given")
	require.NoError(t, afero.WriteFile(disk, "/1/current/VERSION", []byte("x"), 0o644))
	_, err = Open(o)
	require.EqualError(t, err, `volume: /1/current/VERSION: line 1: expected key=value, read "x": corrupt VERSION file`)
}
