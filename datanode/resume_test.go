package datanode

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// again edits an operation into one of the recovery stages.
func again(newGS dfs.GenStamp, least, most int) func(*hdfspb.OpWriteBlockProto) {
	return func(o *hdfspb.OpWriteBlockProto) {
		o.LatestGenerationStamp, o.MinBytesRcvd, o.MaxBytesRcvd = ptr(uint64(newGS)), ptr(uint64(least)), ptr(uint64(most))
	}
}

func TestAppend(t *testing.T) {
	for _, n := range []int{0, 1, 700, 1024} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := newCluster(t, 3, nil)
			data := random(n + 3*600)
			b := block(1, 1001, 0)
			w := openWriter(t, c.dns, b, stageCreate, nil)
			w.all(0, data[:n], 512)
			at := n
			for i, gs := range []dfs.GenStamp{1001, 1002, 1005} { // the Go client keeps the stamp, Java raises it
				old := block(1, []dfs.GenStamp{1001, 1001, 1002}[i], at)
				w := openWriter(t, c.dns, old, stageAppend, again(gs, at, at))
				first := (512 - at%512) % 512
				var seqs []int64
				if first > 0 {
					seqs = append(seqs, w.send(int64(at), data[at:at+first]))
				}
				seqs = append(seqs, w.send(int64(at+first), data[at+first:at+600]))
				at += 600
				seqs = append(seqs, w.send(int64(at), nil, "last"))
				for _, s := range seqs {
					w.acked(s)
				}
				c.nn.until(t, "all report", func() bool { return c.nn.count(block(1, gs, at), received) >= 3 })
				for _, d := range c.dns {
					mustRead(t, d, block(1, gs, at), data[:at])
					require.NoError(t, d.Verify(context.Background()))
				}
			}
		})
	}
}

// TestStreamingRecovery loses the last node, brings in a new one with a copy of what was acked, and goes on.
func TestStreamingRecovery(t *testing.T) {
	c := newCluster(t, 4, nil)
	data := random(5000)
	b := block(1, 1001, 0)
	w := openWriter(t, c.dns[:3], b, stageCreate, nil)
	w.acked(w.send(0, data[:1700]))
	c.dns[2].Kill()
	w.send(1536, data[1536:3000])
	a := w.ack()
	bad, _ := a.Bad()
	require.Equal(t, 2, bad)
	w.Close()

	conn := connect(t, c.dns[0])
	conn.op(transfer.OpTransferBlock, &hdfspb.OpTransferBlockProto{Header: clientHeader(b, "test-client"), Targets: targets(c.dns[3])})
	require.Equal(t, hdfspb.Status_SUCCESS, conn.response().GetStatus())
	r := c.dns[3].Replicas()
	require.Len(t, r, 1)
	require.Equal(t, dfs.ReplicaRBW, r[0].State)
	require.GreaterOrEqual(t, r[0].Visible, int64(1700))

	rest := []*DataNode{c.dns[0], c.dns[1], c.dns[3]}
	w = openWriter(t, rest, b, stageStreamingRecovery, again(1002, 1700, 3000))
	w.all(1536, data[1536:], 512)
	for _, d := range rest {
		mustRead(t, d, block(1, 1002, 5000), data)
		require.NoError(t, d.Verify(context.Background()))
	}
	_, err := read(t, c.dns[0], block(1, 1003, 0), 0, 1)
	require.ErrorContains(t, err, "Replica gen stamp < block genstamp")
}

// TestRecoveryTakesOver sets a recovery up while the old pipeline is still open: its writer is cut off.
func TestRecoveryTakesOver(t *testing.T) {
	c := newCluster(t, 2, nil)
	data := random(2000)
	old := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
	old.acked(old.send(0, data[:1000]))
	w := openWriter(t, c.dns, block(1, 1001, 0), stageStreamingRecovery, again(1002, 1000, 1000))
	_, err := old.r.ReadByte()
	require.Error(t, err, "the old pipeline is cut")
	w.all(512, data[512:], 512)
	for _, d := range c.dns {
		mustRead(t, d, block(1, 1002, 2000), data)
	}
}

// TestCloseRecovery loses the answer to the last packet.
func TestCloseRecovery(t *testing.T) {
	for _, finalized := range []bool{false, true} {
		t.Run(fmt.Sprint(finalized), func(t *testing.T) {
			c := newCluster(t, 2, nil)
			data := random(1000)
			w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
			if finalized {
				w.all(0, data, 512)
			} else {
				w.acked(w.send(0, data))
				w.Close()
			}
			openWriter(t, c.dns, block(1, 1001, 1000), stageCloseRecovery, again(1002, 1000, 1000))
			c.nn.until(t, "both report", func() bool { return c.nn.count(block(1, 1002, 1000), received) == 2 })
			for _, d := range c.dns {
				require.Equal(t, dfs.ReplicaFinalized, d.Replicas()[0].State)
				mustRead(t, d, block(1, 1002, 1000), data)
			}
			w = openWriter(t, c.dns, block(1, 1002, 1000), stageAppendRecovery, again(1003, 1000, 1000))
			w.all(1000, nil, 1)
			mustRead(t, c.dns[1], block(1, 1003, 1000), data)
		})
	}
}

// TestCreateAgain sets a block up again whose first pipeline has failed.
func TestCreateAgain(t *testing.T) {
	c := newCluster(t, 2, nil)
	w := openWriter(t, c.dns[:1], block(1, 1001, 0), stageCreate, nil)
	w.acked(w.send(0, random(700)))
	w.Close()
	w = openWriter(t, c.dns, block(1, 1001, 0), stageCreate, again(1002, 0, 0))
	w.all(0, random(300), 512)
	for _, d := range c.dns {
		mustRead(t, d, block(1, 1002, 300), random(300))
		require.Len(t, d.Replicas(), 1)
	}
}

func TestTransferFinalized(t *testing.T) {
	c := newCluster(t, 2, nil)
	w := openWriter(t, c.dns[:1], block(1, 1001, 0), stageCreate, nil)
	w.all(0, random(100_000), 64512)
	conn := connect(t, c.dns[0])
	conn.op(transfer.OpTransferBlock, &hdfspb.OpTransferBlockProto{Header: clientHeader(block(1, 1001, 0), "c"), Targets: targets(c.dns[1])})
	require.Equal(t, hdfspb.Status_SUCCESS, conn.response().GetStatus())
	mustRead(t, c.dns[1], block(1, 1001, 100_000), random(100_000))

	for _, tc := range []struct {
		name string
		b    dfs.Block
		err  string
	}{
		{"missing", block(7, 1001, 0), "BP-1-127.0.0.1-1:blk_1073741831_1001 not found in datanode."},
		{"older", block(1, 1002, 0), "1001 = storedGS < b.getGenerationStamp(), b=BP-1-127.0.0.1-1:blk_1073741825_1002"},
		{"already there", block(1, 1001, 0), "answered ERROR_EXISTS"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn := connect(t, c.dns[0])
			conn.op(transfer.OpTransferBlock, &hdfspb.OpTransferBlockProto{Header: clientHeader(tc.b, "c"), Targets: targets(c.dns[1])})
			r := conn.response()
			require.Equal(t, hdfspb.Status_ERROR, r.GetStatus())
			require.Contains(t, r.GetMessage(), tc.err)
		})
	}
}

// TestRestart kills a datanode in the middle of a block: it comes back with all that was acked, in state RWR.
func TestRestart(t *testing.T) {
	c := newCluster(t, 1, nil)
	data := random(5000)
	w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
	w.acked(w.send(0, data[:1700]))
	w2 := openWriter(t, c.dns, block(2, 1001, 0), stageCreate, nil)
	w2.all(0, data, 512)
	uuid := c.dns[0].ID().UUID
	c.dns[0].Kill()
	d := c.start(0)
	require.Equal(t, uuid, d.ID().UUID)
	r := d.Replicas()
	require.Len(t, r, 2)
	require.Equal(t, dfs.ReplicaRWR, r[0].State)
	require.Equal(t, block(1, 1001, 1700), r[0].Block)
	require.Equal(t, dfs.ReplicaFinalized, r[1].State)
	mustRead(t, d, block(2, 1001, 5000), data)
	c.nn.mu.Lock()
	report := c.nn.reports[len(c.nn.reports)-1].Reports[0]
	c.nn.mu.Unlock()
	require.Equal(t, uint64(2), report.GetNumberOfBlocks())
	require.Equal(t, encodeReports(d.set.Reports()[d.set.Volumes()[0]]), report.BlocksBuffers)
}
