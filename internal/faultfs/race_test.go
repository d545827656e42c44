package faultfs

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// TestConcurrentHandles reads and writes one file from many sides while others make and remove files, sync and freeze.
func TestConcurrentHandles(t *testing.T) {
	const parts, partSize = 8, 70_000
	for name, make_ := range losables {
		t.Run(name, func(t *testing.T) {
			fsys, dir := make_(t)
			f, err := fsys.Create(dir + "f")
			require.NoError(t, err)
			var wg sync.WaitGroup
			part := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, partSize) }
			for i := range parts {
				wg.Go(func() {
					buf := make([]byte, partSize)
					for range 5 {
						if _, err := f.WriteAt(part(i), int64(i)*partSize); err != nil {
							t.Error(err)
						}
						if _, err := f.ReadAt(buf, int64(i)*partSize); err != nil || !bytes.Equal(buf, part(i)) {
							t.Errorf("part %d: not what was written: %v", i, err)
						}
						if err := f.Sync(); err != nil {
							t.Error(err)
						}
						other := fmt.Sprint(dir, "other", i)
						if err := afero.WriteFile(fsys, other, buf[:100], 0o644); err != nil {
							t.Error(err)
						}
						if err := fsys.Rename(other, other+"x"); err != nil {
							t.Error(err)
						}
						if err := fsys.Remove(other + "x"); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			fsys.PowerLoss(newRand(t, 0))
			f.Close()
			got, err := afero.ReadFile(fsys, dir+"f")
			require.NoError(t, err)
			for i := range parts {
				require.Equal(t, part(i), got[i*partSize:(i+1)*partSize])
			}
		})
	}
}

// TestPowerLossAmidWork loses power while files are used: everybody sees errors or success, nothing is torn apart.
func TestPowerLossAmidWork(t *testing.T) {
	for name, make_ := range losables {
		t.Run(name, func(t *testing.T) {
			fsys, dir := make_(t)
			rng := newRand(t, 0)
			stop := make(chan struct{})
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					path := fmt.Sprint(dir, "f", i)
					for {
						select {
						case <-stop:
							return
						default:
						}
						if f, err := fsys.Create(path); err == nil {
							f.Write(make([]byte, 10_000))
							f.Sync()
							fsys.Remove(path)
							f.WriteAt(make([]byte, 10), 5)
							f.Close()
						}
					}
				})
			}
			for range 10 {
				fsys.PowerLoss(rng)
			}
			close(stop)
			wg.Wait()
			if d, ok := fsys.(*Disk); ok {
				require.NoError(t, d.RemoveAll("/"))
				syncDir(t, d, "/")
				require.Zero(t, d.Space().Used())
				require.Zero(t, d.Counts().Memory)
				require.Zero(t, d.Counts().OpenFiles)
			}
		})
	}
}
