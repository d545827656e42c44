package blocks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func (w *world) uuids(kind ReportKind) []string {
	out := []string{}
	for _, d := range w.Datanodes(kind) {
		out = append(out, d.UUID)
	}
	return out
}

func TestLiveness(t *testing.T) {
	w := newWorld(t, Options{}, 2)
	b := blk(int(id), 1001, 10)
	w.PutBlock(info(b, dfs.BlockComplete, 2))
	w.received(b, 1, 2)
	gone := w.now
	step := func(d time.Duration) { // dn2 alone goes on
		w.now = gone.Add(d)
		w.beat(2)
		w.Tick(w.now)
	}
	step(30*time.Second - 1)
	require.Equal(t, Live, w.Datanode(dn(1)).Liveness)
	step(30 * time.Second)
	require.Equal(t, Stale, w.Datanode(dn(1)).Liveness)
	require.Equal(t, 2, w.Replicas(id))
	for range 20 {
		require.Equal(t, dn(2), w.Locate(id, dn(1)).Targets[0].Node.UUID, "a stale datanode comes last, even for its own readers")
	}
	w.beat(1)
	require.Equal(t, Live, w.Datanode(dn(1)).Liveness)
	gone = w.now
	step(630 * time.Second)
	require.Equal(t, Stale, w.Datanode(dn(1)).Liveness)
	step(630*time.Second + 1)
	require.Equal(t, Dead, w.Datanode(dn(1)).Liveness)
	require.Equal(t, []string{"dn2"}, w.at(id))
	require.Equal(t, []string{"dn1", "dn2"}, w.uuids(ReportAll))
	require.Equal(t, []string{"dn2"}, w.uuids(ReportLive))
	require.Equal(t, []string{"dn1"}, w.uuids(ReportDead))
	require.Equal(t, Stats{Capacity: 1 << 40, Remaining: 1 << 40, Blocks: 1, Safe: 1, LowRedundancy: 1, LastReplica: 1, Live: 1, Dead: 1}, w.Stats())
	require.Equal(t, []StorageReport{report(1)}, w.Datanode(dn(1)).Storages, "what it was is kept")
	require.Zero(t, w.Datanode(dn(1)).NumBlocks)
	w.check()

	require.Equal(t, []Command{RegisterCommand{}}, w.beat(1))
	_, err := w.Register(reg(1), w.now)
	require.NoError(t, err)
	require.Empty(t, w.beat(1))
	require.Equal(t, 1, w.Replicas(id), "it has to report again")
	w.full(1, finalized(b))
	require.Equal(t, 2, w.Replicas(id))
	require.Equal(t, w.now, w.Datanode(dn(1)).LastReport)
	w.check()
}

func TestRegister(t *testing.T) {
	w := newWorld(t, Options{}, 2, "/r1", "/r2")
	b := blk(int(id), 1001, 10)
	w.PutBlock(info(b, dfs.BlockComplete, 2))
	w.received(b, 1, 2)
	require.Equal(t, "/r2", w.Datanode(dn(2)).Location)

	t.Run("again", func(t *testing.T) {
		_, err := w.Register(reg(1), w.now)
		require.NoError(t, err)
		require.Equal(t, []string{"dn1", "dn2"}, w.uuids(ReportLive))
		require.Equal(t, 2, w.Replicas(id))
		w.beat(1)
	})
	t.Run("at another address", func(t *testing.T) {
		moved := reg(1)
		moved.IP = "10.0.0.8"
		_, err := w.Register(moved, w.now)
		require.NoError(t, err)
		require.Equal(t, 2, w.Replicas(id))
		require.Equal(t, "/r2", w.Datanode(dn(1)).Location)
		require.Equal(t, []Command{RegisterCommand{}}, w.beat(1), "the old address is not known any more")
		_, err = w.Register(reg(1), w.now)
		require.NoError(t, err)
		w.beat(1)
	})
	t.Run("another datanode at its address", func(t *testing.T) {
		other := reg(2)
		other.UUID = "wiped"
		_, err := w.Register(other, w.now)
		require.NoError(t, err)
		require.Equal(t, []string{"dn1", "wiped"}, w.uuids(ReportAll))
		require.Equal(t, []string{"dn1"}, w.at(id))
		require.Equal(t, []Command{RegisterCommand{}}, w.beat(2))
	})
	t.Run("without a uuid", func(t *testing.T) {
		_, err := w.Register(Registration{DatanodeID: dfs.DatanodeID{IP: "10.0.0.3", XferPort: 1}}, w.now)
		require.Equal(t, dfs.Errorf(dfs.ClassIO, "registration of 10.0.0.3:1 has no datanode uuid: give the datanode one before it registers"), err)
	})
	w.check()
}

func TestStorages(t *testing.T) {
	w := newWorld(t, Options{}, 1)
	two := StorageReport{Storage: vol(1, 1), Capacity: 5, Remaining: 3, DFSUsed: 2}
	send := func(failed int, reports ...StorageReport) {
		_, _, err := w.Heartbeat(reg(1), Heartbeat{Reports: reports, FailedVolumes: failed, XceiverCount: 7}, w.now)
		require.NoError(t, err)
	}
	b, c := blk(int(id), 1001, 10), blk(int(id)+1, 1001, 10)
	put := func() {
		w.PutBlock(info(b, dfs.BlockComplete, 1))
		w.PutBlock(info(c, dfs.BlockComplete, 1))
		w.received(b, 1)
		require.NoError(t, w.IncrementalReport(reg(1), vol(1, 1), []Received{{Block: c, Status: StatusReceived}}, w.now))
	}
	put()
	send(0, report(1), two)
	require.Equal(t, 2, w.Datanode(dn(1)).NumBlocks)
	require.Equal(t, 7, w.Datanode(dn(1)).XceiverCount)
	require.Equal(t, 7, w.Stats().Xceivers)
	require.EqualValues(t, 1<<40+5, w.Stats().Capacity)

	send(0, report(1))
	require.Equal(t, 1, w.Replicas(c.ID), "left out once, but nothing has failed")
	send(1, report(1))
	require.Zero(t, w.Replicas(c.ID), "left out after a failure: gone")
	require.Len(t, w.Datanode(dn(1)).Storages, 1)
	w.check()

	put()
	failed := two
	failed.Failed = true
	send(1, report(1), failed)
	require.Zero(t, w.Replicas(c.ID))
	require.EqualValues(t, 1<<40, w.Stats().Capacity)
	send(1, report(1), two)
	require.EqualValues(t, 1<<40+5, w.Stats().Capacity, "repaired")
	put()
	require.Equal(t, 1, w.Replicas(c.ID))
	w.check()

	require.NoError(t, w.ErrorReport(reg(1), ErrorDisk, "slow"))
	require.Equal(t, 1, w.Stats().Live)
	require.NoError(t, w.ErrorReport(reg(1), ErrorFatalDisk, "all gone"))
	require.Equal(t, 1, w.Stats().Dead)
	require.Equal(t, 2, w.Stats().Missing)
	w.check()
}
