package datanode

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// TestStress has writers that finish, leave, and send garbage, readers, and deletions, all at once; then everything is
// counted.
func TestStress(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) { stress(t, seed) })
}

func stress(t *testing.T, seed uint64) {
	c := newMemory(t, 3, nil)
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			for i := range 8 {
				id := dfs.BlockID(worker*100 + i)
				data := random(1 + rng.IntN(100_000))
				w := openWriter(t, c.dns, block(id, 1001, len(data)), stageCreate, nil)
				switch rng.IntN(4) {
				case 0: // leaves in the middle
					w.send(0, data[:1+rng.IntN(len(data))])
				case 1: // sends garbage
					w.send(0, data)
					_, _ = w.Write(data[:min(len(data), 500)])
				default:
					w.all(0, data, (1+rng.IntN(126))*512)
					for _, d := range c.dns {
						mustRead(t, d, block(id, 1001, 0), data)
					}
					if rng.IntN(2) == 0 {
						c.dns[rng.IntN(3)].set.Invalidate(block(id, 1001, 0))
					}
				}
				w.Close()
				r := connect(t, c.dns[rng.IntN(3)]) // leaves without reading
				_ = transfer.WriteOp(r, transfer.OpReadBlock, readOp(block(id, 1001, 0), 0, int64(len(data))))
				r.Close()
			}
		})
	}
	wg.Wait()
	time.Sleep(10 * time.Second) // some wait for bytes that never come
	for _, d := range c.dns {
		require.Zero(t, d.Counts().Xceivers)
		require.NoError(t, d.Verify(context.Background()))
		require.NoError(t, d.Close())
		s := d.Storages()[0]
		require.Zero(t, s.Reserved)
		sum := int64(0)
		for _, r := range d.Replicas() {
			for _, name := range []string{r.Data, r.Meta} {
				i, err := r.FS.Stat(name)
				require.NoError(t, err)
				sum += i.Size()
			}
		}
		require.Equal(t, sum, s.Used)
	}
}
