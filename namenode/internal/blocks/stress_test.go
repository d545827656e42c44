package blocks

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// lockCheck is a log that fails if the Manager's lock is held while it is written.
type lockCheck struct {
	slog.Handler
	m **Manager
}

func (h lockCheck) Enabled(context.Context, slog.Level) bool { return true }
func (h lockCheck) Handle(context.Context, slog.Record) error {
	if *h.m != nil {
		(*h.m).Stats() // deadlocks under the lock
	}
	return nil
}

// The true state of a few datanodes is changed at random and reported in every way, from many goroutines at once. In the
// end all report in full, and what the Manager thinks must be what is there.
func TestStress(t *testing.T) {
	const nodes, files = 5, 200
	var m *Manager
	w := newWorld(t, Options{Rand: seeded(t), Logger: slog.New(lockCheck{slog.DiscardHandler, &m})}, nodes)
	m = w.Manager
	seed := w.o.Rand.Uint64()
	var wg sync.WaitGroup
	run := func(n uint64, f func(rnd *rand.Rand)) {
		wg.Go(func() { f(rand.New(rand.NewPCG(seed, n))) })
	}
	final := func(k int) dfs.Block { return blk(int(id)+k, 1000+k, 10) }
	for i := 1; i <= nodes; i++ {
		run(uint64(i), func(rnd *rand.Rand) {
			for range 300 {
				k := rnd.IntN(files)
				b := final(k)
				switch rnd.IntN(8) {
				case 0:
					b.Len = rnd.Int64N(10)
					w.event(i, b, StatusReceiving)
				case 1, 2, 3:
					w.event(i, b, StatusReceived)
				case 4:
					w.event(i, b, StatusDeleted)
				case 5:
					var list []Replica
					for k := range files {
						if rnd.IntN(2) == 0 {
							list = append(list, finalized(final(k)))
						}
					}
					w.full(i, list...)
				case 6:
					w.BadBlocks([]BadReplica{{Block: b, Ref: ref(i)}})
				case 7:
					w.beat(i)
				}
			}
		})
	}
	run(100, func(rnd *rand.Rand) { // the namespace
		for k := range files {
			b := final(k)
			w.PutBlock(info(blk(int(b.ID), int(b.GenStamp), 0), dfs.BlockUnderConstruction, 3))
			targets, err := w.ChooseTargets(TargetRequest{Replication: 3, BlockSize: 10})
			require.NoError(t, err)
			w.SetExpected(b.ID, Refs(targets))
			w.Wait(b, 1)
			switch rnd.IntN(4) {
			case 0:
				w.RemoveBlock(b.ID)
			case 1:
				w.PutBlock(info(b, dfs.BlockUnderRecovery, 3))
				w.StartRecovery(info(b, dfs.BlockUnderRecovery, 3), b.GenStamp+1, w.now)
			default:
				w.PutBlock(info(b, dfs.BlockComplete, 3))
			}
		}
		for k := 0; k < files; k += 7 {
			w.RemoveBlock(final(k).ID)
		}
	})
	run(101, func(rnd *rand.Rand) { // readers and monitors
		for range 300 {
			w.Locate(final(rnd.IntN(files)).ID, dn(1+rnd.IntN(nodes)))
			w.Stats()
			w.Datanodes(ReportAll)
			w.SafeMode(w.now)
			w.Tick(w.now.Add(time.Duration(rnd.IntN(60)) * time.Second))
		}
	})
	wg.Wait()
	w.check()

	var all []Replica
	for k := range files {
		all = append(all, finalized(final(k)))
	}
	m.SetActive(true, 2)
	for i := 1; i <= nodes; i++ {
		w.full(i) // what was found corrupt is gone with it
		for len(w.deletes(i)) > 0 {
		}
		w.full(i, all...)
	}
	w.tick(time.Second) // gives up what had to wait for the last report
	w.check()
	spare := 0 // replicas that nobody wants
	for k := range files {
		switch b := w.blocks[final(k).ID]; {
		case b == nil:
			spare += nodes
		case b.state == dfs.BlockComplete:
			spare += nodes - 3
			require.Equal(t, 3, w.Replicas(b.ID))
		default:
			require.Equal(t, nodes, w.Replicas(b.ID))
		}
	}
	for i := 1; i <= nodes; i++ {
		spare -= len(w.deletes(i))
	}
	require.Zero(t, spare)
	require.Zero(t, w.Stats().PendingDeletion)
	require.Empty(t, slices.DeleteFunc(slices.Collect(mapKeys(w.waiters)), func(b dfs.BlockID) bool { return w.blocks[b] != nil && w.blocks[b].Len != 10 }))
}

func mapKeys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
