package editlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

var testIdentity = Identity{ClusterID: "CID-1", NamespaceID: 7, BlockPoolID: "BP-1", CTime: 1}

// options are those of a test: checkpoints only when asked for.
func options(fs afero.Fs) LocalOptions {
	return LocalOptions{FS: fs, Dir: "/nn", Identity: testIdentity, CheckpointOps: -1, CheckpointBytes: -1}
}

func openLocal(t testing.TB, m *machine, o LocalOptions) *Local {
	t.Helper()
	j, err := OpenLocal(t.Context(), m, o)
	require.NoError(t, err)
	return j
}

// appendOps appends ops one after the other until one fails, and gives the number of those acknowledged.
func appendOps(ctx context.Context, j Journal, ops []addOp) (int, error) {
	for i, op := range ops {
		if _, err := j.Append(ctx, op); err != nil {
			return i, err
		}
	}
	return len(ops), nil
}

// someOps are n ops of all sorts: with one transaction, with two, and runs without any.
func someOps(n int) []addOp {
	ops := make([]addOp, n)
	for i := range ops {
		ops[i] = addOp{key: fmt.Sprintf("key-%d", i%7), n: uint64(1 + i*29%151)}
		if i%17 < 6 {
			ops[i].n = 0
		}
	}
	return ops
}

// digestOf is the state after ops.
func digestOf(ops []addOp) uint64 {
	m := newMachine()
	for _, op := range ops {
		m.apply(op)
	}
	return m.digest
}

// fileSystems are all that the journal must work on.
func fileSystems(t *testing.T) map[string]LocalOptions {
	with := func(fs afero.Fs, dir string) LocalOptions {
		o := options(fs)
		o.Dir = dir
		return o
	}
	all := map[string]LocalOptions{
		"disk in memory": with(newDisk(), "/nn"),
		"MemMapFs":       with(afero.NewMemMapFs(), "/nn"),
		"OsFs":           with(afero.NewOsFs(), filepath.Join(t.TempDir(), "a", "nn")),
		"BasePathFs":     with(afero.NewBasePathFs(afero.NewOsFs(), t.TempDir()), "/nn"),
	}
	if dir, err := os.MkdirTemp("/dev/shm", "editlog"); err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		all["tmpfs"] = with(afero.NewOsFs(), dir)
	}
	return all
}

func TestRestart(t *testing.T) {
	ops := someOps(100)
	for name := range fileSystems(t) {
		for _, sync := range []SyncMode{SyncGroup, SyncPerOp, SyncAsync, SyncNone} {
			t.Run(fmt.Sprintf("%s/%v", name, sync), func(t *testing.T) {
				o := fileSystems(t)[name]
				o.Sync = sync
				o.SegmentBytes = 900
				for round := range 4 {
					m := newMachine()
					j := openLocal(t, m, o)
					require.Equal(t, testIdentity, j.Identity())
					require.Equal(t, digestOf(ops[:25*round]), m.digest)
					_, err := appendOps(t.Context(), j, ops[25*round:25*round+25])
					require.NoError(t, err)
					switch round {
					case 0:
						require.NoError(t, j.Close())
					case 1:
						j.Kill()
					case 2:
						require.NoError(t, j.Checkpoint(t.Context()))
						j.Kill()
					default:
						require.NoError(t, j.Checkpoint(t.Context()))
						require.NoError(t, j.Close())
					}
				}
				m := newMachine()
				j := openLocal(t, m, o)
				require.Equal(t, digestOf(ops), m.digest)
				require.NoError(t, j.Close())
			})
		}
	}
}

func TestAppendGivesResultsInOrder(t *testing.T) {
	fs := newDisk()
	m := newMachine()
	o := options(fs)
	o.SegmentBytes = 4 << 10
	o.CheckpointOps = 500
	j := openLocal(t, m, o)
	const goroutines, each = 32, 100
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			own, shared := fmt.Sprint("own-", g), fmt.Sprint("shared-", g%4)
			var last uint64
			for i := range each {
				got, err := j.Append(t.Context(), addOp{own, 1})
				if err != nil || got != uint64(i+1) {
					t.Errorf("goroutine %d: append %d gave %v, %v", g, i, got, err)
					return
				}
				got, err = j.Append(t.Context(), addOp{shared, 1})
				if err != nil || got.(uint64) <= last {
					t.Errorf("goroutine %d: shared counter went from %d to %v, %v", g, last, got, err)
					return
				}
				last = got.(uint64)
			}
		})
	}
	for range 3 {
		require.NoError(t, j.Checkpoint(t.Context()))
	}
	wg.Wait()
	s := j.Stats()
	require.NoError(t, j.Close())
	require.EqualValues(t, 2*goroutines*each, s.Ops)
	require.EqualValues(t, s.Ops, s.Edits)
	require.EqualValues(t, s.Ops, s.Kinds["add"].Ops)
	require.Equal(t, s.Bytes, s.Kinds["add"].Bytes)
	require.EqualValues(t, s.Ops, s.TxID)

	again := newMachine()
	j = openLocal(t, again, o)
	require.Equal(t, m.digest, again.digest)
	require.Equal(t, m.counters, again.counters)
	require.NoError(t, j.Close())
}

func TestStats(t *testing.T) {
	j := openLocal(t, newMachine(), options(newDisk()))
	_, err := appendOps(t.Context(), j, []addOp{{"a", 1}, {"bb", 200}, {"c", 0}})
	require.NoError(t, err)
	s := j.Stats()
	s.SyncTime = 0
	require.Equal(t, Stats{
		Ops: 3, Edits: 3, Bytes: 2 + 4 + 2, LogBytes: 3*(recordHeaderLen+1) + 8,
		Batches: 3, MaxBatch: 1, Syncs: 3, TxID: 3,
		Kinds: map[string]KindStats{"add": {2, 6}, "noop": {1, 2}},
	}, s)
	require.Equal(t, 1.0, s.EditsPerSync())
	require.Equal(t, 1.0, s.OpsPerBatch())
	require.NoError(t, j.Close())
	require.Zero(t, Stats{}.EditsPerSync())
	require.Zero(t, Stats{}.OpsPerBatch())
}

func TestAppendAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(*Local){
		"closed": func(j *Local) { require.NoError(t, j.Close()); require.NoError(t, j.Close()) },
		"killed": func(j *Local) { j.Kill(); j.Kill(); require.NoError(t, j.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			fs := newDisk()
			j := openLocal(t, newMachine(), options(fs))
			end(j)
			changes := fs.count
			_, err := j.Append(t.Context(), addOp{"a", 1})
			require.Equal(t, ErrClosed, err)
			require.Equal(t, ErrClosed, j.Checkpoint(t.Context()))
			require.Equal(t, changes, fs.count)
		})
	}
}

func TestAppendRefuses(t *testing.T) {
	j := openLocal(t, newMachine(), options(newDisk()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := j.Append(ctx, addOp{"a", 1})
	require.Equal(t, context.Canceled, err)
	require.Equal(t, context.Canceled, j.Checkpoint(ctx))
	_, err = j.Append(t.Context(), addOp{string(make([]byte, maxOpLen)), 1})
	require.ErrorIs(t, err, ErrTooLarge)
	require.EqualError(t, err, "editlog: op is too large: add of 67108865 bytes, the limit is 67108864")
	require.NoError(t, j.Close())
}

// A failed write or sync ends the journal for those who wait and those who come, and nothing is written after it.
func TestNeverRetriesAfterAFailure(t *testing.T) {
	for _, kind := range []string{"write", "sync"} {
		t.Run(kind, func(t *testing.T) {
			fs := newDisk()
			j := openLocal(t, newMachine(), options(fs))
			_, err := j.Append(t.Context(), addOp{"a", 1})
			require.NoError(t, err)
			failures := 0
			fs.fault = func(_ int, op string) (int, error) {
				if failures == 0 && op[:4] != kind[:4] {
					return -1, nil
				}
				failures++
				return 3, errInjected
			}
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					if _, err := j.Append(t.Context(), addOp{"a", 1}); !errors.Is(err, ErrFailed) || !errors.Is(err, errInjected) {
						t.Errorf("append gave %v", err)
					}
				})
			}
			wg.Wait()
			_, err = j.Append(t.Context(), addOp{"a", 1})
			require.ErrorIs(t, err, ErrFailed)
			require.ErrorIs(t, j.Checkpoint(t.Context()), ErrFailed)
			err = j.Close()
			require.ErrorIs(t, err, ErrFailed)
			require.ErrorIs(t, err, errInjected)
			require.Equal(t, 1, failures)
		})
	}
}
