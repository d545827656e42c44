package faultfs

import (
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// spaced are file systems with a capacity that they share with nobody.
var spaced = map[string]func(s *Space) afero.Fs{
	"disk":         func(s *Space) afero.Fs { return NewDisk(Options{Space: s}) },
	"null disk":    func(s *Space) afero.Fs { return NewDisk(Options{Space: s, Discard: Everything}) },
	"wrapped disk": func(s *Space) afero.Fs { return Wrap(NewDisk(Options{Space: s})) },
	"directory":    func(s *Space) afero.Fs { return Wrap(afero.NewOsFs(), WithSpace(s)) },
	"directory with power loss": func(s *Space) afero.Fs {
		return Wrap(afero.NewOsFs(), WithSpace(s), WithPowerLoss())
	},
}

func TestSpace(t *testing.T) {
	for name, make_ := range spaced {
		t.Run(name, func(t *testing.T) {
			space := NewSpace(1000)
			fsys, dir := make_(space), t.TempDir()
			require.NoError(t, fsys.MkdirAll(dir, 0o755))
			f, err := fsys.Create(filepath.Join(dir, "f"))
			require.NoError(t, err)
			_, err = f.Write(make([]byte, 600))
			require.NoError(t, err)
			capacity, used, free := fsys.(interface{ Usage() (int64, int64, int64) }).Usage()
			require.Equal(t, []int64{1000, 600, 400}, []int64{capacity, used, free})

			n, err := f.Write(make([]byte, 600))
			require.Equal(t, 400, n, "what fits is written")
			require.ErrorIs(t, err, syscall.ENOSPC)
			n, err = f.Write([]byte("x"))
			require.Zero(t, n)
			require.ErrorIs(t, err, syscall.ENOSPC)
			require.ErrorIs(t, f.Truncate(1001), syscall.ENOSPC)
			_, err = f.WriteAt(make([]byte, 1000), 0)
			require.NoError(t, err, "overwriting takes no room")
			info, err := f.Stat()
			require.NoError(t, err)
			require.EqualValues(t, 1000, info.Size())

			require.NoError(t, f.Truncate(100))
			require.EqualValues(t, 900, space.Available())
			space.Fill()
			_, err = f.WriteAt([]byte("x"), 100)
			require.ErrorIs(t, err, syscall.ENOSPC)
			space.Reserve(500)
			require.EqualValues(t, 400, space.Available())

			require.NoError(t, fsys.Remove(f.Name()))
			require.EqualValues(t, 100, space.Used(), "it is still open")
			require.NoError(t, f.Close())
			require.Zero(t, space.Used())

			require.NoError(t, afero.WriteFile(fsys, filepath.Join(dir, "a"), make([]byte, 200), 0o644))
			require.NoError(t, afero.WriteFile(fsys, filepath.Join(dir, "b"), make([]byte, 300), 0o644))
			require.NoError(t, fsys.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
			require.EqualValues(t, 200, space.Used())
			require.NoError(t, afero.WriteFile(fsys, filepath.Join(dir, "b"), make([]byte, 10), 0o644))
			require.EqualValues(t, 10, space.Used())
			require.NoError(t, fsys.RemoveAll(dir))
			require.Zero(t, space.Used())
		})
	}
}

func TestSpaceIsShared(t *testing.T) {
	space := NewSpace(1000)
	a, b := NewDisk(Options{Space: space}), NewDisk(Options{Space: space})
	require.NoError(t, afero.WriteFile(a, "/f", make([]byte, 800), 0o644))
	require.ErrorIs(t, afero.WriteFile(b, "/f", make([]byte, 300), 0o644), syscall.ENOSPC)
}

func TestSpaceWithoutLimit(t *testing.T) {
	capacity, used, free := Wrap(afero.NewOsFs()).Usage()
	require.Equal(t, []int64{math.MaxInt64, 0, math.MaxInt64}, []int64{capacity, used, free})
}

// TestSpaceIsNeverOverdrawn writes from many sides at once.
func TestSpaceIsNeverOverdrawn(t *testing.T) {
	space := NewSpace(100_000)
	d := NewDisk(Options{Space: space})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var written int64
	for i := range 8 {
		wg.Go(func() {
			f, err := d.Create(string(rune('a' + i)))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for {
				n, err := f.Write(make([]byte, 777))
				mu.Lock()
				written += int64(n)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 100_000, written)
	require.EqualValues(t, 100_000, space.Used())
}

func TestCharge(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), make([]byte, 123), 0o644))
	space := NewSpace(1000)
	s := Wrap(afero.NewOsFs(), WithSpace(space))
	require.NoError(t, s.Charge(dir))
	require.EqualValues(t, 123, space.Used())
	require.NoError(t, s.Remove(filepath.Join(dir, "f")))
	require.Zero(t, space.Used())
}

// TestDiscard keeps the bytes of meta files only.
func TestDiscard(t *testing.T) {
	d := NewDisk(Options{Capacity: 20 << 40, Discard: func(path string) bool { return filepath.Ext(path) != ".meta" }})
	f, err := d.Create("/blk_1")
	require.NoError(t, err)
	packet := make([]byte, 64<<10)
	packet[0] = 1
	const size = 1 << 40
	for off := int64(0); off < size; off += size / 16 {
		_, err := f.WriteAt(packet, off)
		require.NoError(t, err)
	}
	require.NoError(t, f.Truncate(size))
	_, err = f.ReadAt(packet, 0)
	require.NoError(t, err)
	require.Equal(t, make([]byte, len(packet)), packet)
	require.EqualValues(t, size, d.Space().Used())
	require.Zero(t, d.Counts().Memory)
	require.NoError(t, f.Sync())
	d.PowerLoss(newRand(t, 0))
	info, err := d.Stat("/blk_1")
	require.NoError(t, err)
	require.EqualValues(t, size, info.Size())

	require.NoError(t, afero.WriteFile(d, "/blk_1.meta", []byte("sums"), 0o644))
	requireContent(t, d, "/blk_1.meta", "sums")
}

// TestSpaceAfterFailedWrite: a write that fails further in takes only what it wrote.
func TestSpaceAfterFailedWrite(t *testing.T) {
	space := NewSpace(1000)
	inner := Wrap(afero.NewOsFs())
	s := Wrap(afero.Fs(plain{inner}), WithSpace(space))
	inner.Inject(Rule{Kinds: Write, Err: syscall.EIO, Torn: 3})
	f, err := s.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	n, err := f.Write(make([]byte, 500))
	require.Equal(t, 3, n)
	require.ErrorIs(t, err, syscall.EIO)
	require.EqualValues(t, 3, space.Used())
	require.NoError(t, f.Close())
	require.NoError(t, s.Remove(f.Name()))
	require.Zero(t, space.Used())
}

// plain hides that a file system can lose power, which would take over its capacity too.
type plain struct{ afero.Fs }
