package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/fixtures/crash"
)

var (
	soak     = flag.Duration("soak", 0, "how long TestSoakKill goes on; 0: some rounds")
	soakSeed = flag.Uint64("seed", 0, "the seed of TestSoakKill; 0: a new one, which is printed")
)

// TestSoakKill kills `minidfs serve --dir` with SIGKILL at random moments while clients work, and starts it again: every
// call that was answered, and every byte that was flushed, synced or closed, is there afterwards.
func TestSoakKill(t *testing.T) {
	t.Parallel()
	const users, rounds = 3, 6
	s := *soakSeed
	if s == 0 {
		s = rand.Uint64()>>20 | 1
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("-seed %d repeats the test's choices", s)
		}
	})
	rng := rand.New(rand.NewPCG(s, 0))
	dir := filepath.Join(t.TempDir(), "data")
	var recorders []*crash.Recorder
	for i := range users {
		recorders = append(recorders, crash.New(crash.Options{Dir: fmt.Sprintf("/u%d", i), Seed: s + uint64(i), Flushed: true, CloseWait: 20 * time.Second}))
	}
	end := time.Now().Add(*soak)
	round := 0
	for ; round < rounds || time.Now().Before(end); round++ {
		p := spawn(t, "serve", "--dir", dir, "--superuser", "root", "-D", "dfs.heartbeat.interval=50ms", "-D", "dfs.namenode.stale.datanode.interval=1s")
		r := p.ready()
		verifyAll(t, r, recorders, round)
		if t.Failed() {
			return
		}
		results := make(chan error, users)
		ctx, cancel := context.WithCancel(t.Context())
		for _, rec := range recorders {
			fs, err := client.New(client.Options{Addrs: r.NameNodes, User: "root"})
			require.NoError(t, err)
			go func() {
				err := rec.Run(ctx, fs)
				fs.Close()
				results <- err
			}()
		}
		select {
		case <-time.After(time.Duration(rng.Int64N(int64(400 * time.Millisecond)))):
		case err := <-results:
			t.Fatalf("round %d: a client failed before the crash: %v; %s", round, err, p.err.String())
		}
		require.NoError(t, p.Process.Kill())
		_ = p.Wait() // it was killed
		cancel()
		for range users {
			require.Error(t, <-results)
		}
	}
	p := spawn(t, "serve", "--dir", dir, "--superuser", "root", "-D", "dfs.heartbeat.interval=50ms", "-D", "dfs.namenode.stale.datanode.interval=1s")
	verifyAll(t, p.ready(), recorders, round)
	total := map[string]int{}
	for _, r := range recorders {
		for op, n := range r.Counts() {
			total[op] += n
		}
	}
	t.Logf("%d rounds, acknowledged: %v", round, total)
}

func verifyAll(t *testing.T, r ready, recorders []*crash.Recorder, round int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fs := connect(t, r, "root")
	var all sync.WaitGroup
	for _, rec := range recorders {
		all.Go(func() {
			if err := rec.Verify(ctx, fs, nil); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		})
	}
	all.Wait()
}
