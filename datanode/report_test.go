package datanode

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

func TestEncodeReports(t *testing.T) {
	list := []volume.Report{
		{Block: dfs.Block{ID: 1 << 30, GenStamp: 1001, Len: 134217728}, State: dfs.ReplicaFinalized},
		{Block: dfs.Block{ID: -5, GenStamp: 7, Len: 0}, State: dfs.ReplicaRBW},
	}
	require.Equal(t, [][]byte{{0x80, 0x80, 0x80, 0x80, 8, 0x80, 0x80, 0x80, 0x40, 0xe9, 7, 0, 9, 0, 7, 1}}, encodeReports(list))
	const mark = math.MaxUint64
	require.Equal(t, []uint64{1, 1, 1 << 30, 134217728, 1001, mark, mark, mark, math.MaxUint64 - 4, 0, 7, 1}, encodeLongs(list))
	require.Empty(t, encodeReports(nil))
	require.Equal(t, []uint64{0, 0, mark, mark, mark}, encodeLongs(nil))

	var many []volume.Report
	for i := range 20_000 {
		many = append(many, volume.Report{Block: block(dfs.BlockID(i), dfs.GenStamp(i), i)})
	}
	var all []byte
	for i, piece := range encodeReports(many) {
		require.LessOrEqual(t, len(piece), bufferSize, "piece %d", i)
		all = append(all, piece...)
	}
	for i := range many {
		var v [4]uint64
		for j := range v {
			n := 0
			v[j], n = protowire.ConsumeVarint(all)
			require.Positive(t, n)
			all = all[n:]
		}
		require.Equal(t, int64(many[i].ID), protowire.DecodeZigZag(v[0]))
		require.Equal(t, [2]uint64{uint64(i), uint64(i)}, [2]uint64{v[1], v[2]})
	}
	require.Empty(t, all)
}

// TestReportLease has a namenode with one lease a datanode: who asks for another loses the first.
func TestReportLease(t *testing.T) {
	trigger := func(d *DataNode) chan error {
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			done <- d.TriggerBlockReport(ctx)
		}()
		synctest.Wait()
		return done
	}
	begin := func(t *testing.T) (*cluster, chan struct{}) {
		c, hold := newMemory(t, 1, nil), make(chan struct{})
		c.nn.locked(func() { c.nn.strict, c.nn.hold = true, hold })
		return c, hold
	}
	t.Run("reports do not cancel each other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, hold := begin(t)
			one, two := trigger(c.dns[0]), trigger(c.dns[0])
			time.Sleep(time.Minute) // heartbeats go on
			close(hold)
			require.NoError(t, <-one)
			require.NoError(t, <-two)
			require.Len(t, c.nn.reports, 3)
		})
	})
	t.Run("a refused report goes out again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, hold := begin(t)
			one := trigger(c.dns[0])
			c.nn.locked(func() { c.nn.lease++ })
			began := time.Now()
			close(hold)
			require.NoError(t, <-one)
			require.Zero(t, time.Since(began), "at once")
		})
	})
	t.Run("also where another one waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, hold := begin(t)
			one, two := trigger(c.dns[0]), trigger(c.dns[0])
			c.nn.locked(func() { c.nn.lease++ })
			close(hold)
			require.NoError(t, <-one)
			require.NoError(t, <-two)
			require.Len(t, c.nn.reports, 3)
		})
	})
	t.Run("but once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, _ := begin(t)
			one := trigger(c.dns[0])
			for range 2 {
				c.nn.locked(func() {
					c.nn.lease++
					close(c.nn.hold)
					c.nn.hold = make(chan struct{})
				})
				synctest.Wait()
			}
			require.ErrorIs(t, <-one, dfs.ClassInvalidReportLease)
			require.Len(t, c.nn.reports, 1)
			close(c.nn.hold)
		})
	})
}

func TestPending(t *testing.T) {
	c := func(id dfs.BlockID, s hdfspb.ReceivedDeletedBlockInfoProto_BlockStatus) change {
		return change{storage: "s", block: dfs.Block{ID: id}, status: s}
	}
	live := func(list []change) (out []change) {
		for _, c := range list {
			if c.storage != "" {
				out = append(out, c)
			}
		}
		return out
	}
	var p pending
	require.True(t, p.empty())
	p.add(c(1, receiving))
	p.add(c(2, received))
	p.add(c(1, received))
	sent := p.take()
	require.Equal(t, []change{c(2, received), c(1, received)}, live(sent))
	require.True(t, p.empty())
	p.add(c(1, deleted))
	p.putBack(sent)
	require.Equal(t, []change{c(2, received), c(1, deleted)}, live(p.take()), "the newer word on a replica stands")
}
