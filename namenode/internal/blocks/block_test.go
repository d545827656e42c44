package blocks

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

const id = dfs.LastReservedBlockID + 1

// A block is written on three datanodes, and the reports and edits come in any order: in the end it is live thrice.
func TestReportOrders(t *testing.T) {
	open, done := blk(int(id), 1001, 0), blk(int(id), 1001, 100)
	steps := map[string]func(w *world){
		"receiving": func(w *world) { w.event(1, open, StatusReceiving) },
		"received":  func(w *world) { w.received(done, 1) },
		"report":    func(w *world) { w.full(1, finalized(done)) },
		"put":       func(w *world) { w.PutBlock(info(open, dfs.BlockUnderConstruction, 3)) },
		"commit":    func(w *world) { w.PutBlock(info(done, dfs.BlockCommitted, 3)) },
		"complete":  func(w *world) { w.PutBlock(info(done, dfs.BlockComplete, 3)) },
	}
	for _, c := range []struct{ name, order string }{
		{"usual", "put receiving received commit complete"},
		{"report beside", "put receiving report received commit complete report"},
		{"commit first", "put receiving commit received complete"},
		{"complete by another replica first", "put receiving commit complete received"},
		{"no receiving", "put commit complete received"},
		{"only a full report", "put commit complete report"},
		{"standby behind: all reports first", "receiving received put commit complete"},
		{"standby behind: received only", "received put commit complete"},
		{"standby behind: report first", "report put commit complete"},
		{"standby behind: between", "receiving put received commit complete"},
		{"standby without the open phase", "received complete"},
		{"receiving told late", "put commit complete received receiving"},
		{"report told twice", "put commit complete report report receiving"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Options{}, 3)
			wait := w.Wait(done, 1) // the block is not there yet: nothing to wait for
			require.True(t, closed(wait))
			for _, s := range strings.Fields(c.order) {
				steps[s](w)
				w.check()
			}
			require.Equal(t, []string{"dn1"}, w.at(id))
			require.Equal(t, 1, w.Replicas(id))
			require.True(t, w.Complete(done))
			require.False(t, w.Locate(id, "").Corrupt)
			w.received(done, 2, 3)
			require.Equal(t, 3, w.Replicas(id))
			require.Equal(t, Stats{Capacity: 3 << 40, Remaining: 3 << 40, Blocks: 1, Safe: 1, Live: 3}, w.Stats())
			require.Empty(t, w.deletes(1))
		})
	}
}

func TestStanding(t *testing.T) {
	const gs = 1005
	at := func(gs, n int, s dfs.ReplicaState) Replica { return Replica{Block: blk(int(id), gs, n), State: s} }
	for _, c := range []struct {
		name  string
		state dfs.BlockState
		rep   Replica
		want  standing
	}{
		{"complete, right", dfs.BlockComplete, at(gs, 100, dfs.ReplicaFinalized), live},
		{"complete, shorter", dfs.BlockComplete, at(gs, 99, dfs.ReplicaFinalized), corrupt},
		{"complete, longer", dfs.BlockComplete, at(gs, 101, dfs.ReplicaFinalized), corrupt},
		{"complete, older stamp", dfs.BlockComplete, at(gs-1, 100, dfs.ReplicaFinalized), corrupt},
		{"complete, its last report is late", dfs.BlockComplete, at(gs, 50, dfs.ReplicaRBW), building},
		{"complete, rbw of an older stamp", dfs.BlockComplete, at(gs-1, 50, dfs.ReplicaRBW), corrupt},
		{"complete, lost its end", dfs.BlockComplete, at(gs, 50, dfs.ReplicaRWR), corrupt},
		{"complete, temporary", dfs.BlockComplete, at(gs, 100, dfs.ReplicaTemporary), corrupt},
		{"committed, right", dfs.BlockCommitted, at(gs, 100, dfs.ReplicaFinalized), live},
		{"committed, shorter", dfs.BlockCommitted, at(gs, 99, dfs.ReplicaFinalized), corrupt},
		{"committed, older stamp", dfs.BlockCommitted, at(gs-1, 100, dfs.ReplicaFinalized), corrupt},
		{"committed, being written", dfs.BlockCommitted, at(gs, 50, dfs.ReplicaRBW), building},
		{"committed, waiting", dfs.BlockCommitted, at(gs, 50, dfs.ReplicaRWR), building},
		{"open, finalized with any length", dfs.BlockUnderConstruction, at(gs, 7, dfs.ReplicaFinalized), live},
		{"open, finalized with an older stamp", dfs.BlockUnderConstruction, at(gs-1, 100, dfs.ReplicaFinalized), corrupt},
		{"open, being written", dfs.BlockUnderConstruction, at(gs, 7, dfs.ReplicaRBW), building},
		{"in recovery, older stamp", dfs.BlockUnderRecovery, at(gs-1, 7, dfs.ReplicaFinalized), building},
		{"in recovery, waiting", dfs.BlockUnderRecovery, at(gs, 7, dfs.ReplicaRWR), building},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Options{}, 1)
			w.PutBlock(info(blk(int(id), gs, 100), c.state, 1))
			w.full(1, c.rep)
			b := w.blocks[id]
			require.Equal(t, c.want, b.standing(&b.replicas[0]))
			w.check()
			require.Empty(t, w.deletes(1), "the only replica is kept, whatever it is worth")
		})
	}
}

func TestWait(t *testing.T) {
	w := newWorld(t, Options{}, 3)
	open, done := blk(int(id), 1001, 0), blk(int(id), 1001, 100)
	w.PutBlock(info(open, dfs.BlockUnderConstruction, 3))
	one, two, longer := w.Wait(done, 1), w.Wait(done, 2), w.Wait(blk(int(id), 1001, 101), 1)
	require.Equal(t, one, w.Wait(done, 1), "who asks again shares the channel")

	w.event(1, open, StatusReceiving)
	require.False(t, closed(one))
	w.received(done, 1)
	require.True(t, closed(one))
	require.False(t, closed(two))
	w.received(done, 2)
	require.True(t, closed(two))
	require.False(t, closed(longer))
	w.RemoveBlock(id)
	require.True(t, closed(longer))
	require.Empty(t, w.waiters)
}

// The stamp grows in a pipeline recovery: the datanodes may say so before the namenode knows.
func TestNewerStamp(t *testing.T) {
	w := newWorld(t, Options{}, 3)
	old, raised, done := blk(int(id), 1001, 0), blk(int(id), 1002, 0), blk(int(id), 1002, 100)
	w.PutBlock(info(old, dfs.BlockUnderConstruction, 3))
	w.SetExpected(id, []Ref{ref(1), ref(2), ref(3)})
	for i := 1; i <= 3; i++ {
		w.event(i, old, StatusReceiving)
	}
	w.event(1, raised, StatusReceiving)
	w.received(done, 2)
	require.Equal(t, []string{"dn1", "dn2", "dn3"}, w.at(id))
	require.Zero(t, w.Finalized(done))
	w.full(1, Replica{Block: raised, State: dfs.ReplicaRBW})
	require.Equal(t, []string{"dn1", "dn2", "dn3"}, w.at(id), "a listed replica is not forgotten, though its stamp is ahead")

	w.PutBlock(info(raised, dfs.BlockUnderConstruction, 3))
	w.SetExpected(id, []Ref{ref(1), ref(2)})
	require.Equal(t, []string{"dn1", "dn2"}, w.at(id))
	require.Equal(t, 1, w.Finalized(done))
	w.PutBlock(info(done, dfs.BlockComplete, 3))
	require.Equal(t, []string{"dn2"}, w.at(id))
	require.Equal(t, 1, w.Stats().Pending, "dn1 is about to report")
	w.received(done, 1)
	require.Equal(t, []string{"dn1", "dn2"}, w.at(id))
	w.tick(time.Second)
	require.Empty(t, w.deletes(3), "what dn3 said before the stamp grew proves nothing")

	w.full(3, Replica{Block: old, State: dfs.ReplicaRWR})
	w.tick(time.Second)
	require.Equal(t, []dfs.Block{old}, w.deletes(3))
	w.check()
}

// A client that appends under the same stamp leaves replicas that were finalized shorter.
func TestAppendWithoutNewStamp(t *testing.T) {
	w := newWorld(t, Options{}, 3)
	short, long := blk(int(id), 1001, 10), blk(int(id), 1001, 20)
	w.PutBlock(info(short, dfs.BlockComplete, 3))
	w.received(short, 1, 2, 3)
	w.PutBlock(info(short, dfs.BlockUnderConstruction, 3))
	require.Len(t, w.Expected(id), 3)
	require.True(t, w.Complete(short), "nothing written: what there was is good")
	w.received(long, 1)
	w.PutBlock(info(long, dfs.BlockComplete, 3))
	require.Equal(t, []string{"dn1"}, w.at(id))
	require.Zero(t, w.Stats().Corrupt)
	require.Equal(t, 1, w.Stats().Pending)
	w.received(long, 2)
	require.Equal(t, []string{"dn1", "dn2"}, w.at(id))
	w.full(3, finalized(short))
	require.Equal(t, 1, w.Stats().Corrupt)
	w.check()
}

func TestRemoveBlock(t *testing.T) {
	w := newWorld(t, Options{}, 2)
	b := blk(int(id), 1001, 10)
	w.PutBlock(info(b, dfs.BlockComplete, 2))
	w.received(b, 1, 2)
	w.RemoveBlock(id)
	w.check()
	require.Equal(t, 2, w.Stats().PendingDeletion)
	w.full(1, finalized(b))
	require.Equal(t, 2, w.Stats().PendingDeletion, "known already")
	require.Equal(t, []dfs.Block{b}, w.deletes(1))
	require.Empty(t, w.deletes(1))
	w.event(2, b, StatusDeleted)
	require.Zero(t, w.Stats().PendingDeletion)
	require.Empty(t, w.deletes(2))
	w.full(1, finalized(b))
	require.Equal(t, []dfs.Block{b}, w.deletes(1), "still there: told again")
}

func TestReset(t *testing.T) {
	w := newWorld(t, Options{}, 2)
	keep, drop, next := blk(int(id), 1001, 10), blk(int(id)+1, 1002, 10), blk(int(id)+2, 1003, 10)
	for _, b := range []dfs.Block{keep, drop} {
		w.PutBlock(info(b, dfs.BlockComplete, 2))
		w.received(b, 1, 2)
	}
	w.received(next, 1)
	gone := w.Wait(blk(int(drop.ID), 1002, 11), 1)
	w.Reset(slices.Values([]BlockInfo{info(keep, dfs.BlockComplete, 2), info(next, dfs.BlockComplete, 2)}))
	w.check()
	require.True(t, closed(gone))
	require.Equal(t, []string{"dn1", "dn2"}, w.at(keep.ID))
	require.Equal(t, []string{"dn1"}, w.at(next.ID))
	require.Equal(t, []dfs.Block{drop}, w.deletes(1))
	w.Reset(slices.Values([]BlockInfo{info(drop, dfs.BlockComplete, 2)}))
	w.check()
	require.Equal(t, []dfs.Block{keep}, w.deletes(2), "and drop, which is wanted again, is not deleted")
}

// An image whose newest blocks were deleted does not tell how far ids have come.
func TestSetLastBlockID(t *testing.T) {
	w := newWorld(t, Options{}, 1)
	b := blk(int(id)+5, 1001, 10)
	w.full(1, finalized(b))
	w.tick(time.Second)
	require.Empty(t, w.deletes(1), "may come with an edit")
	require.Equal(t, 1, w.Stats().InFuture)
	w.SetLastBlockID(b.ID)
	w.tick(time.Second)
	require.Equal(t, []dfs.Block{b}, w.deletes(1))
	require.Zero(t, w.Stats().InFuture)
}

// interleavings calls f with every merge of two sequences that keeps the order of each.
func interleavings(a, b []string, f func([]string)) {
	var merge func(done, a, b []string)
	merge = func(done, a, b []string) {
		if len(a)+len(b) == 0 {
			f(done)
			return
		}
		if len(a) > 0 {
			merge(append(slices.Clone(done), a[0]), a[1:], b)
		}
		if len(b) > 0 {
			merge(append(slices.Clone(done), b[0]), a, b[1:])
		}
	}
	merge(nil, a, b)
}

// Edits come in their order and so do a datanode's reports, but how the two mix is up to the network. Whatever the mix,
// the replica is live in the end, and never deleted under the stamp that it has then.
func TestEveryMixOfEditsAndReports(t *testing.T) {
	open, raised, done := blk(int(id), 1001, 0), blk(int(id), 1002, 0), blk(int(id), 1002, 100)
	next := blk(int(id)+1, 1003, 0)
	steps := map[string]func(w *world){
		"put":       func(w *world) { w.PutBlock(info(open, dfs.BlockUnderConstruction, 2)) },
		"raise":     func(w *world) { w.PutBlock(info(raised, dfs.BlockUnderConstruction, 2)) },
		"recover":   func(w *world) { w.PutBlock(info(open, dfs.BlockUnderRecovery, 2)) },
		"commit":    func(w *world) { w.PutBlock(info(done, dfs.BlockCommitted, 2)) },
		"complete":  func(w *world) { w.PutBlock(info(done, dfs.BlockComplete, 2)) },
		"next":      func(w *world) { w.PutBlock(info(next, dfs.BlockUnderConstruction, 2)) },
		"receiving": func(w *world) { w.event(1, open, StatusReceiving) },
		"again":     func(w *world) { w.event(1, raised, StatusReceiving) },
		"rbw":       func(w *world) { w.full(1, Replica{Block: raised, State: dfs.ReplicaRBW}) },
		"rwr":       func(w *world) { w.full(1, Replica{Block: open, State: dfs.ReplicaRWR}) },
		"received":  func(w *world) { w.received(done, 1) },
		"report":    func(w *world) { w.full(1, finalized(done)) },
	}
	for _, c := range []struct{ name, edits, reports string }{
		{"written", "put raise commit complete next", "again received report"},
		{"written, report in the middle", "put raise commit complete", "again rbw received report"},
		{"pipeline recovery", "put raise commit complete next", "receiving again received report"},
		{"block recovery", "put recover complete next", "receiving rwr received report"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			interleavings(strings.Fields(c.edits), strings.Fields(c.reports), func(order []string) {
				n++
				w := newWorld(t, Options{}, 2)
				w.received(done, 2) // the other replica is always good
				for _, s := range order {
					steps[s](w)
					w.tick(time.Second)
					for _, b := range w.deletes(1) { // a datanode does not delete a replica that has a newer stamp by now
						require.Equal(t, open, b, "%v at %s", order, s)
						require.Equal(t, "rwr", s, "%v", order)
					}
				}
				require.Equal(t, []string{"dn1", "dn2"}, w.at(id), "%v", order)
				require.Zero(t, w.Stats().Corrupt, "%v", order)
				require.Empty(t, w.early)
				w.check()
			})
			t.Logf("%d mixes", n)
		})
	}
}
