package datanode

import (
	"bufio"
	"os"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// tmpfs is a directory in memory where the system has one.
func tmpfs(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "minidfs-bench")
	if err != nil {
		return b.TempDir()
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func benchCluster(b *testing.B, nodes int) *cluster {
	return newCluster(b, nodes, func(_ int, o *Options) {
		o.Volumes = []Volume{{FS: afero.NewOsFs(), Dir: tmpfs(b), Capacity: 1 << 40}}
	})
}

// measure adds the processor time of an operation to the benchmark's figures.
func measure(b *testing.B) func() {
	before := processorTime()
	return func() { b.ReportMetric(float64(processorTime()-before)/float64(b.N), "cpu-ns/op") }
}

// writeAll sends size bytes of the same packet as fast as the window of 80 allows.
func (w *testWriter) writeAll(size int64) {
	const data = 126 * 512
	payload := random(data)
	sums := w.sum.Sum(nil, payload)
	window := make(chan struct{}, 80)
	done := make(chan error, 1)
	last := (size + data - 1) / data
	go func() {
		var a transfer.Ack
		for seq := int64(0); seq <= last; seq++ {
			if err := transfer.ReadAck(w.r, &a); err != nil {
				done <- err
				return
			}
			<-window
		}
		done <- nil
	}()
	buf := make([]byte, 0, data+2048)
	for seq := int64(0); seq <= last; seq++ {
		window <- struct{}{}
		h := transfer.Header{Offset: seq * data, Seqno: seq, DataLen: int(min(data, size-seq*data)), Last: seq == last}
		if h.Last {
			h.Offset, h.DataLen = size, 0
		}
		n := w.sum.Len(h.DataLen)
		buf = append(append(transfer.AppendPrefix(buf[:0], h, n), sums[:n]...), payload[:h.DataLen]...)
		if h.DataLen%512 != 0 {
			copy(buf[len(buf)-h.DataLen-n:], w.sum.Sum(nil, payload[:h.DataLen]))
		}
		_, err := w.Write(buf)
		require.NoError(w.t, err)
	}
	require.NoError(w.t, <-done)
}

func BenchmarkWrite(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		b.Run(map[int]string{1: "nodes=1", 3: "nodes=3"}[nodes], func(b *testing.B) {
			c := benchCluster(b, nodes)
			const size = 128 << 20
			b.SetBytes(size)
			b.ReportAllocs()
			id := dfs.BlockID(0)
			report := measure(b)
			for b.Loop() {
				id++
				w := openWriter(b, c.dns, block(id, 1001, 0), stageCreate, nil)
				w.writeAll(size)
				w.Close()
				for _, d := range c.dns {
					d.set.Invalidate(block(id, 1001, size))
				}
			}
			report()
		})
	}
}

func BenchmarkSmallWrite(b *testing.B) {
	c := benchCluster(b, 3)
	data := random(1024)
	id := dfs.BlockID(0)
	b.ReportAllocs()
	report := measure(b)
	for b.Loop() {
		id++
		w := openWriter(b, c.dns, block(id, 1001, 0), stageCreate, nil)
		w.all(0, data, 64512)
		w.Close()
	}
	report()
}

func BenchmarkRead(b *testing.B) {
	for _, tc := range []struct {
		name string
		sums bool
		size int64
	}{{"128MB", true, 128 << 20}, {"128MB-nosums", false, 128 << 20}, {"1KB", true, 1 << 10}} {
		b.Run(tc.name, func(b *testing.B) {
			c := benchCluster(b, 1)
			w := openWriter(b, c.dns, block(1, 1001, 0), stageCreate, nil)
			w.writeAll(tc.size)
			w.Close()
			conn := connect(b, c.dns[0])
			conn.r = bufio.NewReaderSize(conn, 512)
			packets := transfer.NewPacketReader(conn.r)
			b.SetBytes(tc.size)
			b.ReportAllocs()
			report := measure(b)
			for b.Loop() {
				conn.op(transfer.OpReadBlock, &hdfspb.OpReadBlockProto{
					Header: clientHeader(block(1, 1001, 0), "c"), Offset: ptr(uint64(0)), Len: ptr(uint64(tc.size)), SendChecksums: &tc.sums,
				})
				require.Equal(b, hdfspb.Status_SUCCESS, conn.response().GetStatus())
				n := int64(0)
				for {
					p, err := packets.Next()
					require.NoError(b, err)
					if n += int64(len(p.Data)); p.Last {
						break
					}
				}
				require.Equal(b, tc.size, n)
				require.NoError(b, transfer.WriteMessage(conn, &hdfspb.ClientReadStatusProto{Status: hdfspb.Status_SUCCESS.Enum()}))
			}
			report()
		})
	}
}
