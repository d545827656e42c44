package blocks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// excess lists the datanodes that are told to delete a replica.
func (w *world) excess(nodes int) []string {
	var told []string
	for i := 1; i <= nodes; i++ {
		if len(w.deletes(i)) > 0 {
			told = append(told, dn(i))
		}
	}
	return told
}

func TestExcess(t *testing.T) {
	b := blk(int(id), 1001, 10)
	complete := func(w *world, replication int, nodes ...int) {
		w.PutBlock(info(b, dfs.BlockComplete, replication))
		w.received(b, nodes...)
	}
	setrep := func(w *world, replication int) { w.PutBlock(info(b, dfs.BlockComplete, replication)) }
	space := func(w *world, i int, free int64) {
		_, _, err := w.Heartbeat(reg(i), Heartbeat{Reports: []StorageReport{{Storage: disk(i), Capacity: 1 << 40, Remaining: free}}}, w.now)
		require.NoError(w.t, err)
	}
	for _, c := range []struct {
		name  string
		racks []string
		do    func(w *world)
		lives int
		told  []string
	}{
		{"just enough", nil, func(w *world) { complete(w, 3, 1, 2, 3) }, 3, nil},
		{"replication falls", nil, func(w *world) { complete(w, 3, 1, 2, 3); setrep(w, 1) }, 1, []string{"dn1", "dn2"}},
		{"one more is reported", nil, func(w *world) { complete(w, 2, 1, 2, 3) }, 2, []string{"dn1"}},
		{"more than asked for when it is completed", nil, func(w *world) {
			w.PutBlock(info(blk(int(id), 1001, 0), dfs.BlockUnderConstruction, 1))
			w.received(b, 1, 2)
			require.Equal(w.t, 2, w.Replicas(id), "of an open block nothing is given up")
			setrep(w, 1)
		}, 1, []string{"dn1"}},
		{"the least free space", nil, func(w *world) {
			complete(w, 3, 1, 2, 3)
			space(w, 2, 5)
			space(w, 3, 4)
			setrep(w, 2)
		}, 2, []string{"dn3"}},
		{"the one not heard for longest, where it is late", nil, func(w *world) {
			complete(w, 3, 1, 2, 3)
			space(w, 1, 5)
			w.now = w.now.Add(12 * time.Second)
			w.beat(2)
			w.tick(time.Second)
			space(w, 1, 5)
			setrep(w, 2)
		}, 2, []string{"dn3"}},
		{"a rack with several first", []string{"/a", "/b", "/b"}, func(w *world) {
			complete(w, 3, 1, 2, 3)
			space(w, 1, 5)
			setrep(w, 2)
		}, 2, []string{"dn2"}},
		{"then any", []string{"/a", "/b", "/b"}, func(w *world) {
			complete(w, 3, 1, 2, 3)
			space(w, 1, 5)
			setrep(w, 1)
		}, 1, []string{"dn1", "dn2"}},
		{"corrupt ones do not count", nil, func(w *world) {
			complete(w, 3, 1, 2, 3)
			w.BadBlocks([]BadReplica{{Block: b, Ref: ref(2)}})
			setrep(w, 2)
		}, 2, []string{"dn2"}},
		{"needed again before the order is out", nil, func(w *world) { complete(w, 3, 1, 2, 3); setrep(w, 1); setrep(w, 2) }, 2, []string{"dn2"}},
		{"another is lost before the order is out", nil, func(w *world) {
			complete(w, 3, 1, 2, 3)
			setrep(w, 2)
			w.event(2, b, StatusDeleted)
		}, 2, nil},
		{"a standby gives nothing up", nil, func(w *world) { w.SetActive(false, 0); complete(w, 1, 1, 2) }, 2, nil},
		{"deleted files have none", nil, func(w *world) { complete(w, 3, 1, 2, 3); setrep(w, 1); w.RemoveBlock(id) }, 0, []string{"dn1", "dn2", "dn3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Options{}, 3, c.racks...)
			c.do(w)
			w.check()
			require.Equal(t, c.lives, w.Replicas(id))
			require.Equal(t, c.told, w.excess(3))
			require.Zero(t, w.Stats().PendingDeletion)
			require.Empty(t, w.excess(3), "told once")
			w.check()
		})
	}
}

// Readers find an excess replica until its datanode has deleted it, and no report that still names it costs another one.
func TestExcessUntilDeleted(t *testing.T) {
	w := newWorld(t, Options{}, 3)
	b := blk(int(id), 1001, 10)
	w.PutBlock(info(b, dfs.BlockComplete, 3))
	w.received(b, 1, 2, 3)
	w.PutBlock(info(b, dfs.BlockComplete, 1))
	require.Equal(t, []string{"dn1", "dn2"}, w.excess(3))
	require.Equal(t, []string{"dn1", "dn2", "dn3"}, w.at(id))
	require.Equal(t, []LiveReplica{{Block: b, Node: dn(3)}}, w.Live())
	w.full(1, finalized(b)) // written before the order came, or the order was lost
	w.full(3, finalized(b))
	require.Equal(t, []string{"dn1"}, w.excess(3), "told again")
	w.check()
	for i := 1; i <= 2; i++ {
		w.event(i, b, StatusDeleted)
	}
	require.Equal(t, []string{"dn3"}, w.at(id))
	require.Equal(t, Stats{Capacity: 3 << 40, Remaining: 3 << 40, Blocks: 1, Safe: 1, Live: 3}, w.Stats())
	w.check()
}

// An append begins on the live replicas alone; what is left of the others has an old stamp afterwards.
func TestExcessOfAReopenedFile(t *testing.T) {
	w := newWorld(t, Options{}, 3)
	b, again := blk(int(id), 1001, 10), blk(int(id), 1002, 20)
	w.PutBlock(info(b, dfs.BlockComplete, 3))
	w.received(b, 1, 2, 3)
	w.PutBlock(info(b, dfs.BlockComplete, 2))
	w.PutBlock(info(b, dfs.BlockUnderConstruction, 2))
	require.Equal(t, []Ref{ref(2), ref(3)}, Refs(w.Expected(id)))
	w.PutBlock(info(again, dfs.BlockComplete, 2))
	w.received(again, 2, 3)
	require.Equal(t, []string{"dn2", "dn3"}, w.at(id))
	require.Equal(t, []dfs.Block{b}, w.deletes(1))
	w.event(1, b, StatusDeleted)
	w.check()
}

// After start-up or a failover nothing is given up before all who hold a replica have reported to this namenode: the
// active before may have had others deleted.
func TestExcessAfterFailover(t *testing.T) {
	w := newWorld(t, Options{}, 3)
	b := blk(int(id), 1001, 10)
	w.PutBlock(info(b, dfs.BlockComplete, 3))
	w.received(b, 1, 2, 3)
	w.PutBlock(info(b, dfs.BlockComplete, 2))
	require.Equal(t, 1, w.Stats().PendingDeletion)
	w.SetActive(false, 0)
	w.SetActive(true, 77)
	require.Zero(t, w.Stats().PendingDeletion, "the other active has decided anew")
	for i := 1; i <= 3; i++ {
		w.tick(time.Second)
		require.Empty(t, w.excess(3))
		w.full(i, finalized(b))
	}
	w.tick(time.Second)
	require.Equal(t, []string{"dn1"}, w.excess(3))
	require.Equal(t, 2, w.Replicas(id))
	w.check()
}

// A replica that replaces another one, as the balancer has it, takes its place unless the block would lose a rack.
func TestDeleteHint(t *testing.T) {
	w := newWorld(t, Options{}, 5, "/a", "/a", "/b", "/b", "/b")
	b := blk(int(id), 1001, 10)
	w.PutBlock(info(b, dfs.BlockComplete, 3))
	w.received(b, 1, 2)
	move := func(to, from int) {
		require.NoError(t, w.IncrementalReport(reg(to), disk(to), []Received{{Block: b, Status: StatusReceived, DeleteHint: dn(from)}}, w.now))
	}
	move(3, 1)
	require.Empty(t, w.excess(5), "there are not more than asked for")
	move(4, 2)
	require.Equal(t, []string{"dn2"}, w.excess(5))
	w.event(2, b, StatusDeleted)
	require.Equal(t, []string{"dn1", "dn3", "dn4"}, w.at(id))
	move(5, 1)
	told := w.excess(5)
	require.Len(t, told, 1)
	require.NotContains(t, told, "dn1", "the last on its rack")
	w.check()
}
