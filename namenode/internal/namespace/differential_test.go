package namespace

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// mirror is a namespace and what its observer has heard.
type mirror struct {
	*Namespace
	ears *ears
}

func newMirror(mode LockMode) mirror {
	e := &ears{blocks: map[dfs.BlockID]BlockInfo{}}
	return mirror{New(Options{Mode: mode, Observer: e}), e}
}

// TestDifferential applies random histories in several ways: one by one under the global lock, in batches under
// partitioned locks while readers look on, from the journal's bytes, and continued on a restored image. All give the
// same answers and states.
func TestDifferential(t *testing.T) {
	rounds, length := 12, 1500
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		seed := uint64(round + 1)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			one, batched, replayed := newMirror(Global), newMirror(Partitioned), newMirror(Partitioned)
			s := newScribe(seed, one.Namespace)
			r := rand.New(rand.NewPCG(seed, 99))
			params := &Op{Args: &SetParams{testParams()}}
			if round%3 == 2 {
				p := testParams()
				p.RetryMax, p.MaxDirItems = 20, 6
				params.Args = &SetParams{p}
			}
			ops, want := []*Op{params}, one.Apply([]*Op{params})
			kinds := map[Kind]int{}
			for range length {
				op := s.next()
				dry, final := one.Check(op)
				res := one.Apply([]*Op{op})[0]
				if final {
					require.Equal(t, dry, res, "Check of %s %+v", op.Kind(), op.Args)
				} else {
					require.NoError(t, res.Err, "Check let %s %+v through", op.Kind(), op.Args)
				}
				if res.Err == nil {
					kinds[op.Kind()]++
				}
				ops, want = append(ops, op), append(want, res)
			}
			verifyMirror(t, one)

			batched.spread = 1 + round%3
			stop := look(batched.Namespace, seed)
			got := inBatches(batched.Namespace, ops, r)
			stop()
			same(t, ops, want, got)
			verifyMirror(t, batched)
			require.Equal(t, one.Digest(), batched.Digest(), "partitioned locks")

			for _, op := range ops {
				again, err := DecodeOp(op.AppendTo(nil))
				require.NoError(t, err)
				replayed.Apply([]*Op{again})
			}
			require.Equal(t, one.Digest(), replayed.Digest(), "replayed from bytes")

			// Half of the history, an image of it, the other half on what the image restores.
			half, restored := newMirror(Partitioned), newMirror(Partitioned)
			cut := r.IntN(len(ops))
			inBatches(half.Namespace, ops[:cut], r)
			img := half.Snapshot()
			inBatches(half.Namespace, ops[cut:], r) // goes on under the image
			var file bytes.Buffer
			_, err := img.WriteTo(&file)
			require.NoError(t, err)
			require.NoError(t, restored.Restore(&file))
			verifyMirror(t, restored)
			got = inBatches(restored.Namespace, ops[cut:], r)
			same(t, ops[cut:], want[cut:], got)
			verifyMirror(t, restored)
			require.Equal(t, one.Digest(), half.Digest(), "with an image in between")
			require.Equal(t, one.Digest(), restored.Digest(), "restored")
			if round == 0 {
				t.Log(kinds, one.Counts())
			}
		})
	}
}

// same compares answers op by op.
func same(t *testing.T, ops []*Op, want, got []Result) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, op := range ops {
		require.Equal(t, want[i], got[i], "op %d: %s by %s %+v", i, op.Kind(), op.Caller.User, op.Args)
	}
}

func verifyMirror(t *testing.T, m mirror) {
	t.Helper()
	verify(t, m.Namespace)
	require.Equal(t, maps.Collect(known(m.Namespace)), m.ears.blocks, "the observer heard something else")
}

// inBatches applies ops in batches of random sizes.
func inBatches(n *Namespace, ops []*Op, r *rand.Rand) (results []Result) {
	for len(ops) > 0 {
		k := min(len(ops), 1+r.IntN(64))
		results = append(results, n.Apply(ops[:k])...)
		ops = ops[k:]
	}
	return results
}

// look reads all over a namespace until it is stopped: for the race detector, and to see that nothing hangs.
func look(n *Namespace, seed uint64) (stop func()) {
	done := make(chan struct{})
	var readers sync.WaitGroup
	for k := range 2 {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(k)))
			for {
				select {
				case <-done:
					return
				default:
				}
				c := dfs.Caller{User: "root", Host: "127.0.0.1"}
				path := "/"
				for range r.IntN(4) {
					path = join(path, string(rune('a'+r.IntN(8))))
				}
				n.Status(c, path, true)
				n.List(c, path, "", 10, true)
				n.Blocks(c, path, 0, 1000)
				n.ContentSummary(c, path)
				n.Status(c, "/.reserved/.inodes/16390", true)
				n.OpenFiles(0, 10)
				n.Lease("h1")
				n.Check(&Op{Caller: c, CallID: -1, Args: &Mkdirs{path, 0o755, true}})
				n.Check(&Op{Caller: c, CallID: -1, Args: &Delete{path, true}})
				n.AddBlockCheck(&Op{Caller: c, Args: &AddBlock{Path: path, Holder: "h1"}})
				n.SnapshotDiff(c, path, "s1", "")
				n.Snapshottables(c)
				n.FileByPath(path)
				n.BlockFile(1<<30 + 5)
				n.Counts()
			}
		})
	}
	return func() { close(done); readers.Wait() }
}
