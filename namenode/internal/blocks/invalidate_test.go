package blocks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func TestInvalidateLimit(t *testing.T) {
	w := newWorld(t, Options{MaxInvalidatePerHeartbeat: 10}, 1)
	var all []dfs.Block
	for i := range 25 {
		b := blk(int(id)+i, 1001, 10)
		w.PutBlock(info(b, dfs.BlockComplete, 1))
		w.received(b, 1)
		all = append(all, b)
	}
	for _, b := range all {
		w.RemoveBlock(b.ID)
	}
	require.Equal(t, all[:10], w.deletes(1))
	w.event(1, all[12], StatusDeleted)
	w.SetSafeMode(SafeModeEnter, w.now)
	require.Empty(t, w.beat(1), "no commands in safe mode")
	w.SetSafeMode(SafeModeLeave, w.now)
	w.SetActive(false, 0)
	require.Empty(t, w.beat(1), "nor from a standby")
	w.SetActive(true, 9)
	require.Equal(t, append(append([]dfs.Block{}, all[10:12]...), all[13:21]...), w.deletes(1))
	require.Equal(t, all[21:], w.deletes(1))
	require.Empty(t, w.deletes(1))
	w.check()
}

// A standby's queue is emptied by what the datanodes delete for the active.
func TestStandbyQueueStaysSmall(t *testing.T) {
	w := newWorld(t, Options{}, 1)
	w.SetActive(false, 0)
	stay := blk(int(id), 1001, 10)
	w.PutBlock(info(stay, dfs.BlockComplete, 1))
	w.received(stay, 1)
	w.RemoveBlock(stay.ID)
	for i := range 10_000 {
		b := blk(int(id)+1+i, 1001, 10)
		w.PutBlock(info(b, dfs.BlockComplete, 1))
		w.received(b, 1)
		w.RemoveBlock(b.ID)
		w.event(1, b, StatusDeleted)
	}
	require.Less(t, len(w.nodes[dn(1)].deletions.order), 100)
	require.Equal(t, 1, w.Stats().PendingDeletion)
	w.check()
}

func TestCorrupt(t *testing.T) {
	b := blk(int(id), 1001, 10)
	bad := func(w *world, nodes ...int) {
		for _, i := range nodes {
			w.BadBlocks([]BadReplica{{Block: b, Ref: ref(i)}})
		}
	}
	for _, c := range []struct {
		name        string
		replication int
		do          func(w *world)
		at          []string
		corrupt     bool // in locations
		counted     int
		deleted     []int
	}{
		{"one of three is kept until there is another", 3, func(w *world) { bad(w, 2) }, []string{"dn1", "dn3"}, false, 1, nil},
		{"and deleted then", 3, func(w *world) { bad(w, 2); w.received(b, 4) }, []string{"dn1", "dn3", "dn4"}, false, 0, []int{2}},
		{"more than asked for", 2, func(w *world) { bad(w, 2) }, []string{"dn1", "dn3"}, false, 0, []int{2}},
		{"all corrupt are all kept and listed", 1, func(w *world) { bad(w, 1, 2, 3) }, []string{"dn3"}, true, 1, []int{1, 2}},
		{"all of three", 3, func(w *world) { bad(w, 1, 2, 3) }, []string{"dn1", "dn2", "dn3"}, true, 1, nil},
		{"a report does not heal it", 3, func(w *world) { bad(w, 2); w.full(2, finalized(b)); w.received(b, 2) }, []string{"dn1", "dn3"}, false, 1, nil},
		{"writing it again does", 3, func(w *world) { bad(w, 2); w.event(2, b, StatusDeleted); w.received(b, 2) }, []string{"dn1", "dn2", "dn3"}, false, 0, nil},
		{"not there", 3, func(w *world) { bad(w, 4, 9) }, []string{"dn1", "dn2", "dn3"}, false, 0, nil},
		{"unknown block", 3, func(w *world) { w.BadBlocks([]BadReplica{{Block: blk(5, 5, 5), Ref: ref(1)}}) }, []string{"dn1", "dn2", "dn3"}, false, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Options{}, 4)
			w.PutBlock(info(b, dfs.BlockComplete, c.replication))
			w.received(b, 1, 2, 3)
			c.do(w)
			w.tick(time.Second)
			require.Equal(t, c.at, w.at(id))
			require.Equal(t, c.corrupt, w.Locate(id, "").Corrupt)
			require.Equal(t, c.counted, w.Stats().Corrupt)
			var deleted []int
			for i := 1; i <= 4; i++ {
				if len(w.deletes(i)) > 0 {
					deleted = append(deleted, i)
				}
			}
			require.Equal(t, c.deleted, deleted)
			w.check()
		})
	}
}

// After a failover the new active does not delete a replica before all who hold one have reported to it.
func TestFailover(t *testing.T) {
	w := newWorld(t, Options{}, 3)
	w.SetActive(false, 0)
	b, old := blk(int(id), 1002, 10), blk(int(id), 1001, 10)
	w.PutBlock(info(b, dfs.BlockComplete, 2))
	w.received(b, 1, 2)
	w.full(3, finalized(old))
	require.Equal(t, 1, w.Stats().Corrupt)
	w.SetActive(true, 77)
	txid, active := w.ActiveSince()
	require.True(t, active)
	require.EqualValues(t, 77, txid)
	step := func() []dfs.Block {
		w.tick(time.Second)
		return w.deletes(3)
	}
	require.Empty(t, step())
	w.beat(1)
	w.beat(2)
	require.Empty(t, step(), "heard of all, but not what they hold")
	w.full(1, finalized(b))
	w.full(2, finalized(b))
	require.Empty(t, step())
	w.full(3, finalized(old))
	require.Equal(t, []dfs.Block{old}, step())
	w.check()
}
