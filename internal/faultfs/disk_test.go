package faultfs

import (
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// memory is what the files of a tree hold.
func memory(n *node) (sum int64) {
	for _, e := range n.extents {
		sum += int64(len(e))
	}
	for _, e := range n.saved {
		sum += int64(len(e))
	}
	for _, c := range n.children {
		sum += memory(c)
	}
	return sum
}

// TestDiskAccounts runs random operations and power losses and checks that every byte is accounted for.
func TestDiskAccounts(t *testing.T) {
	rng := newRand(t, 0)
	for range 30 {
		d := NewDisk(Options{})
		for range 3 {
			s := &script{fs: d, root: "/", rng: rng}
			for range 300 {
				s.step()
			}
			if rng.IntN(2) == 0 {
				for _, f := range s.files {
					f.Close()
				}
				require.Zero(t, d.Counts().OpenFiles)
			}
			d.PowerLoss(rng)
			var used int64
			require.NoError(t, afero.Walk(d, "/", func(_ string, info fs.FileInfo, err error) error {
				if !info.IsDir() {
					used += info.Size()
				}
				return err
			}))
			require.Equal(t, used, d.Space().Used())
			require.Equal(t, memory(d.root), d.Counts().Memory)
			require.Zero(t, d.Counts().OpenFiles)
			require.Empty(t, d.orphans)
		}
		require.NoError(t, d.RemoveAll("/"))
		syncDir(t, d, "/")
		require.Zero(t, d.Space().Used())
		require.Zero(t, d.Counts().Memory)
		require.Zero(t, d.journal.len)
		require.Zero(t, d.journal.held)
	}
}

// TestPowerLossIsDeterministic: the same operations and the same seed leave the same bytes.
func TestPowerLossIsDeterministic(t *testing.T) {
	seed := newRand(t, 0).Uint64()
	run := func() ([]string, []string) {
		rng := rand.New(rand.NewPCG(seed, 0))
		d := NewDisk(Options{})
		s := &script{fs: d, root: "/", rng: rng}
		for range 2000 {
			s.step()
		}
		report := d.PowerLoss(rng)
		return report, dump(t, d, "/")
	}
	report1, left1 := run()
	report2, left2 := run()
	require.Equal(t, report1, report2)
	require.Equal(t, left1, left2)
}

// TestSyncedBytesAreNotKeptTwice: only what is overwritten after a Sync costs memory again, until the next one.
func TestSyncedBytesAreNotKeptTwice(t *testing.T) {
	const size = 100 * extentSize
	d := NewDisk(Options{})
	f, err := d.Create("/f")
	require.NoError(t, err)
	_, err = f.WriteAt(make([]byte, size), 0)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	_, err = f.WriteAt(make([]byte, size), size)
	require.NoError(t, err)
	require.EqualValues(t, 2*size, d.Counts().Memory)

	_, err = f.WriteAt([]byte("overwritten"), 3*extentSize)
	require.NoError(t, err)
	require.EqualValues(t, 2*size+extentSize, d.Counts().Memory)
	require.NoError(t, f.Sync())
	require.EqualValues(t, 2*size, d.Counts().Memory)

	require.NoError(t, f.Truncate(10))
	require.NoError(t, f.Sync())
	require.EqualValues(t, extentSize, d.Counts().Memory)
}

// TestSmallFilesAreSmall: a file takes a buffer of its size.
func TestSmallFilesAreSmall(t *testing.T) {
	d := NewDisk(Options{})
	for _, tt := range []struct{ size, memory int64 }{{0, 0}, {1, 256}, {256, 256}, {257, 512}, {1 << 10, 1 << 10}, {40_000, 64 << 10}, {65_537, 128 << 10}} {
		require.NoError(t, afero.WriteFile(d, "/f", make([]byte, tt.size), 0o644))
		require.Equal(t, tt.memory, d.Counts().Memory, "%d bytes", tt.size)
		require.NoError(t, d.Remove("/f"))
		require.Zero(t, d.Counts().Memory)
	}
}

// TestRemovedFilesAreForgotten: what could come back after a power loss is bounded.
func TestRemovedFilesAreForgotten(t *testing.T) {
	d := NewDisk(Options{})
	for range 5 * maxHeld / (1 << 20) {
		write(t, d, "/f", make([]byte, 1<<20), true)
		require.NoError(t, d.Remove("/f"))
	}
	require.LessOrEqual(t, d.Counts().Memory, int64(maxHeld))
	for range 2 * maxChanges {
		require.NoError(t, d.Mkdir("/d", 0o755))
		require.NoError(t, d.Remove("/d"))
	}
	require.LessOrEqual(t, d.journal.len, maxChanges)
	require.Zero(t, d.Counts().Memory)
}
