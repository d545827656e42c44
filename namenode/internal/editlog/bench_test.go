package editlog

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// A cheapMachine applies an op in a few nanoseconds, so that the benchmark shows the journal.
type cheapMachine struct {
	*machine
	results []any
}

func (m *cheapMachine) Apply(batch []Op) []any {
	m.txid += uint64(len(batch))
	return m.results[:len(batch)]
}

// BenchmarkAppend appends ops of 60 bytes from c goroutines. Disk is where TMPDIR is.
func BenchmarkAppend(b *testing.B) {
	type place struct {
		name string
		fs   func() afero.Fs
		dir  func(b *testing.B) string
		sync SyncMode
	}
	shm := func(b *testing.B) string {
		dir, err := os.MkdirTemp("/dev/shm", "editlog")
		if err != nil {
			b.Skip("no /dev/shm here")
		}
		b.Cleanup(func() { _ = os.RemoveAll(dir) })
		return dir
	}
	disk := func(b *testing.B) string { return b.TempDir() }
	for _, p := range []place{
		{"memory", func() afero.Fs { return newDisk() }, func(*testing.B) string { return "/nn" }, SyncGroup},
		{"shm", afero.NewOsFs, shm, SyncGroup},
		{"disk", afero.NewOsFs, disk, SyncGroup},
		{"disk-async", afero.NewOsFs, disk, SyncAsync},
	} {
		for _, c := range []int{1, 16, 200, 1024} {
			b.Run(fmt.Sprintf("%s/c=%d", p.name, c), func(b *testing.B) {
				m := &cheapMachine{newMachine(), make([]any, 4096)}
				j, err := OpenLocal(b.Context(), m, LocalOptions{FS: p.fs(), Dir: p.dir(b), Sync: p.sync})
				require.NoError(b, err)
				appendFrom(b, j, c)
				s := j.Stats()
				b.ReportMetric(float64(s.Ops)/b.Elapsed().Seconds(), "ops/s")
				b.ReportMetric(s.OpsPerBatch(), "ops/batch")
				require.NoError(b, j.Close())
			})
		}
	}
}

// appendFrom appends b.N ops from c goroutines.
func appendFrom(b *testing.B, j Journal, c int) {
	var op Op = addOp{key: "/a/directory/of/usual/length/and-a-file-name-of-60-bytes-000", n: 1}
	var next atomic.Int64
	var wg sync.WaitGroup
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	for range c {
		wg.Go(func() {
			for next.Add(1) <= int64(b.N) {
				if _, err := j.Append(ctx, op); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

// BenchmarkOpen replays a log of 200,000 ops from memory.
func BenchmarkOpen(b *testing.B) {
	fs := newDisk()
	o := options(fs)
	o.Sync = SyncNone
	j := openLocal(b, newMachine(), o)
	const ops, goroutines = 200_000, 100
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range ops / goroutines {
				if _, err := j.Append(context.Background(), addOp{key: "/a/directory/of/usual/length/and-a-file-name", n: 1}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	j.Kill()
	b.ResetTimer()
	for range b.N {
		m := newMachine()
		j := openLocal(b, m, o)
		require.EqualValues(b, ops, m.ops)
		j.Kill()
	}
	b.ReportMetric(float64(ops*b.N)/b.Elapsed().Seconds(), "ops/s")
}
