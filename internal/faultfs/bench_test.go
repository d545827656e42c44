package faultfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

const blockSize = 128 << 20

// BenchmarkWriteBlock writes a fresh block of 128 MiB in packets of 64 KiB and removes it.
func BenchmarkWriteBlock(b *testing.B) {
	for name, fsys := range map[string]afero.Fs{
		"disk":    NewDisk(Options{}),
		"discard": NewDisk(Options{Discard: Everything}),
		"wrapped": Wrap(NewDisk(Options{})),
	} {
		b.Run(name, func(b *testing.B) {
			packet := make([]byte, 64<<10)
			b.SetBytes(blockSize)
			for b.Loop() {
				f, err := fsys.Create("/blk_1")
				require.NoError(b, err)
				for off := int64(0); off < blockSize; off += int64(len(packet)) {
					if _, err := f.WriteAt(packet, off); err != nil {
						b.Fatal(err)
					}
				}
				require.NoError(b, f.Close())
				require.NoError(b, fsys.Remove("/blk_1"))
			}
		})
	}
}

// BenchmarkReadBlock reads one block with one handle per reader.
func BenchmarkReadBlock(b *testing.B) {
	d := NewDisk(Options{})
	require.NoError(b, afero.WriteFile(d, "/blk_1", make([]byte, blockSize), 0o644))
	b.SetBytes(64 << 10)
	b.RunParallel(func(pb *testing.PB) {
		f, err := d.Open("/blk_1")
		if err != nil {
			b.Error(err)
			return
		}
		defer f.Close()
		buf, off := make([]byte, 64<<10), int64(0)
		for pb.Next() {
			if _, err := f.ReadAt(buf, off); err != nil && !errors.Is(err, io.EOF) {
				b.Error(err)
				return
			}
			off = (off + int64(len(buf))) % blockSize
		}
	})
}

// BenchmarkSmallFile makes, writes, closes and removes a file of 1 KiB.
func BenchmarkSmallFile(b *testing.B) {
	d := NewDisk(Options{})
	dir := "/data/current/BP-1/current/finalized/subdir0/subdir0"
	require.NoError(b, d.MkdirAll(dir, 0o755))
	data, name := make([]byte, 1<<10), dir+"/blk_1073741825"
	b.ReportAllocs()
	for b.Loop() {
		f, err := d.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.Write(data); err != nil {
			b.Fatal(err)
		}
		f.Close()
		if err := d.Remove(name); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendSync is a log: short records, each followed by Sync.
func BenchmarkAppendSync(b *testing.B) {
	d := NewDisk(Options{})
	f, err := d.OpenFile("/log", os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(b, err)
	rec, off := make([]byte, 200), int64(0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.WriteAt(rec, off); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		off = (off + int64(len(rec))) % (64 << 20)
	}
}

// BenchmarkOpen opens and closes a file among many.
func BenchmarkOpen(b *testing.B) {
	d := NewDisk(Options{})
	dir := "/data/current/BP-1/current/finalized/subdir0/subdir0"
	require.NoError(b, d.MkdirAll(dir, 0o755))
	for i := range 1000 {
		require.NoError(b, afero.WriteFile(d, fmt.Sprintf("%s/blk_%d", dir, i), nil, 0o644))
	}
	for b.Loop() {
		f, err := d.Open(dir + "/blk_500")
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
