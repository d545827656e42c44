package blocks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// recovery returns what the datanode is told to recover, as "on" the datanodes of its targets.
func (w *world) recoveries(i int) (out []RecoveringBlock, on [][]string) {
	w.t.Helper()
	for _, c := range w.beat(i) {
		if rec, ok := c.(RecoverCommand); ok {
			for _, rb := range rec.Blocks {
				var uuids []string
				for _, t := range rb.Targets {
					uuids = append(uuids, t.Node.UUID)
				}
				rb.Targets = nil
				out, on = append(out, rb), append(on, uuids)
			}
		}
	}
	return out, on
}

func TestRecovery(t *testing.T) {
	w := newWorld(t, Options{}, 4)
	open := blk(int(id), 1001, 0)
	w.PutBlock(info(open, dfs.BlockUnderConstruction, 3))
	w.SetExpected(id, []Ref{ref(1), ref(2), ref(3)})
	w.event(1, open, StatusReceiving)
	w.now = w.now.Add(time.Second)
	w.beat(2) // heard last
	in := info(open, dfs.BlockUnderRecovery, 3)
	in.RecoveryID = 1002
	w.PutBlock(in)
	w.StartRecovery(in, 1002, w.now)
	got, _ := w.recoveries(1)
	require.Empty(t, got)
	got, on := w.recoveries(2)
	require.Equal(t, []RecoveringBlock{{Block: open, ID: 1002}}, got)
	require.Equal(t, [][]string{{"dn1", "dn2", "dn3"}}, on)
	got, _ = w.recoveries(2)
	require.Empty(t, got, "told once")
	require.True(t, w.Recovering(id))

	// dn2 does not answer; dn1 and dn3 do, and dn3 is heard later.
	w.now = w.now.Add(89 * time.Second)
	w.beat(1)
	w.beat(3)
	w.tick(time.Second)
	w.tick(0)
	require.False(t, w.Recovering(id), "it had its chance: others are asked, but a new id is due")
	got, on = w.recoveries(1)
	got3, on3 := w.recoveries(3)
	got, on = append(got, got3...), append(on, on3...)
	require.Equal(t, []RecoveringBlock{{Block: open, ID: 1002}}, got)
	require.Equal(t, [][]string{{"dn1", "dn3"}}, on, "without the stale dn2")

	// The lease monitor starts anew: another datanode's turn.
	in.RecoveryID = 1003
	w.PutBlock(in)
	w.StartRecovery(in, 1003, w.now)
	require.True(t, w.Recovering(id))
	var all []RecoveringBlock
	for i := 1; i <= 3; i++ {
		got, _ = w.recoveries(i)
		all = append(all, got...)
	}
	require.Equal(t, []RecoveringBlock{{Block: open, ID: 1003}}, all)

	done := blk(int(id), 1003, 42)
	w.received(done, 1) // may be quicker than the commit
	require.Zero(t, w.Finalized(done))
	w.PutBlock(info(done, dfs.BlockComplete, 3))
	w.Finish(done, []Ref{ref(1), ref(3)})
	require.Equal(t, []string{"dn1", "dn3"}, w.at(id))
	require.False(t, w.Recovering(id))
	w.tick(time.Hour)
	w.check()
}

func TestRecoveryWithoutDatanodes(t *testing.T) {
	w := newWorld(t, Options{}, 2)
	open := blk(int(id), 1001, 0)
	w.PutBlock(info(open, dfs.BlockUnderRecovery, 3))
	w.StartRecovery(info(open, dfs.BlockUnderRecovery, 3), 1002, w.now)
	w.tick(time.Second)
	w.event(2, open, StatusReceiving)
	w.tick(time.Second)
	got, on := w.recoveries(2)
	require.Equal(t, []RecoveringBlock{{Block: open, ID: 1002}}, got)
	require.Equal(t, [][]string{{"dn2"}}, on)

	w.StartRecovery(info(open, dfs.BlockUnderRecovery, 3), 1004, w.now)
	w.SetActive(false, 0)
	w.SetActive(true, 5)
	got, _ = w.recoveries(2)
	require.Empty(t, got, "forgotten with the active's role: the lease monitor starts it again")
	w.RemoveBlock(id)
	w.StartRecovery(info(open, dfs.BlockUnderRecovery, 3), 1005, w.now)
	w.tick(time.Hour)
	w.check()
}

func TestTruncate(t *testing.T) {
	whole := blk(int(id), 1001, 100)
	start := func() *world {
		w := newWorld(t, Options{}, 2)
		w.PutBlock(info(whole, dfs.BlockComplete, 2))
		w.received(whole, 1, 2)
		return w
	}
	both := func(w *world) (all []RecoveringBlock, on [][]string) {
		for i := 1; i <= 2; i++ {
			got, o := w.recoveries(i)
			all, on = append(all, got...), append(on, o...)
		}
		return all, on
	}
	t.Run("in place", func(t *testing.T) {
		w := start()
		in := info(whole, dfs.BlockUnderRecovery, 2)
		w.PutBlock(in)
		require.Equal(t, []string{"dn1", "dn2"}, w.at(id), "readers still find it")
		w.StartTruncate(in, 1002, id, 60, w.now)
		cut := blk(int(id), 1002, 60)
		got, on := both(w)
		require.Equal(t, []RecoveringBlock{{Block: whole, ID: 1002, Truncate: &cut}}, got)
		require.Equal(t, [][]string{{"dn1", "dn2"}}, on)
		w.received(cut, 2)
		w.PutBlock(info(cut, dfs.BlockComplete, 2))
		require.Equal(t, []string{"dn2"}, w.at(id))
		require.Zero(t, w.Stats().Corrupt, "dn1 has not spoken since")
		w.received(cut, 1)
		require.Equal(t, []string{"dn1", "dn2"}, w.at(id))
		w.check()
	})
	t.Run("to a new block", func(t *testing.T) {
		w := start()
		in := info(blk(int(id)+1, 1002, 60), dfs.BlockUnderRecovery, 2)
		w.PutBlock(in)
		w.StartTruncate(in, 1002, id, 60, w.now)
		cut := blk(int(id)+1, 1002, 60)
		got, on := both(w)
		require.Equal(t, []RecoveringBlock{{Block: whole, ID: 1002, Truncate: &cut}}, got)
		require.Equal(t, [][]string{{"dn1", "dn2"}}, on)
		w.check()
	})
}
