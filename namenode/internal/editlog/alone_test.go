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
		t.Run(sync.String(), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { tryAppend(t, sync) }) })
	}
}

func tryAppend(t *testing.T, sync SyncMode) {
	fs, steady := newDisk(), true
	o := options(fs)
	o.Sync, o.Steady = sync, func() bool { return steady }
	m := newMachine()
	j := openLocal(t, m, o)
	try := func(op Op) (any, bool, error) {
		synctest.Wait() // the committer goes on after an answer
		return j.TryAppend(op)
	}
	_, done, err := try(addOp{"a", 1})
	require.NoError(t, err)
	require.Equal(t, !sync.syncsFirst(), done, "nobody knows yet how long a sync takes")
	if !done {
		_, err = j.Append(t.Context(), addOp{"a", 1})
		require.NoError(t, err)
	}
	for i := range 3 {
		got, done, err := try(addOp{"a", 1})
		require.NoError(t, err)
		require.True(t, done)
		require.EqualValues(t, 2+i, got)
	}
	steady = false
	_, done, err = try(addOp{"a", 1})
	require.NoError(t, err)
	require.False(t, done, "the disk is slow on purpose")
	steady = true
	_, done, err = try(addOp{string(make([]byte, maxOpLen)), 1})
	require.True(t, done)
	require.ErrorIs(t, err, ErrTooLarge)
	require.EqualValues(t, 4, j.Stats().Ops)

	fs.fault = func(int, string) (int, error) { return 0, errInjected }
	_, done, err = try(addOp{"a", 1})
	require.True(t, done)
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorIs(t, err, errInjected)
	_, done, _ = try(addOp{"a", 1})
	require.False(t, done)
	fs.fault = nil
	require.ErrorIs(t, j.Close(), errInjected)
	require.EqualValues(t, 4, m.counters["a"])
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
			synctest.Wait() // the committer goes on after the answer
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
			wg.Go(func() { _, _ = j.Append(t.Context(), addOp{"a", 1}) })
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
			o.Sync = SyncNone
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

// Callers who come in great numbers are committed together, though syncs are quick; one who is left alone commits for
// himself after a while.
func TestManyCallersGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		var hanging atomic.Bool
		j := openLocal(t, newMachine(), options(&slowFs{Fs: afero.NewMemMapFs(), sync: func() {
			if hanging.Load() {
				<-hang
			}
		}}))
		alone := func() bool {
			_, done, err := j.TryAppend(addOp{"a", 1})
			require.NoError(t, err)
			return done
		}
		appended := func() {
			_, err := j.Append(t.Context(), addOp{"a", 1})
			require.NoError(t, err)
			synctest.Wait() // the committer goes on after the answer
		}
		appended()
		require.True(t, alone())

		hanging.Store(true)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { _, _ = j.Append(t.Context(), addOp{"a", 1}) })
			synctest.Wait()
		}
		hanging.Store(false)
		close(hang)
		wg.Wait()
		synctest.Wait()
		require.False(t, alone(), "there were many")
		left := 0
		for ; !alone(); left++ {
			appended()
		}
		require.Less(t, left, 50)
		require.NoError(t, j.Close())
	})
}

// What callers who commit themselves leave to the committer is done, though nobody ever waits for it: the timer of
// SyncAsync, the end of a segment, the checkpoint. A slow sync in the background sends no caller to the committer.
func TestTryAppendLeavesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := newDisk()
		o := options(&slowFs{Fs: fs, sync: func() { time.Sleep(10 * time.Millisecond) }})
		o.Sync = SyncAsync
		o.SegmentBytes = 200
		o.CheckpointOps = 20
		o.RetainImages = 1
		j := openLocal(t, newMachine(), o)
		alone := func() {
			_, done, err := j.TryAppend(addOp{"a", 1})
			require.NoError(t, err)
			require.True(t, done)
		}
		for range 3 {
			syncs := j.Stats().Syncs
			alone()
			time.Sleep(j.opts.SyncInterval + 20*time.Millisecond)
			require.Equal(t, syncs+1, j.Stats().Syncs)
		}
		for range 17 {
			alone()
			time.Sleep(2 * j.opts.SyncInterval)
		}
		synctest.Wait()
		require.Len(t, fs.list(inProgressPrefix), 1)
		require.NotEqual(t, inProgressName(1), fs.list(inProgressPrefix)[0])
		require.Equal(t, []string{imageName(20)}, fs.list(imagePrefix))
		require.NoError(t, j.Close())
	})
}

// Callers do not write behind the end of a full segment, nor close it themselves: that takes its time.
func TestTryAppendToAFullSegment(t *testing.T) {
	o := options(newDisk())
	o.Sync = SyncNone
	j := openLocal(t, newMachine(), o)
	<-j.turn
	j.opts.SegmentBytes = 1
	j.turn <- struct{}{}
	_, done, err := j.TryAppend(addOp{"a", 1})
	require.NoError(t, err)
	require.False(t, done)
	require.NoError(t, j.Close())
}

// A journal whose state machine panics in a caller's goroutine ends: rpc survives the panic, and what was written was
// not applied.
func TestPanicInTryAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := newDisk()
		o := options(fs)
		o.Sync = SyncNone
		m := &panicky{machine: newMachine()}
		j, err := OpenLocal(t.Context(), m, o)
		require.NoError(t, err)
		_, _, err = j.TryAppend(addOp{"a", 1})
		require.NoError(t, err)
		m.panics = true
		require.PanicsWithValue(t, "bug", func() { _, _, _ = j.TryAppend(addOp{"a", 1}) })
		m.panics = false
		_, err = j.Append(t.Context(), addOp{"b", 1})
		require.ErrorIs(t, err, ErrFailed)
		require.ErrorIs(t, j.Close(), ErrFailed)
		n, err := tryOpen(t, fs.reboot(), []addOp{{"a", 1}, {"a", 1}}, nil)
		require.NoError(t, err)
		require.Equal(t, 2, n)
	})
}

type panicky struct {
	*machine
	panics bool
}

func (m *panicky) Apply(batch []Op) []any {
	if m.panics {
		panic("bug")
	}
	return m.machine.Apply(batch)
}
