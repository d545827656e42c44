package namespace

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

const perDir = 512

func benchNamespace(b testing.TB, mode LockMode) *Namespace {
	n := New(Options{Mode: mode})
	require.NoError(b, n.Apply([]*Op{{Args: &SetParams{testParams()}}})[0].Err)
	return n
}

// manyDirs makes ops for so many directories, perDir in each parent; the parents are there.
func manyDirs(b testing.TB, n *Namespace, prefix string, count int) []*Op {
	ops := make([]*Op, count)
	for i := range ops {
		if i%perDir == 0 {
			parent := fmt.Sprintf("/%s/dir%d", prefix, i/perDir)
			require.NoError(b, n.Apply([]*Op{{Caller: root, CallID: -1, Args: &Mkdirs{parent, 0o755, true}}})[0].Err)
		}
		ops[i] = &Op{Time: int64(i), Caller: root, CallID: -1, Args: &Mkdirs{fmt.Sprintf("/%s/dir%d/sub%d", prefix, i/perDir, i), 0o755, true}}
	}
	return ops
}

// BenchmarkMkdirs applies batches to directories of 512.
func BenchmarkMkdirs(b *testing.B) {
	for name, mode := range map[string]LockMode{"partitioned": Partitioned, "global": Global} {
		for _, size := range []int{1, 128, 1024} {
			b.Run(fmt.Sprintf("%s/batch=%d", name, size), func(b *testing.B) {
				n := benchNamespace(b, mode)
				ops := manyDirs(b, n, "bench", b.N)
				b.ReportAllocs()
				b.ResetTimer()
				for i := 0; i < len(ops); i += size {
					n.Apply(ops[i:min(i+size, len(ops))])
				}
			})
		}
	}
}

func BenchmarkCheckMkdirs(b *testing.B) {
	n := benchNamespace(b, Partitioned)
	ops := manyDirs(b, n, "bench", 1<<14)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, final := n.Check(ops[i%len(ops)]); final {
			b.Fatal("a directory that is not there needs no op")
		}
	}
}

func BenchmarkStatus(b *testing.B) {
	n := benchNamespace(b, Partitioned)
	ops := manyDirs(b, n, "bench", 1<<14)
	n.Apply(ops)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if st, err := n.Status(root, ops[i%len(ops)].Args.(*Mkdirs).Path, true); st == nil || err != nil {
			b.Fatal(st, err)
		}
	}
}

func BenchmarkCreateFile(b *testing.B) {
	n := benchNamespace(b, Partitioned)
	manyDirs(b, n, "bench", b.N)
	ops := make([]*Op, b.N)
	for i := range ops {
		ops[i] = &Op{Time: int64(i), Caller: root, CallID: -1, Args: &Create{Path: fmt.Sprintf("/bench/dir%d/file%d", i/perDir, i), Perm: 0o644, Holder: "h", Flags: dfs.CreateNew, Replication: 3, BlockSize: 1 << 27}}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < len(ops); i += 128 {
		n.Apply(ops[i:min(i+128, len(ops))])
	}
}

// BenchmarkAddBlock allocates blocks of a file that grows and grows.
func BenchmarkAddBlock(b *testing.B) {
	n := benchNamespace(b, Partitioned)
	p := testParams()
	p.MaxBlocksPerFile = 1 << 40
	n.Apply([]*Op{{Args: &SetParams{p}}})
	id := n.Apply([]*Op{{Caller: root, CallID: -1, Args: &Create{Path: "/f", Holder: "h", Flags: dfs.CreateNew, Replication: 3, BlockSize: 100}}})[0].Status.ID
	var last *dfs.Block
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		k := n.Apply([]*Op{{Caller: root, CallID: -1, Args: &AddBlock{"/f", id, "h", last}}})[0].Block.Block
		k.Len = 100
		last = &k
	}
}

func BenchmarkOpCodec(b *testing.B) {
	op := &Op{Time: 1, Caller: root, CallID: -1, Args: &Mkdirs{"/bench/dir12/sub12345", 0o755, true}}
	var buf []byte
	b.ReportAllocs()
	for range b.N {
		buf = op.AppendTo(buf[:0])
		if _, err := DecodeOp(buf); err != nil {
			b.Fatal(err)
		}
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkMemory reports the live heap of an inode: b.N empty directories, and as many files of no and of one block.
func BenchmarkMemory(b *testing.B) {
	const count = 1 << 18
	for name, fill := range map[string]func(n *Namespace, i int){
		"dir": func(n *Namespace, i int) {
			n.Apply([]*Op{{Caller: root, CallID: -1, Args: &Mkdirs{fmt.Sprintf("/d/dir%d/sub%d", i/perDir, i), 0o755, true}}})
		},
		"empty file":         func(n *Namespace, i int) { memoryFile(n, i, 0) },
		"file of one block":  func(n *Namespace, i int) { memoryFile(n, i, 1) },
		"file of ten blocks": func(n *Namespace, i int) { memoryFile(n, i, 10) },
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				before := liveHeap()
				n := benchNamespace(b, Partitioned)
				for i := range count {
					fill(n, i)
				}
				b.ReportMetric(float64(liveHeap()-before)/float64(n.Counts().INodes), "B/inode")
				runtime.KeepAlive(n)
			}
		})
	}
}

func memoryFile(n *Namespace, i, blocks int) {
	path := fmt.Sprintf("/d/dir%d/file%d", i/perDir, i)
	id := n.Apply([]*Op{{Caller: root, CallID: -1, Args: &Create{Path: path, Holder: "h", Flags: dfs.CreateNew, CreateParent: true, Replication: 3, BlockSize: 100}}})[0].Status.ID
	var last *dfs.Block
	for range blocks {
		k := n.Apply([]*Op{{Caller: root, CallID: -1, Args: &AddBlock{path, id, "h", last}}})[0].Block.Block
		k.Len = 100
		last = &k
	}
	n.Apply([]*Op{{Caller: root, CallID: -1, Args: &Complete{Path: path, FileID: id, Holder: "h", Last: last}}})
}

func BenchmarkImage(b *testing.B) {
	n := benchNamespace(b, Partitioned)
	const count = 1 << 18
	ops := manyDirs(b, n, "bench", count)
	n.Apply(ops)
	var file bytes.Buffer
	_, err := n.Snapshot().WriteTo(&file)
	require.NoError(b, err)
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(file.Len()))
		for range b.N {
			n.Snapshot().WriteTo(io.Discard)
		}
		b.ReportMetric(float64(count)*float64(b.N)/b.Elapsed().Seconds(), "inodes/s")
	})
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(int64(file.Len()))
		for range b.N {
			require.NoError(b, n.Restore(bytes.NewReader(file.Bytes())))
		}
		b.ReportMetric(float64(count)*float64(b.N)/b.Elapsed().Seconds(), "inodes/s")
	})
}
