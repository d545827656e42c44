package faultfs

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// losable is what can lose power.
type losable interface {
	afero.Fs
	PowerLoss(*rand.Rand) []string
}

// losables are the implementations, each with an empty directory to work in.
var losables = map[string]func(t *testing.T) (losable, string){
	"disk":         func(t *testing.T) (losable, string) { return NewDisk(Options{}), "/" },
	"wrapped disk": func(t *testing.T) (losable, string) { return Wrap(NewDisk(Options{})), "/" },
	"directory": func(t *testing.T) (losable, string) {
		s := Wrap(afero.NewOsFs(), WithPowerLoss(), WithSpace(NewSpace(0)))
		t.Cleanup(func() { s.Close() })
		return s, t.TempDir() + "/"
	},
}

// forEachLosable runs a property some times over each implementation.
func forEachLosable(t *testing.T, rounds int, f func(t *testing.T, rng *rand.Rand, fsys losable, dir string)) {
	for name, make := range losables {
		t.Run(name, func(t *testing.T) {
			rng := newRand(t, 0)
			if name == "directory" {
				rounds /= 2
			}
			for range rounds {
				fsys, dir := make(t)
				f(t, rng, fsys, dir)
			}
		})
	}
}

func write(t *testing.T, fsys afero.Fs, name string, data []byte, sync bool) {
	f, err := fsys.Create(name)
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, err)
	if sync {
		require.NoError(t, f.Sync())
	}
	require.NoError(t, f.Close())
}

func syncDir(t *testing.T, fsys afero.Fs, name string) {
	f, err := fsys.Open(name)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
}

func TestPowerLossSectors(t *testing.T) {
	outcomes := map[string]int{}
	forEachLosable(t, 80, func(t *testing.T, rng *rand.Rand, fsys losable, dir string) {
		name := dir + "f"
		f, err := fsys.Create(name)
		require.NoError(t, err)
		var image, now []byte
		for step := range 2 + rng.IntN(12) {
			if rng.IntN(4) == 0 {
				require.NoError(t, f.Sync())
				image = bytes.Clone(now)
				continue
			}
			off, n := rng.IntN(len(now)+1), 1+rng.IntN(60_000)
			if rng.IntN(5) == 0 {
				off += rng.IntN(60_000) // leaves a hole
			}
			data := bytes.Repeat([]byte{byte(step + 1)}, n)
			_, err := f.WriteAt(data, int64(off))
			require.NoError(t, err)
			if len(now) < off+n {
				now = append(now, make([]byte, off+n-len(now))...)
			}
			copy(now[off:], data)
		}
		if image == nil {
			require.NoError(t, f.Sync())
			image = bytes.Clone(now)
		}
		report := fsys.PowerLoss(rng)
		_, err = f.WriteAt([]byte("x"), 0)
		require.ErrorIs(t, err, syscall.EIO, "a handle must not outlive the power")
		f.Close()

		got, err := afero.ReadFile(fsys, name)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(got), len(image))
		require.LessOrEqual(t, len(got), len(now))
		old := append(bytes.Clone(image), make([]byte, len(now)-len(image))...)
		for off := 0; off < len(got); off += sectorSize {
			end := min(len(got), off+sectorSize)
			if !bytes.Equal(got[off:end], old[off:end]) && !bytes.Equal(got[off:end], now[off:end]) {
				t.Fatalf("sector at %d is neither as synced nor as written: %v", off, report)
			}
		}
		switch {
		case bytes.Equal(got, now):
			outcomes["kept"]++
		case bytes.Equal(got, image):
			outcomes["dropped"]++
		default:
			outcomes["torn"]++
		}
	})
	require.Len(t, outcomes, 3, "some outcome never happens: %v", outcomes)
}

func TestPowerLossTruncate(t *testing.T) {
	forEachLosable(t, 60, func(t *testing.T, rng *rand.Rand, fsys losable, dir string) {
		image := bytes.Repeat([]byte("old."), 50_000)
		write(t, fsys, dir+"f", image, true)
		f, err := fsys.OpenFile(dir+"f", os.O_RDWR, 0)
		require.NoError(t, err)
		size := rng.IntN(len(image))
		require.NoError(t, f.Truncate(int64(size)))
		tail := bytes.Repeat([]byte("new."), rng.IntN(1000))
		_, err = f.WriteAt(tail, int64(size))
		require.NoError(t, err)
		now := append(bytes.Clone(image[:size]), tail...)
		if rng.IntN(2) == 0 {
			require.NoError(t, f.Sync())
			image = now
		}
		fsys.PowerLoss(rng)
		f.Close()
		got, err := afero.ReadFile(fsys, dir+"f")
		require.NoError(t, err)
		old := append(bytes.Clone(image), make([]byte, max(0, len(now)-len(image)))...)
		written := append(bytes.Clone(now), old[len(now):]...)
		for off := 0; off < len(got); off += sectorSize {
			end := min(len(got), off+sectorSize)
			require.True(t, bytes.Equal(got[off:end], old[off:end]) || bytes.Equal(got[off:end], written[off:end]),
				"sector at %d of %d (synced %d, written %d)", off, len(got), len(image), len(now))
		}
	})
}

func TestPowerLossKeepsOrderOfNames(t *testing.T) {
	seen := map[int]bool{}
	forEachLosable(t, 60, func(t *testing.T, rng *rand.Rand, fsys losable, dir string) {
		const files = 8
		durable := rng.IntN(files + 1)
		for i := range files {
			if i == durable {
				syncDir(t, fsys, dir)
			}
			write(t, fsys, fmt.Sprint(dir, i), nil, false)
		}
		if durable == files {
			syncDir(t, fsys, dir)
		}
		fsys.PowerLoss(rng)
		n := 0
		for ; n < files; n++ {
			if _, err := fsys.Stat(fmt.Sprint(dir, n)); err != nil {
				require.ErrorIs(t, err, fs.ErrNotExist)
				break
			}
		}
		require.GreaterOrEqual(t, n, durable)
		for i := n; i < files; i++ {
			_, err := fsys.Stat(fmt.Sprint(dir, i))
			require.ErrorIs(t, err, fs.ErrNotExist, "file %d is there, an earlier one is not", i)
		}
		seen[n-durable] = true
	})
	require.Greater(t, len(seen), 3)
}

// TestPowerLossReplace is the dance of every atomic file: write aside, sync, rename, sync the directory.
func TestPowerLossReplace(t *testing.T) {
	for _, dance := range []struct {
		name              string
		syncFile, syncDir bool
		allowed           []string // what may be left
	}{
		{"all of it", true, true, []string{"new"}},
		{"no sync of the directory", true, false, []string{"old", "new"}},
		{"no sync of the file", false, true, []string{"new", "torn"}},
	} {
		t.Run(dance.name, func(t *testing.T) {
			seen := map[string]bool{}
			forEachLosable(t, 60, func(t *testing.T, rng *rand.Rand, fsys losable, dir string) {
				write(t, fsys, dir+"current", bytes.Repeat([]byte("old"), 1000), true)
				write(t, fsys, dir+"aside", bytes.Repeat([]byte("new"), 1000), dance.syncFile)
				require.NoError(t, fsys.Rename(dir+"aside", dir+"current"))
				if dance.syncDir {
					syncDir(t, fsys, dir)
				}
				fsys.PowerLoss(rng)
				got, err := afero.ReadFile(fsys, dir+"current")
				require.NoError(t, err)
				left := "torn"
				for _, whole := range []string{"old", "new"} {
					if bytes.Equal(got, bytes.Repeat([]byte(whole), 1000)) {
						left = whole
					}
				}
				seen[left] = true
				require.Contains(t, dance.allowed, left)
			})
			require.Len(t, seen, len(dance.allowed), "seen only %v", seen)
		})
	}
}

func TestPowerLossRemoval(t *testing.T) {
	seen := map[bool]bool{}
	forEachLosable(t, 40, func(t *testing.T, rng *rand.Rand, fsys losable, dir string) {
		want := bytes.Repeat([]byte("x"), 100_000)
		write(t, fsys, dir+"f", want, true)
		require.NoError(t, fsys.Remove(dir+"f"))
		durable := rng.IntN(2) == 0
		if durable {
			syncDir(t, fsys, dir)
		}
		fsys.PowerLoss(rng)
		got, err := afero.ReadFile(fsys, dir+"f")
		seen[err == nil] = true
		if err == nil {
			require.False(t, durable, "the removal was synced")
			require.Equal(t, want, got)
		} else {
			require.ErrorIs(t, err, fs.ErrNotExist)
		}
	})
	require.Len(t, seen, 2)
}

// TestPowerLossPath syncs only the file: the directories that lead to it, made before, are then durable too.
func TestPowerLossPath(t *testing.T) {
	forEachLosable(t, 20, func(t *testing.T, rng *rand.Rand, fsys losable, dir string) {
		require.NoError(t, fsys.MkdirAll(dir+"a/b/c", 0o755))
		write(t, fsys, dir+"a/other", nil, false)
		write(t, fsys, dir+"a/b/c/f", []byte("bytes"), true)
		require.NoError(t, fsys.Rename(dir+"a/b/c/f", dir+"a/g"))
		syncDir(t, fsys, dir+"a")
		fsys.PowerLoss(rng)
		got, err := afero.ReadFile(fsys, dir+"a/g")
		require.NoError(t, err)
		require.Equal(t, "bytes", string(got))
	})
}

// TestPowerLossAnywhere runs random operations, loses power, and checks that a sane file system is left: what is there
// can be used and removed, and is durable.
func TestPowerLossAnywhere(t *testing.T) {
	forEachLosable(t, 20, func(t *testing.T, rng *rand.Rand, fsys losable, dir string) {
		s := &script{fs: fsys, root: dir, rng: rng}
		for range 300 {
			s.step()
		}
		fsys.PowerLoss(rng)
		left := dump(t, fsys, dir)
		require.Empty(t, fsys.PowerLoss(rng), "nothing was written since the last loss")
		require.Equal(t, left, dump(t, fsys, dir))
		for _, f := range s.files {
			f.Close()
		}
		require.Equal(t, left, dump(t, fsys, dir))
	})
}

// TestHeldHandlesAreBounded: removed files cost few handles, and none once the file system is closed.
func TestHeldHandlesAreBounded(t *testing.T) {
	inner := Wrap(afero.NewOsFs())
	s, dir := Wrap(plain{inner}, WithPowerLoss()), t.TempDir()
	for i := range 3 * maxHeldFiles {
		write(t, s, fmt.Sprint(dir, "/", i), []byte("x"), true)
	}
	for i := range 3 * maxHeldFiles {
		require.NoError(t, s.Remove(fmt.Sprint(dir, "/", i)))
		require.EqualValues(t, min(i+1, maxHeldFiles), inner.Counts().OpenFiles)
	}
	require.NoError(t, s.Close())
	require.Zero(t, inner.Counts().OpenFiles)
}
