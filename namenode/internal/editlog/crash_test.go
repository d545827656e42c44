package editlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A life is one run of a journal over several openings, until something fails.
type life struct {
	o     LocalOptions
	ops   []addOp
	acked int // ops[:acked] were acknowledged
	tried int // ops[:tried] were handed in
}

// live opens, appends, makes checkpoints, closes and opens again. The last journal is killed.
func (l *life) live(ctx context.Context) error {
	for round := range 3 {
		j, err := OpenLocal(ctx, newMachine(), l.o)
		if err != nil {
			return err
		}
		for step := range 3 {
			for range 4 {
				l.tried++
				if _, err := j.Append(ctx, l.ops[l.acked]); err != nil {
					j.Kill()
					return err
				}
				l.acked++
			}
			if step < 2 {
				if err := j.Checkpoint(ctx); err != nil {
					j.Kill()
					return err
				}
			}
		}
		if round == 2 {
			j.Kill()
		} else if err := j.Close(); err != nil {
			return err
		}
	}
	return nil
}

// check opens what is left on the disk: a state between what was acknowledged and what was tried, and a directory that
// goes on to work.
func (l *life) check(t *testing.T, fs *disk, from int, what string) {
	t.Helper()
	l.checkLost(t, fs.reboot(), from, what)
	fs = fs.reboot()
	o := l.o
	o.FS = fs
	m := newMachine()
	j, err := OpenLocal(t.Context(), m, o)
	require.NoError(t, err, what)
	n, ok := model(l.ops)[m.digest]
	require.True(t, ok, "%s: the state is none of the sequence", what)
	require.GreaterOrEqual(t, n, from, "%s: acknowledged ops are lost", what)
	require.LessOrEqual(t, n, l.tried, "%s: ops out of nowhere", what)

	_, err = appendOps(t.Context(), j, l.ops[n:n+2])
	require.NoError(t, err, what)
	require.NoError(t, j.Checkpoint(t.Context()), what)
	_, err = appendOps(t.Context(), j, l.ops[n+2:n+3])
	require.NoError(t, err, what)
	j.Kill()
	l.checkLost(t, fs.reboot(), n+3, what)
	o.FS = fs.reboot()
	m = newMachine()
	j, err = OpenLocal(t.Context(), m, o)
	require.NoError(t, err, what)
	require.Equal(t, n+3, model(l.ops)[m.digest], what)
	require.NoError(t, j.Close(), what)
}

// checkLost opens what is left when the segment in progress is lost as well: no acknowledged op is missed in silence.
func (l *life) checkLost(t *testing.T, fs *disk, from int, what string) {
	t.Helper()
	lost := fs.list(inProgressPrefix)
	fs.lose(lost...)
	o := l.o
	o.FS = fs
	m := newMachine()
	j, err := OpenLocal(t.Context(), m, o)
	if err != nil {
		require.Contains(t, lost, missing(t, err), what)
		return
	}
	require.GreaterOrEqual(t, model(l.ops)[m.digest], from, "%s: acknowledged ops are lost without a word", what)
	j.Kill()
}

// countChanges gives the number of changes of the disk in a whole life.
func countChanges(t *testing.T, o LocalOptions) int {
	fs := newDisk()
	o.FS = fs
	l := &life{o: o, ops: someOps(64)}
	require.NoError(t, l.live(t.Context()))
	require.Equal(t, 36, l.acked)
	return fs.count
}

// crashOptions make segments close often.
func crashOptions(sync SyncMode) LocalOptions {
	o := options(nil)
	o.Sync = sync
	o.SegmentBytes = 150
	return o
}

// Each change of the disk fails in turn, with nothing, a part or all of it done. Then the process is killed or the
// power is lost.
func TestEveryChangeFails(t *testing.T) {
	o := crashOptions(SyncGroup)
	changes := countChanges(t, o)
	for n := 1; n <= changes; n++ {
		for _, left := range []int{0, 1, recordHeaderLen, recordHeaderLen + 3, 1 << 20} {
			fs := newDisk()
			l := &life{o: o, ops: someOps(64)}
			l.o.FS = fs
			failed := ""
			fs.fault = func(i int, op string) (int, error) {
				if i == n {
					failed = op
					return left, errInjected
				}
				return -1, nil
			}
			err := l.live(t.Context())
			what := fmt.Sprintf("change %d, %s, fails after %d bytes", n, failed, left)
			// What is only to be cleaned up does not stop the journal.
			if !strings.HasPrefix(failed, "remove") {
				require.ErrorIs(t, err, errInjected, what)
			}
			rng := rand.New(rand.NewPCG(uint64(n), uint64(left)))
			l.check(t, fs.crash(rng, 8), l.acked, what+", power loss")
			l.check(t, fs.reboot(), l.acked, what+", kill")
		}
	}
}

// The power is lost before each change of the disk in turn, and the unsynced bytes are torn in many ways.
func TestPowerLossAnywhere(t *testing.T) {
	for _, sync := range []SyncMode{SyncGroup, SyncPerOp, SyncAsync, SyncNone} {
		t.Run(sync.String(), func(t *testing.T) {
			o := crashOptions(sync)
			changes := countChanges(t, o)
			for n := 1; n <= changes+1; n++ {
				fs := newDisk()
				l := &life{o: o, ops: someOps(64)}
				l.o.FS = fs
				fs.fault = func(i int, _ string) (int, error) {
					if i >= n {
						return 0, errInjected
					}
					return -1, nil
				}
				err := l.live(t.Context())
				require.Equal(t, n > changes, err == nil)
				least := l.acked
				if sync == SyncAsync || sync == SyncNone {
					least = 0
				}
				for seed := range uint64(8) {
					sector := []int{1, 4, 16, 512}[seed%4]
					rng := rand.New(rand.NewPCG(uint64(n), seed))
					l.check(t, fs.crash(rng, sector), least,
						fmt.Sprintf("power loss before change %d, seed %d, sectors of %d", n, seed, sector))
				}
			}
		})
	}
}

// Many goroutines append while the power is lost at a random moment: each finds at least its acknowledged ops.
func TestPowerLossUnderLoad(t *testing.T) {
	const goroutines = 16
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fs := newDisk()
		o := options(fs)
		o.SegmentBytes = 2 << 10
		o.CheckpointOps = 100
		o.MaxBatch = 1 + rng.IntN(20)
		cutAt := 20 + rng.IntN(300)
		fs.fault = func(i int, _ string) (int, error) {
			if i >= cutAt {
				return rng.IntN(50), errInjected // the disk calls it under its lock
			}
			return -1, nil
		}
		j := openLocal(t, newMachine(), o)
		var acked, tried [goroutines]atomic.Int64
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				for {
					tried[g].Add(1)
					if _, err := j.Append(t.Context(), addOp{fmt.Sprint(g), 1}); err != nil {
						if !errors.Is(err, errInjected) {
							t.Errorf("seed %d: append gave %v", seed, err)
						}
						return
					}
					acked[g].Add(1)
				}
			})
		}
		wg.Wait()
		j.Kill()

		m := newMachine()
		o.FS = fs.crash(rng, 16)
		j = openLocal(t, m, o)
		for g := range goroutines {
			got := int64(m.counters[fmt.Sprint(g)])
			require.GreaterOrEqual(t, got, acked[g].Load(), "seed %d: goroutine %d has lost ops", seed, g)
			require.LessOrEqual(t, got, tried[g].Load(), "seed %d: goroutine %d has ops out of nowhere", seed, g)
		}
		require.NoError(t, j.Close())
	}
}

// The process is killed before each change of the disk in turn, and the power is lost before each change of the next
// start: nothing that the kill left unsynced may have been taken for durable.
func TestPowerLossAfterAKill(t *testing.T) {
	o := crashOptions(SyncGroup)
	changes := countChanges(t, o)
	for n := 1; n <= changes; n++ {
		for m, started := 1, false; !started; m++ {
			fs := newDisk()
			l := &life{o: o, ops: someOps(64)}
			l.o.FS = fs
			fs.fault = failFrom(n)
			require.ErrorIs(t, l.live(t.Context()), errInjected)
			fs.fault = failFrom(fs.count + m)
			j, err := OpenLocal(t.Context(), newMachine(), l.o)
			if started = err == nil; started {
				j.Kill()
			}
			for seed := range uint64(2) {
				rng := rand.New(rand.NewPCG(uint64(n*100+m), seed))
				l.check(t, fs.crash(rng, 16), l.acked, fmt.Sprintf("kill before change %d, power loss %d changes later, seed %d", n, m, seed))
			}
		}
	}
}

// failFrom makes the n-th change and all that follow fail, with nothing done.
func failFrom(n int) func(int, string) (int, error) {
	return func(i int, _ string) (int, error) {
		if i >= n {
			return 0, errInjected
		}
		return -1, nil
	}
}
