package blocks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// TestRecoveryOfNewerStamps has replicas whose stamp came from a pipeline that was never journaled: they take part in the
// recovery, and the block does not count as never written.
func TestRecoveryOfNewerStamps(t *testing.T) {
	w := newWorld(t, Options{}, 3)
	open := blk(int(id), 1001, 0)
	in := info(open, dfs.BlockUnderRecovery, 3)
	w.PutBlock(in)
	require.False(t, w.Reported(id))
	newer := blk(int(id), 1005, 100)
	w.full(1, Replica{Block: newer, State: dfs.ReplicaRWR})
	w.full(2, finalized(newer))
	require.True(t, w.Reported(id))
	require.Empty(t, w.at(id))
	w.now = w.now.Add(time.Second)
	w.beat(1) // heard last
	w.StartRecovery(in, 1006, w.now)
	got, on := w.recoveries(1)
	require.Equal(t, []RecoveringBlock{{Block: open, ID: 1006}}, got)
	require.Equal(t, [][]string{{"dn1", "dn2"}}, on)

	done := blk(int(id), 1006, 100)
	w.PutBlock(info(done, dfs.BlockComplete, 3))
	w.received(done, 1, 2)
	require.Equal(t, []string{"dn1", "dn2"}, w.at(id))
	w.check()
}

// TestVerify finds every difference from the namespace.
func TestVerify(t *testing.T) {
	w := newWorld(t, Options{}, 2)
	a, b := info(blk(int(id), 1001, 10), dfs.BlockComplete, 2), info(blk(int(id)+1, 1002, 20), dfs.BlockComplete, 2)
	w.PutBlock(a)
	w.PutBlock(b)
	w.received(a.Block, 1, 2)
	require.NoError(t, w.Verify([]BlockInfo{a, b}))
	require.ElementsMatch(t, []LiveReplica{{a.Block, "dn1"}, {a.Block, "dn2"}}, w.Live())

	longer := b
	longer.Len++
	for _, test := range []struct {
		all  []BlockInfo
		want string
	}{
		{[]BlockInfo{a}, "the namespace has 1 blocks, the block map 2"},
		{[]BlockInfo{a, longer}, "the namespace has blk_"},
		{[]BlockInfo{a, info(blk(int(id)+2, 1, 1), dfs.BlockComplete, 1)}, "is in the namespace only"},
	} {
		require.ErrorContains(t, w.Verify(test.all), test.want)
	}
	w.blocks[id].marks ^= markSafe
	require.ErrorContains(t, w.Verify([]BlockInfo{a, b}), "counted")
	w.blocks[id].marks ^= markSafe
	w.blocks[id].replicas[0].pos++
	require.ErrorContains(t, w.Verify([]BlockInfo{a, b}), "does not list it")
	w.blocks[id].replicas[0].pos--
	w.blocks[id].replicas = w.blocks[id].replicas[:1]
	require.ErrorContains(t, w.Verify([]BlockInfo{a, b}), "storages list 2 replicas, blocks 1")
}
