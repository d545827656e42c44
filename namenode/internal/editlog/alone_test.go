package editlog

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// An idle journal commits an op in its caller's goroutine as soon as syncs are known to be quick.
func TestTryAppend(t *testing.T) {
	for _, sync := range []SyncMode{SyncGroup, SyncPerOp, SyncAsync, SyncNone} {
		t.Run(sync.String(), func(t *testing.T) {
			fs, steady := newDisk(), true
			o := options(fs)
			o.Sync, o.Steady = sync, func() bool { return steady }
			m := newMachine()
			j := openLocal(t, m, o)
			_, done, err := j.TryAppend(addOp{"a", 1})
			require.NoError(t, err)
			if sync == SyncAsync || sync == SyncNone {
				require.True(t, done)
			} else {
				require.False(t, done, "nobody knows yet how long a sync takes")
				_, err = j.Append(t.Context(), addOp{"a", 1})
				require.NoError(t, err)
			}
			for i := range 3 {
				got, done, err := j.TryAppend(addOp{"a", 1})
				require.NoError(t, err)
				require.True(t, done)
				require.EqualValues(t, 2+i, got)
			}
			steady = false
			_, done, err = j.TryAppend(addOp{"a", 1})
			require.NoError(t, err)
			require.False(t, done, "the disk is slow on purpose")
			steady = true
			_, done, err = j.TryAppend(addOp{string(make([]byte, maxOpLen)), 1})
			require.True(t, done)
			require.ErrorIs(t, err, ErrTooLarge)
			require.EqualValues(t, 4, j.Stats().Ops)

			fs.fault = func(int, string) (int, error) { return 0, errInjected }
			_, done, err = j.TryAppend(addOp{"a", 1})
			require.True(t, done)
			require.ErrorIs(t, err, ErrFailed)
			require.ErrorIs(t, err, errInjected)
			_, done, _ = j.TryAppend(addOp{"a", 1})
			require.False(t, done)
			fs.fault = nil
			require.ErrorIs(t, j.Close(), errInjected)
			require.EqualValues(t, 4, m.counters["a"])
		})
	}
}

// A caller does not commit while the committer is at it, nor before those who wait, nor where syncs have become slow.
func TestTryAppendGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := time.Duration(0)
		hang := make(chan struct{})
		var hanging atomic.Bool
		j := openLocal(t, newMachine(), options(&slowFs{Fs: afero.NewMemMapFs(), sync: func() {
			if hanging.Load() {
				<-hang
			}
			time.Sleep(took)
		}}))
		refused := func(why string) {
			_, done, err := j.TryAppend(addOp{"a", 1})
			require.NoError(t, err)
			require.False(t, done, why)
		}
		appended := func() {
			_, err := j.Append(t.Context(), addOp{"a", 1})
			require.NoError(t, err)
		}
		appended()
		_, done, err := j.TryAppend(addOp{"a", 1})
		require.NoError(t, err)
		require.True(t, done)

		took = 10 * time.Millisecond
		appended() // finds out
		refused("syncs are slow")
		took = 0
		for range 100 {
			appended()
		}
		_, done, err = j.TryAppend(addOp{"a", 1})
		require.NoError(t, err)
		require.True(t, done, "syncs are quick again")

		hanging.Store(true)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(appended)
			synctest.Wait()
			refused("somebody commits, and others wait")
		}
		hanging.Store(false)
		close(hang)
		wg.Wait()
		require.NoError(t, j.Close())
		refused("it is closed")
	})
}

// Callers who commit themselves, callers who wait, checkpoints and the end of the journal, all at once: what was
// acknowledged is there afterwards, in the order of the results.
func TestTryAppendUnderLoad(t *testing.T) {
	for name, end := range map[string]func(*Local){
		"close": func(j *Local) { require.NoError(t, j.Close()) },
		"kill":  func(j *Local) { j.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			o := options(newDisk())
			o.SegmentBytes = 2 << 10
			j := openLocal(t, newMachine(), o)
			const goroutines = 8
			var acked [goroutines]uint64
			var wg sync.WaitGroup
			var alone, all atomic.Int64
			for g := range goroutines {
				wg.Go(func() {
					op := addOp{fmt.Sprint(g), 1}
					for {
						got, done, err := j.TryAppend(op)
						if done {
							alone.Add(1)
						} else {
							got, err = j.Append(t.Context(), op)
						}
						if err != nil {
							if err != ErrClosed {
								t.Error(err)
							}
							return
						}
						if acked[g]++; got != acked[g] {
							t.Errorf("goroutine %d: append %d gave %v", g, acked[g], got)
							return
						}
						if all.Add(1) == 3000 {
							wg.Go(func() { end(j) })
						}
						if all.Load()%500 == 0 {
							_ = j.Checkpoint(t.Context()) // refused at the end
						}
					}
				})
			}
			wg.Wait()
			require.Positive(t, alone.Load())
			m := newMachine()
			j = openLocal(t, m, o)
			for g := range goroutines {
				require.GreaterOrEqual(t, m.counters[fmt.Sprint(g)], acked[g])
				require.LessOrEqual(t, m.counters[fmt.Sprint(g)], acked[g]+1)
			}
			require.NoError(t, j.Close())
		})
	}
}
