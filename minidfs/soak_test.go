package minidfs_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/fixtures/crash"
	"github.com/minidfs/go-minidfs/minidfs"
)

var (
	soak     = flag.Duration("soak", 0, "how long each TestSoak goes on; 0: some rounds")
	soakSeed = flag.Uint64("seed", 0, "the seed of TestSoak; 0: a new one, which is printed")
)

// seed gives a test's seed and prints it when the test fails.
func seed(t *testing.T) uint64 {
	s := *soakSeed
	if s == 0 {
		s = rand.Uint64()>>20 | 1
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("-seed %d repeats the test's choices", s)
		}
	})
	return s
}

// TestSoakPowerLoss takes the power from every node at once while clients work, again and again: every call that was
// answered, and every byte that was synced, is there afterwards.
func TestSoakPowerLoss(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		s := seed(t)
		end := time.Now().Add(*soak)
		for began := time.Now(); ; { // a bubble has its own clock
			synctest.Test(t, func(t *testing.T) { crashRounds(t, s, 50, minidfs.MemNet()) })
			if t.Failed() || !time.Now().Before(end) {
				t.Logf("50 rounds and more in %s", time.Since(began).Round(time.Millisecond))
				return
			}
			s++
		}
	})
	t.Run("dir", func(t *testing.T) {
		t.Parallel()
		s := seed(t)
		end := time.Now().Add(*soak)
		for {
			crashRounds(t, s, 3, minidfs.Dir(t.TempDir()), minidfs.PowerCuts(), minidfs.Conf("dfs.namenode.stale.datanode.interval", "1s"))
			if t.Failed() || !time.Now().Before(end) {
				return
			}
			s++
		}
	})
}

func crashRounds(t *testing.T, seed uint64, rounds int, options ...minidfs.Option) {
	const users = 4
	rng := rand.New(rand.NewPCG(seed, 0))
	c := minidfs.Start(t, append(options, minidfs.Seed(seed), minidfs.Logger(slog.New(slog.DiscardHandler)))...)
	acked := make(chan struct{}, 1) // wakes who waits for acks
	var acks atomic.Int64
	var recorders []*crash.Recorder
	for i := range users {
		recorders = append(recorders, crash.New(crash.Options{
			Dir: fmt.Sprintf("/u%d", i), Seed: seed + uint64(i), Acked: func() {
				acks.Add(1)
				select {
				case acked <- struct{}{}:
				default:
				}
			},
		}))
	}
	nodes := []node{c.NameNode("nn1")}
	for _, d := range c.DataNodes() {
		nodes = append(nodes, d)
	}
	for round := range rounds {
		ctx, cancel := context.WithCancel(t.Context())
		clients := make([]*client.Client, users)
		results := make(chan error, users)
		for i, r := range recorders {
			clients[i] = c.Client(c.Superuser())
			go func() { results <- r.Run(ctx, clients[i]) }()
		}
		for until := acks.Load() + 1 + rng.Int64N(100); acks.Load() < until; {
			select {
			case <-acked:
			case err := <-results:
				t.Fatalf("round %d: a client failed before the crash: %v", round, err)
			}
		}
		rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		var report []string
		for _, n := range nodes {
			lost, err := n.PowerLoss()
			require.NoError(t, err)
			report = append(report, lost...)
		}
		cancel()
		for range users {
			require.Error(t, <-results)
		}
		for _, fs := range clients {
			require.NoError(t, fs.Close())
		}
		rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		for _, n := range nodes {
			require.NoError(t, n.Start(t.Context()), "round %d", round)
		}
		require.NoError(t, c.WaitActive(t.Context()), "round %d", round)
		verify(t, c, recorders, round, report)
		if t.Failed() {
			return
		}
	}
	total := map[string]int{}
	for _, r := range recorders {
		for op, n := range r.Counts() {
			total[op] += n
		}
	}
	t.Logf("%d rounds: %v", rounds, total)
}

func verify(t *testing.T, c *minidfs.Cluster, recorders []*crash.Recorder, round int, report []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	fs := c.Client(c.Superuser())
	defer fs.Close()
	var all sync.WaitGroup
	for _, r := range recorders {
		all.Go(func() {
			if err := r.Verify(ctx, fs, c.TriggerHeartbeats); err != nil {
				t.Errorf("round %d: %v\nlost:\n%v", round, err, report)
			}
		})
	}
	all.Wait()
}
