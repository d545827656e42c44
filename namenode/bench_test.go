package namenode

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// open starts a namenode for a test, without datanodes, on a real folder.
func openTest(tb testing.TB, dir string, o Options) *NameNode {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	o.FS, o.Dir, o.Listener = afero.NewOsFs(), dir, l
	if o.Superuser == "" {
		o.Superuser = "hdfs"
	}
	n, err := New(context.Background(), o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, n.Close()) })
	return n
}

// BenchmarkMkdirs calls the RPC handler of mkdirs directly, as Hadoop's NNThroughputBenchmark does: permissions on, call
// ids set, 200 goroutines, 512 directories a parent, each answered after the sync that its mode asks for.
func BenchmarkMkdirs(b *testing.B) {
	for _, place := range []struct {
		name, dir string
		sync      SyncMode
	}{
		{"tmpfs", "/dev/shm", SyncGroup},
		{"disk", "", SyncGroup},
	} {
		b.Run(place.name, func(b *testing.B) {
			if _, err := os.Stat(place.dir); place.dir != "" && err != nil {
				b.Skip("this system has no tmpfs at " + place.dir)
			}
			dir, err := os.MkdirTemp(place.dir, "minidfs-bench-")
			require.NoError(b, err)
			b.Cleanup(func() { os.RemoveAll(dir) })
			benchmarkMkdirs(b, openTest(b, dir, Options{Sync: place.sync}))
		})
	}
}

func benchmarkMkdirs(b *testing.B, n *NameNode) {
	const goroutines, perDir = 200, 512
	var next atomic.Int64
	var all sync.WaitGroup
	before := n.journal.Stats()
	b.ResetTimer()
	for g := range goroutines {
		all.Go(func() {
			var client [16]byte
			binary.LittleEndian.PutUint64(client[:], uint64(g)+1)
			for call := int32(0); ; call++ {
				i := next.Add(1) - 1
				if i >= int64(b.N) {
					return
				}
				c := &rpc.Call{User: "hdfs", Remote: "127.0.0.1", ClientID: client[:], CallID: call}
				_, err := n.mkdirs(context.Background(), c, &hdfspb.MkdirsRequestProto{
					Src:          proto.String(fmt.Sprintf("/nnThroughputBenchmark/mkdirs/ThroughputBenchDir%d/ThroughputBench%d", i/perDir, i)),
					Masked:       &hdfspb.FsPermissionProto{Perm: proto.Uint32(0o755)},
					CreateParent: proto.Bool(true),
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	s := n.journal.Stats()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(float64(s.Syncs-before.Syncs), "syncs")
	b.ReportMetric(float64(s.Ops-before.Ops)/float64(max(s.Batches-before.Batches, 1)), "ops/batch")
}
