package editlog

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMembers(t *testing.T) {
	inBubble(t, "a life", func(t *testing.T) {
		g := newGroup(t, 1, nil)
		g.appendSome(20)
		require.Equal(t, []Member{{ID: "nn1", Addr: g.all[0].addr, Voter: true}}, g.all[0].r.Members())
		for _, id := range []string{"nn2", "nn3"} {
			n := g.add(id, NewMemoryStores())
			n.start()
			require.ErrorContains(t, n.r.Elect(t.Context()), "has no vote")
			require.NoError(t, g.leader().r.Add(t.Context(), Member{ID: n.id, Addr: n.addr}))
			g.until(id+" to vote", n.r.votes)
			g.appendSome(5)
		}
		one, two, three := g.all[0], g.all[1], g.all[2]
		require.Len(t, one.r.Members(), 3)
		require.ErrorIs(t, two.r.Add(t.Context(), Member{ID: "nn4", Addr: "127.0.9.9:1"}), ErrNotLeader)
		require.ErrorIs(t, two.r.Remove(t.Context(), "nn1"), ErrNotLeader)
		require.ErrorIs(t, two.r.Transfer(t.Context(), ""), ErrNotLeader)

		require.NoError(t, one.r.Transfer(t.Context(), "nn3"))
		require.False(t, one.r.Role().Leads)
		require.Equal(t, three, g.leader())
		require.NoError(t, three.r.Transfer(t.Context(), ""))
		require.ErrorContains(t, g.leader().r.Transfer(t.Context(), "nn7"), `"nn7"`)
		g.agree()
		require.NoError(t, three.r.Elect(t.Context()))
		g.appendSome(5)

		// The leader removes itself; the others go on.
		require.NoError(t, three.r.Remove(t.Context(), "nn3"))
		g.until("nn3 not to lead", func() bool { return !three.r.Role().Leads })
		require.NoError(t, three.r.Close())
		three.r = nil
		require.NoError(t, g.best().r.Elect(t.Context()))
		g.appendSome(5)
		g.agree()
		require.NoError(t, one.r.Elect(t.Context()))
		require.Len(t, one.r.Members(), 2)
		require.NoError(t, one.r.Remove(t.Context(), "nn2"))
		two.r.Kill()
		two.r = nil
		g.appendSome(5)
		g.close()
	})
	inBubble(t, "one that is not there", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := g.leader().r.Add(ctx, Member{ID: "nn4", Addr: "127.0.9.9:1"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "nn4 has no vote yet")
		require.Equal(t, Member{ID: "nn4", Addr: "127.0.9.9:1"}, g.leader().r.Members()[3])
		require.NoError(t, g.leader().r.Remove(t.Context(), "nn4"))
		require.ErrorContains(t, g.leader().r.Add(t.Context(), Member{ID: "nn4"}), "both an id and an address")
		g.close()
	})
}

// A member that has lost its stores comes back as another one, at its old address; nobody takes it for the old one.
func TestWipedMember(t *testing.T) {
	inBubble(t, "3", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		g.appendSome(20)
		lead, old := g.all[0], g.all[2]
		old.r.Kill()
		old.id, old.stores, old.first = "nn3-b", NewMemoryStores(), nil
		old.start()
		g.appendSome(20)
		time.Sleep(10 * time.Second)
		require.Zero(t, old.r.Progress().Last, "nn1 looks for nn3, and finds it not")
		require.NoError(t, lead.r.Remove(t.Context(), "nn3"))
		require.NoError(t, lead.r.Add(t.Context(), Member{ID: old.id, Addr: old.addr}))
		g.appendSome(5)
		g.agree()
		require.NoError(t, old.r.Elect(t.Context()))
		g.appendSome(5)
		g.close()
	})
}

// Elections that are asked for at once, and of members that lack something, end with a leader that has everything.
func TestElect(t *testing.T) {
	inBubble(t, "all at once", func(t *testing.T) {
		g := newGroup(t, 5, nil)
		g.appendSome(20)
		var wg sync.WaitGroup
		for _, n := range g.all {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				_ = n.r.Elect(ctx) // one at most
			})
		}
		wg.Wait()
		g.appendSome(5)
		g.close()
	})
	inBubble(t, "while the leader is at work", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var l load
		l.run(ctx, g, 20, func() *Raft { return g.leader().r })
		for i := range 20 {
			g.until("some load", func() bool { return g.leader().r.Stats().Ops > int64(i)*100 })
			start := time.Now()
			require.NoError(t, g.all[(i+1)%3].r.Elect(t.Context()))
			require.Less(t, time.Since(start), 100*time.Millisecond)
		}
		cancel()
		l.wg.Wait()
		g.agree()
		for key, n := range l.acked {
			require.GreaterOrEqual(t, g.leader().m.counters[key], n, key)
		}
		g.close()
	})
	inBubble(t, "one that lacks the last op", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		late := g.all[2]
		g.net.Partition([]string{"nn1", "nn2"}, []string{"nn3"})
		g.appendSome(20)
		want := g.all[0].r.Stats().TxID
		g.all[0].r.Kill()
		g.all[0].r = nil
		g.net.Heal()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_ = late.r.Elect(ctx) // it may just have got the op
		next := g.leader().r
		require.NoError(t, next.Fence(t.Context()))
		require.Equal(t, want, next.Stats().TxID)
		g.appendSome(5)
		g.all[0].start()
		g.close()
	})
}

// Nobody who watches Changed misses the last change.
func TestChanged(t *testing.T) {
	inBubble(t, "3", func(t *testing.T) {
		g := newGroup(t, 3, nil)
		seen := make([]Role, 3)
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i, n := range g.all {
			wg.Go(func() {
				for n.r.Err() == nil {
					changed := n.r.Changed()
					mu.Lock()
					seen[i] = n.r.Role()
					mu.Unlock()
					<-changed
				}
			})
		}
		for i := range 30 {
			g.agree() // one that lacks an op is not elected
			next := g.all[i%3]
			require.NoError(t, next.r.Elect(t.Context()))
			_, err := next.r.Append(t.Context(), addOp{"a", 1})
			require.NoError(t, err)
			g.until("all to know", func() bool {
				mu.Lock()
				defer mu.Unlock()
				for j := range seen {
					if seen[j] != (Role{Leads: j == i%3, Term: next.r.Role().Term, Leader: next.id}) {
						return false
					}
				}
				return true
			})
		}
		for _, n := range g.all {
			n.r.Kill()
			n.r = &Raft{over: ErrClosed}
		}
		wg.Wait()
		for _, n := range g.all {
			n.r = nil
		}
	})
}
