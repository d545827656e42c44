package namenode

import (
	"sync"
	"testing"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// Answers share the descriptions of datanodes: they follow the heartbeats all the same, and are encoded concurrently.
func TestLocationsFollowHeartbeats(t *testing.T) {
	n := openTest(t, t.TempDir(), Options{Sync: SyncNone})
	nodes := datanodes(t, n, 3)
	writeFile(t, n, "/f", nodes)
	remaining := func() (list []uint64, err error) {
		c := &rpc.Call{User: "hdfs", Remote: "127.0.0.1", CallID: -1}
		answer, err := n.getBlockLocations(t.Context(), c, &hdfspb.GetBlockLocationsRequestProto{
			Src: proto.String("/f"), Offset: proto.Uint64(0), Length: proto.Uint64(1 << 30),
		})
		if err != nil {
			return nil, err
		}
		encoded, err := proto.Marshal(answer)
		if err != nil {
			return nil, err
		}
		var decoded hdfspb.GetBlockLocationsResponseProto
		if err := proto.Unmarshal(encoded, &decoded); err != nil {
			return nil, err
		}
		for _, d := range decoded.GetLocations().GetLastBlock().GetLocs() {
			list = append(list, d.GetRemaining())
		}
		return list, nil
	}
	list, err := remaining()
	require.NoError(t, err)
	require.Equal(t, []uint64{1 << 40, 1 << 40, 1 << 40}, list)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				if _, err := remaining(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 50 {
		for _, reg := range nodes {
			_, _, err := n.blocks.Heartbeat(reg, blocks.Heartbeat{Reports: []blocks.StorageReport{{
				Storage: blocks.Storage{ID: "DS-" + reg.UUID, Type: dfs.StorageDisk}, Capacity: 1 << 40, Remaining: int64(50 - i),
			}}}, time.Now())
			require.NoError(t, err)
		}
	}
	all.Wait()
	list, err = remaining()
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 1, 1}, list)
}
