package blocks

import (
	"runtime"
	"testing"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

const million = 1_000_000

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

func list(yield func(Replica) bool) {
	for i := range million {
		if !yield(finalized(blk(int(id)+i, 1001, 10))) {
			return
		}
	}
}

// BenchmarkFullReport reports a million blocks: the first time, and again with nothing changed.
func BenchmarkFullReport(b *testing.B) {
	fill := func(b *testing.B, nodes int) *world {
		w := newWorld(b, Options{}, nodes)
		for i := range million {
			w.PutBlock(info(blk(int(id)+i, 1001, 10), dfs.BlockComplete, 3))
		}
		return w
	}
	report := func(b *testing.B, w *world, i int) {
		if err := w.FullReport(reg(i), disk(i), list, ReportContext{}, w.now); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			w := fill(b, 1)
			b.StartTimer()
			report(b, w, 1)
		}
	})
	b.Run("again", func(b *testing.B) {
		w := fill(b, 1)
		report(b, w, 1)
		for b.Loop() {
			report(b, w, 1)
		}
	})
	b.Run("half gone", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			w := fill(b, 1)
			report(b, w, 1)
			b.StartTimer()
			half := func(yield func(Replica) bool) {
				for i := 0; i < million; i += 2 {
					if !yield(finalized(blk(int(id)+i, 1001, 10))) {
						return
					}
				}
			}
			if err := w.FullReport(reg(1), disk(1), half, ReportContext{}, w.now); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkMemory gives the live heap of a block with three replicas.
func BenchmarkMemory(b *testing.B) {
	for range b.N {
		before := heap()
		w := newWorld(b, Options{}, 3)
		for i := range million {
			w.PutBlock(info(blk(int(id)+i, 1001, 10), dfs.BlockComplete, 3))
		}
		bare := heap()
		for i := 1; i <= 3; i++ {
			if err := w.FullReport(reg(i), disk(i), list, ReportContext{}, w.now); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(bare-before)/million, "B/block")
		b.ReportMetric(float64(heap()-before)/million, "B/block+3replicas")
		runtime.KeepAlive(w)
	}
}

// BenchmarkWrite is what one block of three replicas costs from addBlock to complete.
func BenchmarkWrite(b *testing.B) {
	for _, nodes := range []int{3, 1000} {
		b.Run(map[int]string{3: "3 datanodes", 1000: "1000 datanodes"}[nodes], func(b *testing.B) {
			w := newWorld(b, Options{}, 0, "/r1", "/r2", "/r3", "/r4")
			for i := 1; i <= nodes; i++ {
				w.join(i)
			}
			k := 0
			b.ReportAllocs()
			for b.Loop() {
				targets, err := w.ChooseTargets(TargetRequest{Replication: 3, BlockSize: 1 << 20})
				if err != nil {
					b.Fatal(err)
				}
				blkN := blk(int(id)+k, 1001, 0)
				k++
				w.PutBlock(info(blkN, dfs.BlockUnderConstruction, 3))
				w.SetExpected(blkN.ID, Refs(targets))
				blkN.Len = 10
				for _, t := range targets {
					if err := w.IncrementalReport(t.Node.Registration, Storage{ID: t.Storage}, []Received{{Block: blkN, Status: StatusReceived}}, w.now); err != nil {
						b.Fatal(err)
					}
				}
				w.PutBlock(info(blkN, dfs.BlockComplete, 3))
			}
		})
	}
}

func BenchmarkLocate(b *testing.B) {
	w := newWorld(b, Options{}, 3)
	one := blk(int(id), 1001, 10)
	w.PutBlock(info(one, dfs.BlockComplete, 3))
	w.received(one, 1, 2, 3)
	b.ReportAllocs()
	for b.Loop() {
		w.Locate(id, dn(2))
	}
}
