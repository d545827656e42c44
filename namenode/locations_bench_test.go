package namenode

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// BenchmarkGetBlockLocations calls the handler for a file of one block with three replicas, and encodes the answer.
func BenchmarkGetBlockLocations(b *testing.B) {
	n := openTest(b, b.TempDir(), Options{Sync: SyncNone})
	writeFile(b, n, "/f", datanodes(b, n, 3))
	c := &rpc.Call{User: "hdfs", Remote: "127.0.0.1", CallID: -1}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		answer, err := n.getBlockLocations(b.Context(), c, &hdfspb.GetBlockLocationsRequestProto{
			Src: proto.String("/f"), Offset: proto.Uint64(0), Length: proto.Uint64(1 << 30),
		})
		require.NoError(b, err)
		require.Len(b, answer.GetLocations().GetBlocks()[0].GetLocs(), 3)
		buf, err = proto.MarshalOptions{}.MarshalAppend(buf[:0], answer)
		require.NoError(b, err)
	}
}

// datanodes registers so many, each with one storage.
func datanodes(tb testing.TB, n *NameNode, count int) []blocks.Registration {
	var list []blocks.Registration
	for i := range count {
		reg, err := n.blocks.Register(blocks.Registration{DatanodeID: dfs.DatanodeID{
			UUID: fmt.Sprintf("5d2a6f3e-0000-0000-0000-%012d", i), IP: "127.0.0.1", Host: "localhost",
			XferPort: 9866 + i, IPCPort: 9867 + i, InfoPort: 9864 + i,
		}}, time.Now())
		require.NoError(tb, err)
		_, _, err = n.blocks.Heartbeat(reg, blocks.Heartbeat{Reports: []blocks.StorageReport{{
			Storage: blocks.Storage{ID: "DS-" + reg.UUID, Type: dfs.StorageDisk}, Capacity: 1 << 40, Remaining: 1 << 40,
		}}}, time.Now())
		require.NoError(tb, err)
		list = append(list, reg)
	}
	return list
}

// writeFile makes a file of one block, which all of the datanodes report.
func writeFile(tb testing.TB, n *NameNode, path string, on []blocks.Registration) {
	ctx, c, holder := context.Background(), &rpc.Call{User: "hdfs", Remote: "127.0.0.1", CallID: -1}, proto.String("DFSClient_test")
	_, err := n.create(ctx, c, &hdfspb.CreateRequestProto{
		Src: proto.String(path), Masked: permission(0o644), ClientName: holder, CreateFlag: proto.Uint32(uint32(dfs.CreateNew)),
		CreateParent: proto.Bool(true), Replication: proto.Uint32(uint32(len(on))), BlockSize: proto.Uint64(128 << 20),
	})
	require.NoError(tb, err)
	added, err := n.addBlock(ctx, c, &hdfspb.AddBlockRequestProto{Src: proto.String(path), ClientName: holder})
	require.NoError(tb, err)
	last := added.GetBlock().GetB()
	last.NumBytes = proto.Uint64(1024)
	for _, reg := range on {
		require.NoError(tb, n.blocks.IncrementalReport(reg, blocks.Storage{ID: "DS-" + reg.UUID, Type: dfs.StorageDisk},
			[]blocks.Received{{Block: blockFromWire(last), Status: blocks.StatusReceived}}, time.Now()))
	}
	done, err := n.complete(ctx, c, &hdfspb.CompleteRequestProto{Src: proto.String(path), ClientName: holder, Last: last})
	require.NoError(tb, err)
	require.True(tb, done.GetResult())
}
