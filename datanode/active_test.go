package datanode

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/memnet"
)

// newGroup starts datanodes with several namenodes, in memory: nn, which is active, nn2, and so on, each a host of its own.
// before is called when the namenodes are there and the datanodes are not.
func newGroup(t testing.TB, namenodes, datanodes int, before func(*cluster, []*fakeNN)) (*cluster, []*fakeNN) {
	c := &cluster{t: t, net: memnet.New(memnet.Options{})}
	t.Cleanup(func() { require.NoError(t, c.net.Close()) })
	var nns []*fakeNN
	c.setup = func(_ int, o *Options) {
		if nns == nil {
			nns = append(nns, c.nn)
			for i := 2; i <= namenodes; i++ {
				n := newFakeNN(t, c.listen(fmt.Sprint("nn", i)))
				n.active = false
				nns = append(nns, n)
			}
			if before != nil {
				before(c, nns)
			}
		}
		o.NameNodes = nil
		for _, n := range nns {
			o.NameNodes = append(o.NameNodes, n.addr)
		}
	}
	for range datanodes {
		c.vols = append(c.vols, Volume{FS: faultfs.NewDisk(faultfs.Options{}), Dir: "/data", Capacity: 1 << 40})
	}
	return c.startAll(), nns
}

// peek gives what f says under the namenode's lock.
func peek[T any](n *fakeNN, f func() T) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return f()
}

// TestClaims goes through heartbeats of several namenodes, in the order in which they are answered.
func TestClaims(t *testing.T) {
	type beat struct {
		nn     int
		active bool
		txid   int64
		obeyed int // from then on; -1: none
	}
	for _, tc := range []struct {
		name  string
		beats []beat
	}{
		{"the first claim", []beat{{1, false, 9, -1}, {0, true, 0, 0}, {2, false, 9, 0}}},
		{"both claim", []beat{{0, true, 10, 0}, {1, true, 11, 1}, {0, true, 10, 1}, {1, true, 12, 1}, {0, true, 10, 1}}},
		{"an equal claim", []beat{{0, true, 10, 0}, {1, true, 10, 0}, {0, true, 10, 0}}},
		{"an older claim", []beat{{0, true, 10, 0}, {1, true, 9, 0}}},
		{"the claim of an active grows with its heartbeats", []beat{{0, true, 10, 0}, {0, true, 20, 0}, {1, true, 15, 0}, {1, true, 21, 1}}},
		{"the active gives up: nobody is obeyed", []beat{{0, true, 10, 0}, {0, false, 10, -1}, {1, true, 10, -1}, {0, true, 10, -1}, {1, true, 11, 1}}},
		{"another one gives up", []beat{{0, true, 10, 0}, {1, true, 11, 1}, {0, false, 10, 1}}},
		{"and is active again", []beat{{0, true, 10, 0}, {1, true, 11, 1}, {0, false, 11, 1}, {1, false, 11, -1}, {0, true, 12, 0}}},
		{"three of them", []beat{{0, true, 1, 0}, {1, true, 5, 1}, {2, true, 4, 1}, {2, true, 6, 2}, {1, true, 5, 2}, {0, true, 1, 2}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &DataNode{allegiance: allegiance{claim: -1}}
			for range 3 {
				d.actors = append(d.actors, newActor(&DataNode{log: slog.New(slog.DiscardHandler), opt: Options{}}, ""))
			}
			for i, b := range tc.beats {
				reign := d.hear(d.actors[b.nn], b.active, b.txid)
				require.Equal(t, b.obeyed == b.nn, reign != 0, "beat %d: its commands count only where it is obeyed", i)
				for k, a := range d.actors {
					require.Equal(t, k == b.obeyed, d.obeyed() == a, "beat %d, namenode %d", i, k)
				}
			}
		})
	}
}

// TestCommandsOfAnotherReign has commands wait while namenodes take turns: only those of the present active are obeyed, and
// only those that it gave since it is.
func TestCommandsOfAnotherReign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, nns := newGroup(t, 2, 1, nil)
		d := c.dns[0]
		put(t, c.dns, block(1, 1001, 5), []byte("hello"))
		require.NoError(t, d.TriggerHeartbeat(t.Context()))
		a, b := d.actors[0], d.actors[1]
		old := d.reign(a)
		require.NotZero(t, old)
		require.Zero(t, d.reign(b))
		turn := func(n *fakeNN, active bool, txid uint64) {
			n.locked(func() { n.active, n.txid = active, txid })
			require.NoError(t, d.TriggerHeartbeat(t.Context()))
		}
		obeys := func(reign uint64) bool {
			a.todo <- order{reign, invalidate(block(1, 1001, 0))}
			synctest.Wait()
			return len(d.Replicas()) == 0
		}
		turn(nns[1], true, 11)
		require.False(t, obeys(old), "deposed")
		turn(nns[0], true, 12)
		require.False(t, obeys(old), "what waited since the time before")
		require.False(t, obeys(0), "what it said as a standby")
		turn(nns[0], false, 13)
		turn(nns[0], true, 14)
		require.False(t, obeys(old+2), "it was a standby for a moment")
		require.True(t, obeys(d.reign(a)))
	})
}

// TestSilentNamenodes has one namenode that is paused and one that is down, for an hour: neither delays anything of the third,
// and both hear of everything afterwards.
func TestSilentNamenodes(t *testing.T) {
	for _, since := range []string{"from the start", "later"} {
		t.Run(since, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				silence := func(c *cluster, _ []*fakeNN) {
					c.net.Pause("nn2")
					c.net.Down("nn3")
				}
				before := silence
				if since == "later" {
					before = nil
				}
				c, nns := newGroup(t, 3, 3, before)
				if since == "later" {
					synctest.Wait()
					for _, n := range nns {
						require.Equal(t, 3, peek(n, func() int { return len(n.reports) }), "a full report of each datanode to each namenode")
					}
					silence(c, nns)
				}
				begin := time.Now()
				b := block(1, 1001, 3000)
				put(t, c.dns, b, random(3000))
				nns[0].until(t, "the block is reported", func() bool { return nns[0].count(b, received) == 3 })
				require.NoError(t, c.dns[0].TriggerHeartbeat(t.Context(), nns[0].addr))
				require.NoError(t, c.dns[0].TriggerBlockReport(t.Context(), nns[0].addr))
				c.dns[0].reportBad(block(1, 1001, 3000))
				nns[0].until(t, "the corrupt replica is reported", func() bool { return len(nns[0].bad) == 1 })
				require.Zero(t, time.Since(begin), "nothing waits for the others")

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				err := c.dns[0].TriggerHeartbeat(ctx)
				cancel()
				require.ErrorContains(t, err, nns[1].addr)
				require.ErrorContains(t, err, nns[2].addr)
				require.NotContains(t, err.Error(), nns[0].addr)

				nns[0].locked(func() { nns[0].beats = nil })
				time.Sleep(time.Hour)
				require.InDelta(t, 3*1200, peek(nns[0], func() int { return len(nns[0].beats) }), 6)
				gone := block(2, 1001, 10)
				put(t, c.dns, gone, random(10))
				c.order(c.dns[1], invalidate(gone))
				synctest.Wait()

				c.net.Resume("nn2")
				nns[2].locked(func() { nns[2].regs = map[string]*hdfspb.DatanodeRegistrationProto{} }) // a new process
				c.net.Up("nn3")
				time.Sleep(5 * time.Second)
				for _, n := range nns[1:] {
					require.Equal(t, 3, peek(n, func() int { return len(n.regs) }))
					require.GreaterOrEqual(t, peek(n, func() int { return n.count(b, received) }), 3)
					require.NotEmpty(t, peek(n, func() []*hdfspb.LocatedBlockProto { return n.bad }), "the message about the corrupt replica")
					require.GreaterOrEqual(t, peek(n, func() int { return n.count(block(2, 1001, 10), received) }), 2)
					require.Positive(t, peek(n, func() int { return len(n.reports) }))
				}
				require.NoError(t, c.dns[0].TriggerHeartbeat(t.Context()))
			})
		})
	}
}

// TestTooMuchIsNew gives a namenode that was away for long a full report in place of all that happened.
func TestTooMuchIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, nns := newGroup(t, 2, 1, nil)
		d := c.dns[0]
		synctest.Wait()
		c.net.Down("nn2")
		storage := d.Storages()[0].ID
		for i := range dfs.BlockID(maxPending + 10) {
			d.receiving(storage, block(i, 1001, 0))
		}
		a := d.actors[1]
		a.mu.Lock()
		require.LessOrEqual(t, a.pending.len(), 10)
		a.mu.Unlock()
		for range dfs.BlockID(1000) { // the same one again and again
			d.receiving(storage, block(1, 1001, 0))
		}
		a.mu.Lock()
		require.Less(t, len(a.pending.list), 2*minHoles)
		a.mu.Unlock()
		for i := range maxWords + 10 {
			d.reportError(codeDisk, fmt.Sprint(i))
		}
		c.net.Up("nn2")
		time.Sleep(5 * time.Second)
		require.Equal(t, 2, peek(nns[1], func() int { return len(nns[1].reports) }))
		require.Equal(t, maxWords, peek(nns[1], func() int { return len(nns[1].errs) }))
		time.Sleep(time.Hour)
		require.Equal(t, 2, peek(nns[1], func() int { return len(nns[1].reports) }), "once")
	})
}

// TestUnansweredReport leaves an incremental report without an answer for so long that it is sent again: since the first may
// be carried out late, a full report follows.
func TestUnansweredReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, nns := newGroup(t, 2, 1, nil)
		synctest.Wait()
		c.net.Pause("nn2")
		put(t, c.dns, block(1, 1001, 5), []byte("hello"))
		time.Sleep(callTimeout + time.Second)
		c.net.Resume("nn2")
		time.Sleep(5 * time.Second)
		require.Equal(t, 2, peek(nns[1], func() int { return len(nns[1].reports) }))
	})
}

// TestLostBytes has the network lose what is sent to one namenode, without telling: the connection stays dead when that is over,
// and is given up.
func TestLostBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, nns := newGroup(t, 2, 1, nil)
		synctest.Wait()
		c.net.Blackhole("dn1", "nn2")
		b := block(1, 1001, 5)
		put(t, c.dns, b, []byte("hello"))
		time.Sleep(time.Minute)
		c.net.Heal()
		time.Sleep(callTimeout)
		require.Equal(t, 1, peek(nns[1], func() int { return nns[1].count(b, received) }))
		nns[1].locked(func() { nns[1].beats = nil })
		time.Sleep(time.Minute)
		require.InDelta(t, 20, peek(nns[1], func() int { return len(nns[1].beats) }), 1)
	})
}

// TestStandby registers again when a standby wants it, tells it of corrupt replicas once, and takes no other command.
func TestStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, nns := newGroup(t, 2, 1, nil)
		d := c.dns[0]
		put(t, c.dns, block(1, 1001, 5), []byte("hello"))
		synctest.Wait()
		nns[1].locked(func() {
			clear(nns[1].regs)
			nns[1].refuseBad = dfs.Errorf(dfs.ClassStandby, "Operation category WRITE is not supported in state standby")
		})
		require.NoError(t, d.TriggerHeartbeat(t.Context()))
		require.Len(t, nns[1].regs, 1)
		synctest.Wait()
		require.Equal(t, 2, peek(nns[1], func() int { return len(nns[1].reports) }), "with a full report")

		nns[1].locked(func() { nns[1].commands[d.ID().UUID] = []*hdfspb.DatanodeCommandProto{invalidate(block(1, 1001, 0))} })
		require.NoError(t, d.TriggerHeartbeat(t.Context()))
		synctest.Wait()
		require.Len(t, d.Replicas(), 1)

		d.reportBad(block(1, 1001, 5))
		time.Sleep(time.Minute)
		require.Equal(t, 1, peek(nns[0], func() int { return len(nns[0].bad) }))
		require.Equal(t, 1, peek(nns[1], func() int { return nns[1].refused }))
	})
}

// TestRecoveryGoesToTheActive reports the outcome of a recovery to the namenode that is active by then.
func TestRecoveryGoesToTheActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, nns := newGroup(t, 3, 2, nil)
		b := block(1, 1001, 0)
		w := openWriter(t, c.dns, b, stageCreate, nil)
		w.acked(w.send(0, random(2000)))
		w.Close()
		// its other replica's node does not answer for a while
		c.net.Pause("dn2")
		c.order(c.dns[0], recoverCommand(b, 1002, nil, c.dns...))
		synctest.Wait()
		nns[1].locked(func() { nns[1].active, nns[1].txid = true, 5 })
		require.NoError(t, c.dns[0].TriggerHeartbeat(t.Context()))
		c.net.Resume("dn2")
		nns[1].until(t, "the outcome", func() bool { return len(nns[1].commits) == 1 })
		time.Sleep(time.Minute)
		for i, n := range nns {
			require.Equal(t, i == 1, peek(n, func() int { return len(n.commits) }) == 1)
		}
		require.Equal(t, uint64(2000), nns[1].commits[0].GetNewLength())
	})
}

// TestNamenodeOfAnotherFileSystem is refused by itself.
func TestNamenodeOfAnotherFileSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, nns := newGroup(t, 3, 1, func(c *cluster, nns []*fakeNN) {
			nns[1].pool = "BP-2-127.0.0.1-2"
			nns[1].active, nns[1].txid = true, 100
			c.net.Down("nn2") // until the datanode knows its own
		})
		c.net.Up("nn2")
		time.Sleep(time.Hour)
		d := c.dns[0]
		require.Empty(t, nns[1].regs)
		require.Empty(t, nns[1].beats)
		require.Equal(t, d.actors[0], d.obeyed())
		require.NoError(t, d.TriggerHeartbeat(t.Context(), nns[0].addr, nns[2].addr))
		require.ErrorIs(t, d.TriggerHeartbeat(t.Context()), volume.ErrWrongPool)
		put(t, c.dns, block(1, 1001, 5), []byte("hello"))
		nns[2].until(t, "the others go on", func() bool { return nns[2].count(block(1, 1001, 5), received) == 1 })
	})
}

// TestObey takes commands from the namenode with the newest claim only.
func TestObey(t *testing.T) {
	nns := make([]*fakeNN, 2)
	c := newCluster(t, 1, func(_ int, o *Options) {
		two := &cluster{t: t}
		nns[1] = newFakeNN(t, two.listen(""))
		nns[1].active = false
		o.NameNodes = append(o.NameNodes, nns[1].addr)
	})
	nns[0] = c.nn
	d := c.dns[0]
	beat := func() { require.NoError(t, d.TriggerHeartbeat(context.Background())) }
	who := func() int {
		for i, a := range d.actors {
			if a == d.obeyed() {
				return i
			}
		}
		return -1
	}
	set := func(i int, active bool, txid uint64) {
		nns[i].locked(func() { nns[i].active, nns[i].txid = active, txid })
		beat()
	}
	beat()
	require.Equal(t, 0, who())
	set(0, true, 10)
	set(1, true, 10)
	require.Equal(t, 0, who(), "an equal claim is no claim")
	set(1, true, 11)
	require.Equal(t, 1, who())
	put(t, c.dns, block(1, 1001, 5), []byte("hello"))
	nns[1].until(t, "both hear of the block", func() bool { return nns[1].count(block(1, 1001, 5), received) == 1 })
	nns[0].until(t, "both hear of the block", func() bool { return nns[0].count(block(1, 1001, 5), received) == 1 })
	c.order(d, invalidate(block(1, 1001, 0))) // by the old one
	beat()
	require.Len(t, d.Replicas(), 1)
	set(1, false, 12)
	require.Equal(t, -1, who())
	set(0, true, 12)
	require.Equal(t, 0, who())
	c.order(d, invalidate(block(1, 1001, 0)))
	until(t, func() bool { return len(d.Replicas()) == 0 })
}
