package datanode

import (
	"bufio"
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// TestAdministration makes the calls of dfsadmin.
func TestAdministration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 1, nil)
		d := c.dns[0]
		ctx := context.Background()
		admin := rpc.NewClient(d.ID().IPCAddr(), rpc.ClientOptions{Dial: d.opt.Dial, User: "hdfs", Protocol: clientDatanodeProtocol})
		defer admin.Close()
		put(t, c.dns, block(1, 1001, 700), random(700))
		time.Sleep(time.Minute)

		var info hdfspb.GetDatanodeInfoResponseProto
		require.NoError(t, admin.Call(ctx, "getDatanodeInfo", &hdfspb.GetDatanodeInfoRequestProto{}, &info))
		require.Equal(t, uint64(60), info.GetLocalInfo().GetUptime())

		var vols hdfspb.GetVolumeReportResponseProto
		require.NoError(t, admin.Call(ctx, "getVolumeReport", &hdfspb.GetVolumeReportRequestProto{}, &vols))
		require.Len(t, vols.VolumeInfo, 1)
		require.Equal(t, uint64(700+7+8), vols.VolumeInfo[0].GetUsedSpace())
		require.Equal(t, uint64(1), vols.VolumeInfo[0].GetNumBlocks())

		trigger := func(incremental bool, addr string) error {
			req := &hdfspb.TriggerBlockReportRequestProto{Incremental: &incremental}
			if addr != "" {
				req.NnAddress = &addr
			}
			return admin.Call(ctx, "triggerBlockReport", req, &hdfspb.TriggerBlockReportResponseProto{})
		}
		require.NoError(t, trigger(false, ""))
		require.NoError(t, trigger(true, c.nn.addr))
		require.EqualError(t, trigger(true, "nowhere:1"), "this datanode does not serve the namenode nowhere:1 (IOException)")
		synctest.Wait()
		c.nn.mu.Lock()
		require.Len(t, c.nn.reports, 2)
		c.nn.mu.Unlock()

		c.order(d, &hdfspb.DatanodeCommandProto{
			CmdType: hdfspb.DatanodeCommandProto_BalancerBandwidthCommand.Enum(), BalancerCmd: &hdfspb.BalancerBandwidthCommandProto{Bandwidth: ptr(uint64(12345))},
		})
		synctest.Wait()
		var band hdfspb.GetBalancerBandwidthResponseProto
		require.NoError(t, admin.Call(ctx, "getBalancerBandwidth", &hdfspb.GetBalancerBandwidthRequestProto{}, &band))
		require.Equal(t, uint64(12345), band.GetBandwidth())

		require.ErrorIs(t, admin.Call(ctx, "deleteBlockPool", &hdfspb.GetBalancerBandwidthRequestProto{}, &band), dfs.ClassUnsupported)
		require.ErrorIs(t, admin.Call(ctx, "noSuchThing", &hdfspb.GetBalancerBandwidthRequestProto{}, &band), dfs.ClassNoSuchMethod)

		w := openWriter(t, c.dns, block(2, 1001, 0), stageCreate, nil)
		w.acked(w.send(0, random(100)))
		require.NoError(t, admin.Call(ctx, "evictWriters", &hdfspb.EvictWritersRequestProto{}, &hdfspb.EvictWritersResponseProto{}))
		_, err := w.r.ReadByte()
		require.Error(t, err)

		require.NoError(t, admin.Call(ctx, "shutdownDatanode", &hdfspb.ShutdownDatanodeRequestProto{ForUpgrade: ptr(false)}, &hdfspb.ShutdownDatanodeResponseProto{}))
		<-d.Done()
	})
}

// TestRestartAck has a next node that says it is about to restart: the word is passed on.
func TestRestartAck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 1, nil)
		l, err := c.net.Host("other").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			_, _ = transfer.ReadOp(r)
			_ = transfer.ReadMessage(r, &hdfspb.OpWriteBlockProto{})
			_ = transfer.WriteResponse(conn, &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_SUCCESS.Enum()})
			_, _ = transfer.NewPacketReader(r).Next()
			for _, seqno := range []int64{transfer.RestartSeqno, 0} {
				var a transfer.Ack
				a.Reset(seqno)
				a.Replies = append(a.Replies, hdfspb.Status_SUCCESS) // an old node, without flags
				if seqno == transfer.RestartSeqno {
					a.Replies[0] = hdfspb.Status_OOB_RESTART
				}
				_, _ = conn.Write(transfer.AppendAck(nil, &a))
			}
			_, _ = r.ReadByte()
		}()
		other := dfs.DatanodeID{UUID: "other", IP: "127.0.0.1", XferPort: l.Addr().(*net.TCPAddr).Port}
		w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, func(o *hdfspb.OpWriteBlockProto) {
			o.Targets = []*hdfspb.DatanodeInfoProto{{Id: datanodeProto(other)}}
		})
		w.nodes = 2
		s := w.send(0, random(100))
		a := w.ack()
		require.Equal(t, transfer.RestartSeqno, a.Seqno)
		require.Equal(t, hdfspb.Status_SUCCESS, a.Status(0))
		require.Equal(t, hdfspb.Status_OOB_RESTART, a.Status(1))
		w.acked(s)
		w.Close()
	})
}
