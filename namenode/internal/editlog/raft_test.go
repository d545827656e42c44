package editlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func (l *load) note(t testing.TB, err error) {
	switch {
	case errors.Is(err, ErrUnknown):
		l.unknown++
	case errors.Is(err, ErrNotLeader), errors.Is(err, ErrClosed), errors.Is(err, ErrFailed):
		l.refused++
	default:
		t.Errorf("append gave %v", err)
	}
}

func TestGroupAppends(t *testing.T) {
	for _, n := range []int{1, 3, 5} {
		inBubble(t, fmt.Sprint(n), func(t *testing.T) {
			start := time.Now()
			g := newGroup(t, n, nil)
			require.Less(t, time.Since(start), 10*time.Millisecond, "an election that was asked for waits for no timeout")
			lead := g.all[0].r
			require.Equal(t, Role{Leads: true, Term: 2, Leader: "nn1"}, lead.Role())

			const goroutines, each = 200, 20
			var wg sync.WaitGroup
			for i := range goroutines {
				wg.Go(func() {
					own, shared := fmt.Sprint("own-", i), fmt.Sprint("shared-", i%4)
					var last uint64
					for j := range each {
						got, err := lead.Append(t.Context(), addOp{own, 1})
						if err != nil || got != uint64(j+1) {
							t.Errorf("goroutine %d: append %d gave %v, %v", i, j, got, err)
							return
						}
						if got, err = lead.Append(t.Context(), addOp{shared, 1}); err != nil || got.(uint64) <= last {
							t.Errorf("goroutine %d: shared counter went from %d to %v, %v", i, last, got, err)
							return
						}
						last = got.(uint64)
					}
				})
			}
			wg.Wait()
			g.agree()
			s := lead.Stats()
			require.EqualValues(t, 2*goroutines*each, s.Ops)
			require.EqualValues(t, s.Ops, s.Edits)
			require.EqualValues(t, s.Ops, s.TxID)
			require.EqualValues(t, s.Ops, s.Kinds["add"].Ops)
			require.Equal(t, s.Bytes, s.Kinds["add"].Bytes)
			require.Greater(t, s.OpsPerBatch(), 10.0)
			require.LessOrEqual(t, s.MaxBatch, maxGroupBatch)
			require.NotZero(t, s.Syncs)
			for _, other := range g.all[1:] {
				f := other.r.Stats()
				require.Equal(t, s.Kinds, f.Kinds)
				require.Equal(t, s.LogBytes, f.LogBytes)
				_, err := other.r.Append(t.Context(), addOp{"a", 1})
				require.Equal(t, ErrNotLeader, err)
				require.Equal(t, "nn1", other.r.Role().Leader)
				require.ErrorIs(t, other.r.Fence(t.Context()), ErrNotLeader)
			}
			_, done, err := lead.TryAppend(addOp{"a", 1})
			require.NoError(t, err)
			require.False(t, done)
			g.close()
		})
	}
}

func TestGroupRefuses(t *testing.T) {
	inBubble(t, "after the end", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		one, two := g.all[0].r, g.all[1].r
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := one.Append(ctx, addOp{"a", 1})
		require.Equal(t, context.Canceled, err)
		require.Equal(t, context.Canceled, one.Fence(ctx))
		require.Equal(t, context.Canceled, one.Checkpoint(ctx))
		_, err = one.Append(t.Context(), addOp{string(make([]byte, maxOpLen)), 1})
		require.ErrorIs(t, err, ErrTooLarge)

		require.NoError(t, one.Close())
		require.NoError(t, one.Close())
		two.Kill()
		two.Kill()
		require.NoError(t, two.Close())
		for _, r := range []*Raft{one, two} {
			_, err := r.Append(t.Context(), addOp{"a", 1})
			require.Equal(t, ErrClosed, err)
			require.Equal(t, ErrClosed, r.Checkpoint(t.Context()))
			require.Equal(t, ErrClosed, r.Fence(t.Context()))
			require.Equal(t, ErrClosed, r.Elect(t.Context()))
			require.Equal(t, ErrClosed, r.Err())
			require.False(t, r.Role().Leads)
		}
		g.all[2].r.Kill()
	})
}

// Close hands over: the others go on at once.
func TestCloseHandsOver(t *testing.T) {
	inBubble(t, "3", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		_, err := g.all[0].r.Append(t.Context(), addOp{"a", 7})
		require.NoError(t, err)
		start := time.Now()
		require.NoError(t, g.all[0].r.Close())
		g.all[0].r = nil
		next := g.leader()
		require.Less(t, time.Since(start), 100*time.Millisecond)
		got, err := next.r.Append(t.Context(), addOp{"a", 1})
		require.NoError(t, err)
		require.Equal(t, uint64(8), got)
		g.close()
	})
}

// A leader that is killed under load: what was acknowledged is there, and nobody hears that it is unknown but those who
// had an op under way.
func TestLeaderKilled(t *testing.T) {
	inBubble(t, "3", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		leader := g.all[0].r
		var l load
		l.run(ctx, g, 100, func() *Raft { mu.Lock(); defer mu.Unlock(); return leader })
		for round := range 3 {
			old := g.leader()
			g.until("some load", func() bool { return old.r.Stats().Ops > 2000 })
			old.r.Kill()
			old.r = nil
			best := g.best()
			require.NoError(t, best.r.Elect(t.Context()))
			mu.Lock()
			leader = best.r
			mu.Unlock()
			old.start()
			g.until("load at the next leader", func() bool {
				l.mu.Lock()
				defer l.mu.Unlock()
				return len(l.acked) == 100 && best.r.Stats().Ops > 4000*int64(round+1)
			})
		}
		cancel()
		l.wg.Wait()
		g.agree()
		for key, n := range l.acked {
			require.GreaterOrEqual(t, g.leader().m.counters[key], n, key)
		}
		g.close()
	})
}

// best is the member that runs and has most of the log.
func (g *testGroup) best() (best *testNode) {
	for _, n := range g.all {
		if n.r == nil {
			continue
		}
		p := n.r.Progress()
		if best == nil || p.Term > best.r.Progress().Term || p.Term == best.r.Progress().Term && p.Last > best.r.Progress().Last {
			best = n
		}
	}
	return best
}

// Nobody helps: the timeouts do.
func TestUnassistedElection(t *testing.T) {
	inBubble(t, "3", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		_, err := g.all[0].r.Append(t.Context(), addOp{"a", 7})
		require.NoError(t, err)
		changed := g.all[1].r.Changed()
		start := time.Now()
		g.all[0].r.Kill()
		g.all[0].r = nil
		next := g.leader()
		require.Less(t, time.Since(start), 10*time.Second)
		<-changed
		require.Greater(t, next.r.Role().Term, uint64(2))
		g.all[0].start()
		g.close()
	})
}
