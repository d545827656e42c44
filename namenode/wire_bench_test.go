package namenode

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// BenchmarkWire measures calls over loopback TCP, by clients that send one call at a time each. The journal is on disk
// but not synced, so that the disk does not count.
func BenchmarkWire(b *testing.B) {
	calls := []struct {
		name string
		call func(ctx *wireBench, c *rpc.Client, i int64) error
	}{
		{"stat", func(w *wireBench, c *rpc.Client, i int64) error {
			var answer hdfspb.GetFileInfoResponseProto
			return c.Call(w.Context(), "getFileInfo", &hdfspb.GetFileInfoRequestProto{Src: proto.String("/list/0123")}, &answer)
		}},
		{"mkdirs", func(w *wireBench, c *rpc.Client, i int64) error {
			return w.mkdirs(c, fmt.Sprintf("/dirs/%d/%d", i/512, i))
		}},
		{"create", func(w *wireBench, c *rpc.Client, i int64) error {
			return w.create(c, fmt.Sprintf("/files/%d/%d", i/512, i))
		}},
		{"list-1000", func(w *wireBench, c *rpc.Client, i int64) error {
			var answer hdfspb.GetListingResponseProto
			return c.Call(w.Context(), "getListing", &hdfspb.GetListingRequestProto{
				Src: proto.String("/list"), StartAfter: []byte{}, NeedLocation: proto.Bool(false),
			}, &answer)
		}},
	}
	for _, test := range calls {
		for _, conns := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/conns=%d", test.name, conns), func(b *testing.B) {
				w := newWireBench(b, conns)
				var next atomic.Int64
				var all sync.WaitGroup
				b.ReportAllocs()
				b.ResetTimer()
				for _, c := range w.clients {
					all.Go(func() {
						for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
							if err := test.call(w, c, i); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			})
		}
	}
}

// wireBench is a namenode with a directory of 1,000 files, /list, and its clients.
type wireBench struct {
	*testing.B
	clients []*rpc.Client
}

func newWireBench(b *testing.B, conns int) *wireBench {
	n := openTest(b, b.TempDir(), Options{Sync: SyncNone})
	w := &wireBench{B: b}
	for range conns {
		c := rpc.NewClient(n.Addr().String(), rpc.ClientOptions{User: "hdfs", Protocol: clientProtocol})
		b.Cleanup(func() { require.NoError(b, c.Close()) })
		w.clients = append(w.clients, c)
		require.NoError(b, w.mkdirs(c, "/list"))
	}
	for i := range 1000 {
		require.NoError(b, w.create(w.clients[0], fmt.Sprintf("/list/%04d", i)))
	}
	return w
}

func (w *wireBench) mkdirs(c *rpc.Client, path string) error {
	var answer hdfspb.MkdirsResponseProto
	return c.Call(w.Context(), "mkdirs", &hdfspb.MkdirsRequestProto{
		Src: proto.String(path), Masked: permission(0o755), CreateParent: proto.Bool(true),
	}, &answer)
}

func (w *wireBench) create(c *rpc.Client, path string) error {
	var answer hdfspb.CreateResponseProto
	return c.Call(w.Context(), "create", &hdfspb.CreateRequestProto{
		Src: proto.String(path), Masked: permission(0o644), ClientName: proto.String("DFSClient_bench"),
		CreateFlag: proto.Uint32(uint32(dfs.CreateNew)), CreateParent: proto.Bool(true),
		Replication: proto.Uint32(3), BlockSize: proto.Uint64(128 << 20),
	}, &answer)
}
