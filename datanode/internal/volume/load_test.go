package volume

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
)

// restart closes a set and opens its volume again.
func restart(t testing.TB, s *Set) *Set {
	t.Helper()
	s.Kill()
	return openOne(t, s.Volumes()[0].cfg)
}

func TestReload(t *testing.T) {
	disks(t, func(t *testing.T, cfg Config) {
		s := openOne(t, cfg)
		put(t, s, block(1, 1001, 700), random(700))
		put(t, s, block(300, 1002, 0), nil)
		w := create(t, s, block(2, 1003, 0))
		write(t, w, 0, random(5000))
		uuid, storage := s.UUID(), s.Volumes()[0].ID()
		before := s.Replicas()
		s = restart(t, s)
		require.Equal(t, uuid, s.UUID())
		require.Equal(t, storage, s.Volumes()[0].ID())
		after := s.Replicas()
		require.Len(t, after, 3)
		require.Equal(t, dfs.ReplicaRWR, after[1].State)
		for i := range after {
			require.Equal(t, before[i].Block, after[i].Block)
		}
		onDisk(t, s, block(2, 0, 0).ID, random(5000))
		require.Equal(t, random(700), readAll(t, s, block(1, 1001, 0)))
		usedIsExact(t, s)
	})
}

// TestTornTails loads what a crash may leave of a replica that was being written.
func TestTornTails(t *testing.T) {
	data := random(2000)
	sums, _ := crc32c.extend(crc32c.appendHeader(nil), 0, 0, data)
	stale := append([]byte(nil), sums...)
	_, sum := crc32c.extend(nil, 0, 0, data[1536:1700])
	binary.BigEndian.PutUint32(stale[len(stale)-4:], sum)
	bad := append([]byte(nil), data...)
	bad[700]++
	short, _ := crc32c.extend(crc32c.appendHeader(nil), 0, 0, data[:1700])
	for _, tc := range []struct {
		name       string
		data, meta []byte
		want       int // -1: the replica is gone
	}{
		{"nothing is torn", data, sums, 2000},
		{"data ahead of the sum of their last chunk", data, stale, 1700},
		{"data ahead by chunks", data, sums[:headerLen+8], 1024},
		{"data ahead by chunks, and the last sum is of a prefix", append(data[:1700:1700], random(3000)...), short, 1700},
		{"sums ahead of data", data[:1100], sums, 1024},
		{"half a sum", data, sums[:headerLen+6], 512},
		{"a bad chunk", bad, sums, 512},
		{"a header only", data, sums[:headerLen], 0},
		{"half a header", data, sums[:4], 0},
		{"a broken header", data, append([]byte{9}, sums[1:]...), 0},
		{"no data", nil, sums, 0},
		{"an empty checksum file", data, nil, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := openOne(t, memory())
			w := create(t, s, block(1, 1001, 0))
			require.NoError(t, w.Close())
			f := w.Info()
			fs := s.Volumes()[0].FS()
			require.NoError(t, afero.WriteFile(fs, f.Data, tc.data, 0o644))
			require.NoError(t, afero.WriteFile(fs, f.Meta, tc.meta, 0o644))
			s = restart(t, s)
			if tc.want < 0 {
				require.Empty(t, s.Replicas())
				usedIsExact(t, s)
				return
			}
			info, ok := s.Replica(f.ID)
			require.True(t, ok)
			require.Equal(t, dfs.ReplicaRWR, info.State)
			require.Equal(t, int64(tc.want), info.Len)
			onDisk(t, s, f.ID, data[:tc.want])
			usedIsExact(t, s)
		})
	}
}

// TestTornSum loads a replica whose last sum stands in two sectors of the disk, of which a power loss has left one as it
// was before the last write and one as it was after. What the old sum vouched for was acknowledged.
func TestTornSum(t *testing.T) {
	const chunk = 126 // its sum is the bytes 511 to 514 of the checksum file
	const start = chunk * 512
	data := random(start + 3*512)
	for _, tc := range []struct{ before, after int }{{1, 2}, {60, 448}, {448, 511}, {448, 512}, {448, 3 * 512}} {
		for _, firstIsNew := range []bool{false, true} {
			older, _ := crc32c.extend(crc32c.appendHeader(nil), 0, 0, data[:start+tc.before])
			meta, _ := crc32c.extend(crc32c.appendHeader(nil), 0, 0, data[:start+tc.after])
			if firstIsNew {
				meta = append(meta[:512:512], older[512:]...)
			} else {
				copy(meta[:512], older)
			}
			s := openOne(t, memory())
			w := create(t, s, block(1, 1001, 0))
			require.NoError(t, w.Close())
			f := w.Info()
			fs := s.Volumes()[0].FS()
			require.NoError(t, afero.WriteFile(fs, f.Data, data[:start+tc.after], 0o644))
			require.NoError(t, afero.WriteFile(fs, f.Meta, meta, 0o644))
			s = restart(t, s)
			info, ok := s.Replica(f.ID)
			require.True(t, ok)
			require.GreaterOrEqual(t, int(info.Len), start+tc.before)
			require.LessOrEqual(t, int(info.Len), start+tc.after)
			onDisk(t, s, f.ID, data[:info.Len])
			usedIsExact(t, s)
		}
	}
}

// TestLeftovers loads what a crash may leave between the steps of a rename, and what has no business there.
func TestLeftovers(t *testing.T) {
	data := random(700)
	for _, tc := range []struct {
		name   string
		break_ func(fs afero.Fs, l layout, f files)
		state  dfs.ReplicaState
		gs     dfs.GenStamp
		gone   bool
	}{
		{"caught on the way to or from rbw", func(fs afero.Fs, l layout, f files) {
			_ = fs.Rename(f.data, filepath.Join(l.rbw, filepath.Base(f.data)))
		}, dfs.ReplicaRWR, 1001, false},
		{"no checksum file", func(fs afero.Fs, l layout, f files) { _ = fs.Remove(f.meta) }, dfs.ReplicaFinalized, 0, false},
		{"no data file", func(fs afero.Fs, l layout, f files) { _ = fs.Remove(f.data) }, 0, 0, true},
		{"two checksum files", func(fs afero.Fs, l layout, f files) {
			b, _ := afero.ReadFile(fs, f.meta)
			_ = afero.WriteFile(fs, filepath.Join(filepath.Dir(f.meta), "blk_1073741825_1009.meta"), b, 0o644)
		}, dfs.ReplicaFinalized, 1009, false},
		{"in another directory", func(fs afero.Fs, l layout, f files) {
			dir := filepath.Join(l.finalized, "subdir9", "subdir8")
			_ = fs.MkdirAll(dir, 0o755)
			_ = fs.Rename(f.data, filepath.Join(dir, filepath.Base(f.data)))
			_ = fs.Rename(f.meta, filepath.Join(dir, filepath.Base(f.meta)))
		}, dfs.ReplicaFinalized, 1001, false},
		{"other files", func(fs afero.Fs, l layout, f files) {
			_ = afero.WriteFile(fs, filepath.Join(l.tmp, "blk_7"), data, 0o644)
			_ = afero.WriteFile(fs, filepath.Join(l.rbw, "blk_8_1.meta"), data, 0o644)
			_ = afero.WriteFile(fs, filepath.Join(filepath.Dir(f.data), "blk_x"), nil, 0o644)
			_ = afero.WriteFile(fs, filepath.Join(l.finalized, "dncp_block_verification.log"), nil, 0o644)
		}, dfs.ReplicaFinalized, 1001, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := openOne(t, memory())
			b := block(1, 1001, 700)
			put(t, s, b, data)
			info, _ := s.Replica(b.ID)
			v := s.Volumes()[0]
			tc.break_(v.FS(), v.layout, files{info.Data, info.Meta})
			s = restart(t, s)
			if tc.gone {
				require.Empty(t, s.Replicas())
				usedIsExact(t, s)
				return
			}
			require.Len(t, s.Replicas(), 1)
			info, _ = s.Replica(b.ID)
			require.Equal(t, tc.state, info.State)
			require.Equal(t, tc.gs, info.GenStamp)
			require.Equal(t, int64(700), info.Len)
			if tc.gs > 0 {
				onDisk(t, s, b.ID, data)
			}
			usedIsExact(t, s)
		})
	}
}

func TestTwoVolumesHoldABlock(t *testing.T) {
	disk := faultfs.NewDisk(faultfs.Options{})
	one := Config{FS: disk, Dir: "/1", Capacity: 1 << 30}
	two := Config{FS: disk, Dir: "/2", Capacity: 1 << 30}
	a := openOne(t, one)
	put(t, a, block(1, 1001, 3), []byte("old"))
	a.Kill()
	b := openSet(t, Options{Volumes: []Config{two}, UUID: a.UUID()})
	put(t, b, block(1, 1002, 3), []byte("new"))
	b.Kill()
	s := openSet(t, Options{Volumes: []Config{one, two}})
	require.Equal(t, []byte("new"), readAll(t, s, block(1, 1002, 0)))
	require.Len(t, s.Replicas(), 1)
	usedIsExact(t, s)

	s.Kill()
	_, err := Open(Options{Volumes: []Config{one, one}})
	require.EqualError(t, err, "volume: /1 and /1 both hold storage "+s.Volumes()[0].ID())
	_, err = Open(Options{Volumes: []Config{one}, UUID: "other"})
	require.EqualError(t, err, "volume: /1 belongs to datanode "+a.UUID()+", not to other")
}

func TestWrongPool(t *testing.T) {
	for _, tc := range []struct {
		name string
		pool Pool
		err  string
	}{
		{"cluster", Pool{ID: testPool.ID, ClusterID: "other", NamespaceID: 7},
			"volume: the volumes belong to another file system: Incompatible clusterIDs in /data: namenode clusterID = other; datanode clusterID = CID-test (IOException)"},
		{"namespace", Pool{ID: testPool.ID, ClusterID: "CID-test", NamespaceID: 8},
			"volume: the volumes belong to another file system: Incompatible namespaceIDs in /data: namenode namespaceID = 8; datanode namespaceID = 7 (IOException)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := openOne(t, memory())
			require.ErrorContains(t, s.Join(tc.pool), "Inconsistent namespace information")
			require.NoError(t, s.Join(testPool))
			cfg := s.Volumes()[0].cfg
			s.Kill()
			again, err := Open(Options{Volumes: []Config{cfg}})
			require.NoError(t, err)
			require.EqualError(t, again.Join(tc.pool), tc.err)
			require.NoError(t, again.Close())
		})
	}
}

// TestPowerLoss writes, syncs, writes more, by one writer after the other, and loses power: what was synced is there.
func TestPowerLoss(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		disk := faultfs.NewDisk(faultfs.Options{})
		s := openOne(t, Config{FS: disk, Dir: "/data", Capacity: 1 << 30})
		data := random(1 + rng.IntN(6000))
		b := block(1, 1001, 0)
		w := create(t, s, b)
		synced, done := 0, 0
		for done < len(data) {
			n := min(1+rng.IntN(1500), len(data)-done)
			if done%512 != 0 {
				n = min(n, 512-done%512)
			}
			write(t, w, done, data[done:done+n])
			done += n
			if rng.IntN(3) == 0 {
				require.NoError(t, w.Sync())
				synced = done
			}
			if rng.IntN(4) == 0 {
				w.Acked(int64(done))
				require.NoError(t, w.Close())
				next := Resume{Block: b, GenStamp: b.GenStamp + 1, Len: int64(done), Max: int64(done), Cancel: func() {}}
				var err error
				w, err = s.RecoverRBW(context.Background(), next)
				require.NoError(t, err)
				b.GenStamp++
				if rng.IntN(2) == 0 {
					require.NoError(t, w.Sync())
					synced = done
				}
			}
		}
		if rng.IntN(2) == 0 {
			_, err := w.Finalize()
			require.NoError(t, err)
			if synced > 0 {
				synced = done
			}
		}
		lost := disk.PowerLoss(rng)
		require.Error(t, w.Write(int64(done), []byte{1}, nil))
		s = restart(t, s)
		info, ok := s.Replica(b.ID)
		if synced == 0 && !ok {
			continue
		}
		require.True(t, ok, "%v", lost)
		require.GreaterOrEqual(t, info.Len, int64(synced), "%v %s", lost, info.State)
		if synced > 0 {
			got, err := afero.ReadFile(disk, info.Data)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data[:synced], got[:synced]), "%v", lost)
		}
		if info.State == dfs.ReplicaRWR {
			onDisk(t, s, b.ID, data[:info.Len])
		}
	}
}
