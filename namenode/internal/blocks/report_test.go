package blocks

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func vol(i, v int) Storage { return Storage{ID: fmt.Sprintf("%s-s%d", dn(i), v)} }

// A datanode of 12 volumes reports to a namenode that has just started. Its first report stops after one storage; it
// repeats it volume by volume, under a new lease for the second half.
func TestReportInPieces(t *testing.T) {
	const vols = 12
	m := New(Options{SafeMode: SafeModeOptions{Threshold: 1}})
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &world{Manager: m, t: t, now: now}
	m.SetActive(true, 1)
	for v := range vols {
		m.PutBlock(info(blk(int(id)+v, 1001, 10), dfs.BlockComplete, 1))
	}
	m.Loaded(now)
	_, err := m.Register(reg(1), now)
	require.NoError(t, err)
	lease := func() uint64 {
		var reports []StorageReport
		for v := range vols {
			reports = append(reports, StorageReport{Storage: vol(1, v)})
		}
		cmds, lease, err := m.Heartbeat(reg(1), Heartbeat{Reports: reports, WantReportLease: true}, now)
		require.NoError(t, err)
		require.Empty(t, cmds)
		require.NotZero(t, lease)
		return lease
	}
	send := func(v, total, cur int, lease uint64) error {
		return m.FullReport(reg(1), vol(1, v), slices.Values([]Replica{finalized(blk(int(id)+v, 1001, 10))}),
			ReportContext{ID: 7, Total: total, Cur: cur, LeaseID: lease}, now)
	}
	first := lease()
	require.NoError(t, send(0, 1, 0, first))
	require.True(t, m.InSafeMode())
	for v := range vols / 2 {
		require.NoError(t, send(v, vols, v, first))
	}
	now = now.Add(5 * time.Minute)
	err = send(vols/2, vols, vols/2, first)
	require.Equal(t, dfs.Errorf(dfs.ClassInvalidReportLease, "Block report 0x7 was rejected as lease 0x%x is invalid", first), err)
	require.True(t, m.InSafeMode())
	second := lease()
	require.NotEqual(t, first, second)
	require.Error(t, send(vols/2, vols, vols/2, first))
	for v := range vols {
		require.True(t, m.InSafeMode())
		require.NoError(t, send(v, vols, v, second))
	}
	require.False(t, m.InSafeMode())
	require.Equal(t, Stats{Blocks: vols, Safe: vols, Live: 1}, m.Stats())
	w.check()
}

func TestReportForgets(t *testing.T) {
	w := newWorld(t, Options{}, 1)
	var all []Replica
	for i := range 3*reportChunk + 17 {
		b := blk(int(id)+i, 1001, 10)
		w.PutBlock(info(b, dfs.BlockComplete, 1))
		all = append(all, finalized(b))
	}
	other := blk(int(id)+len(all), 1001, 10)
	w.PutBlock(info(other, dfs.BlockComplete, 1))
	require.NoError(t, w.IncrementalReport(reg(1), vol(1, 1), []Received{{Block: other, Status: StatusReceived}}, w.now))
	w.full(1, all...)
	w.check()
	require.Zero(t, w.Stats().Missing)
	w.full(1, all[100:200]...)
	w.check()
	require.Equal(t, len(all)-100, w.Stats().Missing, "the other storage's replica stays")
	w.full(1)
	w.check()
	require.Equal(t, len(all), w.Stats().Missing)
	w.full(1, all...)
	require.Zero(t, w.Stats().Missing)
	require.NoError(t, w.FullReport(reg(1), vol(1, 1), slices.Values([]Replica(nil)), ReportContext{}, w.now))
	require.Equal(t, 1, w.Stats().Missing)
	w.check()
}

// A second report of the same storage comes while the first is still being taken in, and a replica arrives meanwhile.
func TestReportOvertaken(t *testing.T) {
	w := newWorld(t, Options{}, 1)
	var all []Replica
	for i := range 2 * reportChunk {
		b := blk(int(id)+i, 1001, 10)
		w.PutBlock(info(b, dfs.BlockComplete, 1))
		all = append(all, finalized(b))
	}
	late := blk(int(id)+len(all), 1001, 10)
	w.PutBlock(info(late, dfs.BlockComplete, 1))
	err := w.FullReport(reg(1), disk(1), func(yield func(Replica) bool) {
		for i, r := range all {
			if i == reportChunk+1 {
				w.full(1, all...)
				w.received(late, 1)
			}
			if !yield(r) {
				return
			}
		}
	}, ReportContext{}, w.now)
	require.NoError(t, err)
	require.Zero(t, w.Stats().Missing)
	w.check()

	err = w.FullReport(reg(1), disk(1), func(yield func(Replica) bool) {
		for i, r := range all {
			if i == reportChunk+1 {
				w.event(1, late, StatusDeleted)
				w.received(late, 1)
				w.event(1, all[3].Block, StatusDeleted)
			}
			if !yield(r) {
				return
			}
		}
	}, ReportContext{}, w.now)
	require.NoError(t, err)
	require.Equal(t, 1, w.Stats().Missing, "late arrived during the report that does not list it, number 3 went")
	w.check()
}

func TestReportsOfStrangers(t *testing.T) {
	w := newWorld(t, Options{}, 1)
	moved := reg(1)
	moved.XferPort++
	for name, r := range map[string]Registration{"unknown": reg(9), "other address": moved} {
		t.Run(name, func(t *testing.T) {
			var want *NotRegisteredError
			require.True(t, errors.As(w.FullReport(r, disk(9), slices.Values([]Replica(nil)), ReportContext{}, w.now), &want))
			require.Equal(t, &NotRegisteredError{Node: r.DatanodeID, What: "block report"}, want)
			require.True(t, errors.As(w.IncrementalReport(r, disk(9), nil, w.now), &want))
			require.True(t, errors.As(w.ErrorReport(r, ErrorNotify, "x"), &want))
			cmds, lease, err := w.Heartbeat(r, Heartbeat{WantReportLease: true}, w.now)
			require.NoError(t, err)
			require.Zero(t, lease)
			require.Equal(t, []Command{RegisterCommand{}}, cmds)
		})
	}
}

func TestEventsOfOneDatanode(t *testing.T) {
	b, old := blk(int(id), 1002, 10), blk(int(id), 1001, 5)
	for _, c := range []struct {
		name   string
		events func(w *world)
		want   int
	}{
		{"deleted", func(w *world) { w.received(b, 1); w.event(1, b, StatusDeleted) }, 0},
		{"deleted in an older stamp", func(w *world) { w.received(b, 1); w.event(1, old, StatusDeleted) }, 1},
		{"deleted and received again", func(w *world) { w.received(b, 1); w.event(1, b, StatusDeleted); w.received(b, 1) }, 1},
		{"moved to another volume", func(w *world) {
			w.received(b, 1)
			require.NoError(w.t, w.IncrementalReport(reg(1), vol(1, 1), []Received{{Block: b, Status: StatusReceived}}, w.now))
			w.event(1, b, StatusDeleted)
		}, 1},
		{"deleted twice", func(w *world) { w.event(1, b, StatusDeleted); w.event(1, b, StatusDeleted) }, 0},
		{"of an unknown kind", func(w *world) { w.event(1, b, 9) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Options{}, 1)
			w.PutBlock(info(b, dfs.BlockComplete, 1))
			c.events(w)
			require.Equal(t, c.want, w.Replicas(id))
			w.check()
		})
		t.Run(c.name+", before the edit", func(t *testing.T) {
			w := newWorld(t, Options{}, 1)
			c.events(w)
			w.PutBlock(info(b, dfs.BlockComplete, 1))
			require.Equal(t, c.want, w.Replicas(id))
			w.check()
		})
	}
}
