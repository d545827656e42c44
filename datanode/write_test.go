package datanode

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

const (
	receiving = hdfspb.ReceivedDeletedBlockInfoProto_RECEIVING
	received  = hdfspb.ReceivedDeletedBlockInfoProto_RECEIVED
	deleted   = hdfspb.ReceivedDeletedBlockInfoProto_DELETED
)

func TestWriteAndRead(t *testing.T) {
	sizes := []int{0, 1, 511, 512, 513, 1024, 64511, 64512, 65536, 65537, 300_000}
	for nodes := 1; nodes <= 3; nodes++ {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			c := newCluster(t, nodes, nil)
			for i, n := range sizes {
				data := random(n)
				b := block(dfs.BlockID(i+1), 1001, n)
				w := openWriter(t, c.dns, block(dfs.BlockID(i+1), 1001, 0), stageCreate, nil)
				w.all(0, data, 64512)
				c.nn.until(t, "all report", func() bool { return c.nn.count(b, received) == nodes })
				for _, d := range c.dns {
					mustRead(t, d, b, data)
					for _, off := range []int64{1, 511, 512, 1000, 65535} {
						if off >= int64(n) {
							break
						}
						for _, k := range []int64{1, 512, 700, int64(n) - off} {
							if off+k > int64(n) {
								continue
							}
							got, err := read(t, d, b, off, k)
							require.NoError(t, err)
							require.Equal(t, data[off:off+k], got)
						}
					}
				}
			}
			for _, d := range c.dns {
				for _, s := range d.Storages() {
					require.Zero(t, s.Reserved)
					require.Equal(t, len(sizes), s.Blocks)
				}
			}
		})
	}
}

// visible asks a datanode over its IPC port how much of a block readers may ask for.
func visible(t testing.TB, d *DataNode, b dfs.Block) (int64, error) {
	t.Helper()
	c := rpc.NewClient(d.ID().IPCAddr(), rpc.ClientOptions{Dial: d.opt.Dial, User: "reader", Protocol: clientDatanodeProtocol})
	defer c.Close()
	var r hdfspb.GetReplicaVisibleLengthResponseProto
	err := c.Call(context.Background(), "getReplicaVisibleLength", &hdfspb.GetReplicaVisibleLengthRequestProto{Block: extendedProto(testPool, b)}, &r)
	return int64(r.GetLength()), err
}

// TestFlush reads a block while it is being written: what is acked is visible at every node, chunks that are not full too.
func TestFlush(t *testing.T) {
	c := newCluster(t, 3, nil)
	data := random(5000)
	b := block(1, 1001, 0)
	w := openWriter(t, c.dns, b, stageCreate, nil)
	at := 0
	for _, n := range []int{1, 100, 400, 11, 512, 700, 1500} {
		from := at - at%512 // as Java does it: the chunk goes again from its beginning
		w.acked(w.send(int64(from), data[from:at+n]))
		at += n
		for _, d := range c.dns {
			n, err := visible(t, d, b)
			require.NoError(t, err)
			require.Equal(t, int64(at), n)
			mustRead(t, d, b, data[:at])
			got, err := read(t, d, b, n-1, 1)
			require.NoError(t, err)
			require.Equal(t, data[at-1:at], got)
		}
	}
	for _, n := range []int{1, 9, 60} { // as the Go client does it: the chunk is continued
		w.acked(w.send(int64(at), data[at:at+n]))
		at += n
		mustRead(t, c.dns[2], b, data[:at])
	}
	w.acked(w.send(int64(at), nil, "sync"))
	w.acked(w.send(int64(at), nil, "last"))
	for _, d := range c.dns {
		mustRead(t, d, block(1, 1001, at), data[:at])
	}
	_, err := visible(t, c.dns[0], block(2, 1001, 0))
	require.EqualError(t, err, "Replica not found for blk_1073741826_1001 (ReplicaNotFoundException)")
	require.ErrorIs(t, err, dfs.ClassReplicaNotFound)
}

func TestHeartbeatPackets(t *testing.T) {
	c := newCluster(t, 3, nil)
	w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
	for range 3 {
		_, err := w.Write(transfer.AppendHeartbeat(nil))
		require.NoError(t, err)
		w.acked(transfer.HeartbeatSeqno)
	}
	w.all(0, random(1000), 512)
	mustRead(t, c.dns[2], block(1, 1001, 1000), random(1000))
}

// TestHead of the pipeline: what the client hears when a node cannot be reached.
func TestFirstBadLink(t *testing.T) {
	for bad := 1; bad <= 2; bad++ {
		t.Run(fmt.Sprint("node ", bad), func(t *testing.T) {
			c := newCluster(t, 3, nil)
			require.NoError(t, c.dns[bad].Close())
			_, r := tryWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
			require.Equal(t, hdfspb.Status_ERROR, r.GetStatus())
			require.Equal(t, c.dns[bad].ID().XferAddr(), r.GetFirstBadLink())
		})
	}
	t.Run("the node itself", func(t *testing.T) {
		c := newCluster(t, 2, nil)
		w := openWriter(t, c.dns[:1], block(1, 1001, 0), stageCreate, nil)
		w.all(0, nil, 1)
		_, r := tryWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
		require.Equal(t, hdfspb.Status_ERROR_EXISTS, r.GetStatus())
		require.Equal(t, "Block blk_1073741825_1001 already exists in state FINALIZED and thus cannot be created.", r.GetMessage())
		_, r = tryWriter(t, []*DataNode{c.dns[1], c.dns[0]}, block(1, 1001, 0), stageCreate, nil)
		require.Equal(t, hdfspb.Status_ERROR, r.GetStatus())
		require.Equal(t, c.dns[0].ID().XferAddr(), r.GetFirstBadLink())
	})
}

// TestLostMirror kills a node in the middle of a block: the writer hears which one, and the others keep what they have.
func TestLostMirror(t *testing.T) {
	for bad := 1; bad <= 2; bad++ {
		t.Run(fmt.Sprint("node ", bad), func(t *testing.T) {
			c := newCluster(t, 3, nil)
			data := random(2000)
			w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
			w.acked(w.send(0, data[:1024]))
			c.dns[bad].Kill()
			w.send(1024, data[1024:2000])
			a := w.ack()
			got, s := a.Bad()
			require.Equal(t, bad, got)
			require.Equal(t, hdfspb.Status_ERROR, s)
			mustRead(t, c.dns[0], block(1, 1001, 0), data)
		})
	}
}

func TestAbandonedWriter(t *testing.T) {
	c := newCluster(t, 3, nil)
	data := random(3000)
	w := openWriter(t, c.dns, block(1, 1001, 1<<20), stageCreate, nil)
	w.acked(w.send(0, data[:2000]))
	// half a packet
	b := transfer.AppendPrefix(nil, transfer.Header{Offset: 2000 - 2000%512, Seqno: 1, DataLen: 1000}, 8)
	_, err := w.Write(b[:20])
	require.NoError(t, err)
	w.Close()
	for _, d := range c.dns {
		until(t, func() bool { return d.Counts().Xceivers == 0 })
		for _, s := range d.Storages() {
			require.Zero(t, s.Reserved)
		}
		n, err := visible(t, d, block(1, 1001, 0))
		require.NoError(t, err)
		require.Equal(t, int64(2000), n)
		require.Equal(t, dfs.ReplicaRBW, d.Replicas()[0].State)
		mustRead(t, d, block(1, 1001, 0), data[:2000])
	}
}

// TestCorruptPacket flips a bit on the wire: the last node refuses, the one before it closes without an ack.
func TestCorruptPacket(t *testing.T) {
	for nodes := 1; nodes <= 3; nodes++ {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			c := newCluster(t, nodes, nil)
			data := random(2000)
			w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
			w.acked(w.send(0, data[:1024]))
			sums := w.sum.Sum(nil, data[1024:])
			bad := append([]byte(nil), data[1024:]...)
			bad[600] ^= 4
			w.packet(transfer.Header{Offset: 1024, Seqno: w.seqno}, bad, sums)
			var a transfer.Ack
			err := transfer.ReadAck(w.r, &a)
			if nodes == 1 {
				require.NoError(t, err)
				_, s := a.Bad()
				require.Equal(t, hdfspb.Status_ERROR_CHECKSUM, s)
			} else if err == nil { // the first of three hears from the second, which has closed
				bad, s := a.Bad()
				require.Equal(t, 1, bad)
				require.Equal(t, hdfspb.Status_ERROR, s)
			}
			w.Close()
			last := c.dns[nodes-1]
			until(t, func() bool { return last.Counts().Xceivers == 0 })
			mustRead(t, last, block(1, 1001, 0), data[:1024])
			require.Equal(t, int64(1024), last.Replicas()[0].Block.Len)
		})
	}
}

func TestPacketRefusals(t *testing.T) {
	data := random(2000)
	for _, tc := range []struct {
		name string
		send func(w *testWriter)
	}{
		{"a gap", func(w *testWriter) { w.send(1025, data[:10]) }},
		{"a negative offset", func(w *testWriter) { w.send(-5, data[:10]) }},
		{"too few sums", func(w *testWriter) { w.packet(transfer.Header{Offset: 512, Seqno: 1}, data[:600], make([]byte, 4)) }},
		{"too many sums", func(w *testWriter) { w.packet(transfer.Header{Offset: 512, Seqno: 1}, data[:600], make([]byte, 12)) }},
		{"across a chunk", func(w *testWriter) { w.send(1000, data[:600]) }},
		{"garbage", func(w *testWriter) { w.Write([]byte("\x00\x00\x00\x02garbage and more of it")) }},
		{"huge", func(w *testWriter) { w.Write([]byte{0x7f, 0xff, 0xff, 0xff, 0, 25}) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, 2, nil)
			w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
			w.acked(w.send(0, data[:1000]))
			tc.send(w)
			var a transfer.Ack
			require.Error(t, transfer.ReadAck(w.r, &a))
			for _, d := range c.dns {
				until(t, func() bool { return d.Counts().Xceivers == 0 })
			}
			mustRead(t, c.dns[0], block(1, 1001, 0), data[:1000])
		})
	}
}

func TestOperationRefusals(t *testing.T) {
	c := newCluster(t, 1, nil)
	for _, tc := range []struct {
		name string
		edit func(o *hdfspb.OpWriteBlockProto)
		err  string
	}{
		{"another pool", func(o *hdfspb.OpWriteBlockProto) { o.Header.BaseHeader.Block.PoolId = ptr("BP-2") }, "this datanode has no block pool BP-2"},
		{"a stage that begins nothing", func(o *hdfspb.OpWriteBlockProto) { o.Stage = hdfspb.OpWriteBlockProto_DATA_STREAMING.Enum() },
			"Unsupported stage DATA_STREAMING while receiving block BP-1-127.0.0.1-1:blk_1073741825_1001 from"},
		{"no chunk size", func(o *hdfspb.OpWriteBlockProto) { o.RequestedChecksum.BytesPerChecksum = ptr(uint32(0)) },
			"transfer: checksum: expected 1 to 16777216 bytes per chunk, read 0: malformed data transfer"},
		{"a copy with targets", func(o *hdfspb.OpWriteBlockProto) { o.Stage, o.Targets = stageTransferRBW.Enum(), targets(c.dns[0]) },
			"TRANSFER_RBW does not support multiple targets: 1 are given"},
		{"no such volume", func(o *hdfspb.OpWriteBlockProto) { o.StorageType = hdfspb.StorageTypeProto_SSD.Enum() }, "No more available volumes of storage type SSD"},
		{"append to nothing", func(o *hdfspb.OpWriteBlockProto) {
			o.Stage, o.LatestGenerationStamp = stageAppend.Enum(), ptr(uint64(1002))
		},
			"Cannot append to a non-existent replica blk_1073741825_1001"},
		{"stamp goes back", func(o *hdfspb.OpWriteBlockProto) {
			o.Stage, o.LatestGenerationStamp = stageAppend.Enum(), ptr(uint64(1000))
		},
			"The new generation stamp 1000 should be greater than the replica BP-1-127.0.0.1-1:blk_1073741825_1001's generation stamp"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, r := tryWriter(t, c.dns, block(1, 1001, 0), stageCreate, tc.edit)
			require.Equal(t, hdfspb.Status_ERROR, r.GetStatus())
			require.Contains(t, r.GetMessage(), tc.err)
			require.Empty(t, c.dns[0].Replicas())
		})
	}
}

// TestOtherChecksum appends with other checksums than the replica has: they are made anew.
func TestOtherChecksum(t *testing.T) {
	c := newCluster(t, 2, nil)
	data := random(3000)
	w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
	w.all(0, data[:700], 512)
	other := transfer.Checksum{Type: dfs.ChecksumCRC32, BytesPerChunk: 100}
	w = openWriter(t, c.dns, block(1, 1001, 700), stageAppend, func(o *hdfspb.OpWriteBlockProto) {
		o.LatestGenerationStamp, o.MinBytesRcvd, o.RequestedChecksum = ptr(uint64(1002)), ptr(uint64(700)), other.Proto()
	})
	w.all(700, data[700:], 1000)
	for _, d := range c.dns {
		mustRead(t, d, block(1, 1002, 3000), data)
		require.NoError(t, d.Verify(context.Background()))
	}
}

// TestPacketsWithoutSums are what Java sends of a file with the policy LAZY_PERSIST and one replica: the datanode
// computes the sums.
func TestPacketsWithoutSums(t *testing.T) {
	c := newCluster(t, 2, nil)
	data := random(3000)
	w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
	w.sum = transfer.Checksum{}
	w.all(0, data, 1024)
	for _, d := range c.dns {
		mustRead(t, d, block(1, 1001, len(data)), data)
	}
}
