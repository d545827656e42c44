package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadsAgainstAModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		f.page = 4 // blocks of a page of locations
		c := f.client(Options{})
		data := pattern(64*3000 + 17)
		require.NoError(t, c.WriteFile(t.Context(), "/f", data, BlockSize(3000)))
		file, err := c.Open(t.Context(), "/f")
		require.NoError(t, err)
		require.EqualValues(t, len(data), file.Size())
		model := bytes.NewReader(data)
		for range 2000 {
			off, n := r.Int64N(int64(len(data))+100), r.IntN(8000)
			switch r.IntN(4) {
			case 0:
				whence := r.IntN(3)
				switch whence {
				case io.SeekCurrent:
					off = r.Int64N(200000) - 100000
				case io.SeekEnd:
					off = -off
				}
				want, werr := model.Seek(off, whence)
				got, gerr := file.Seek(off, whence)
				require.Equal(t, werr == nil, gerr == nil)
				if werr == nil {
					require.Equal(t, want, got)
				}
			case 1:
				want, got := make([]byte, n), make([]byte, n)
				wn, werr := io.ReadFull(model, want)
				gn, gerr := io.ReadFull(file, got)
				require.Equal(t, wn, gn)
				require.Equal(t, werr, gerr)
				require.True(t, bytes.Equal(want, got))
			default:
				want, got := make([]byte, n), make([]byte, n)
				wn, werr := model.ReadAt(want, off)
				gn, gerr := file.ReadAt(got, off)
				require.Equal(t, wn, gn)
				require.Equal(t, werr, gerr)
				require.True(t, bytes.Equal(want, got))
			}
			_, conns := f.net.Open("client")
			require.LessOrEqual(t, conns, 1+16+1, "one to the namenode, idle ones, the stream")
		}
		require.NoError(t, file.Close())
		require.NoError(t, file.Close())
		_, err = file.Read(make([]byte, 1))
		require.EqualError(t, err, "read /f: file already closed")
		_, err = file.ReadAt(make([]byte, 1), 0)
		require.ErrorIs(t, err, ErrClosed)
		time.Sleep(idleConnTimeout + time.Second)
		_, conns := f.net.Open("client")
		require.Equal(t, 1, conns, "idle connections are closed")
	})
}

func TestReaderKeepsTheContractOfIO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		c := f.client(Options{})
		data := pattern(2500)
		require.NoError(t, c.WriteFile(t.Context(), "/f", data, BlockSize(1024)))
		file, err := c.Open(t.Context(), "/f")
		require.NoError(t, err)
		require.NoError(t, iotest.TestReader(file, data))
		require.NoError(t, file.Close())

		require.NoError(t, c.WriteFile(t.Context(), "/empty", nil))
		b, err := c.ReadFile(t.Context(), "/empty")
		require.NoError(t, err)
		require.Empty(t, b)
	})
}

func TestWriteTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 2)
		c := f.client(Options{})
		data := pattern(50000)
		require.NoError(t, c.WriteFile(t.Context(), "/f", data, BlockSize(20000)))
		file, err := c.Open(t.Context(), "/f")
		require.NoError(t, err)
		defer file.Close()
		_, err = file.Seek(777, io.SeekStart)
		require.NoError(t, err)
		var got bytes.Buffer
		n, err := io.Copy(&got, file)
		require.NoError(t, err)
		require.EqualValues(t, len(data)-777, n)
		require.True(t, bytes.Equal(data[777:], got.Bytes()))

		_, err = file.Seek(0, io.SeekStart)
		require.NoError(t, err)
		full := errors.New("full")
		_, err = io.Copy(iotestErrWriter{full}, file)
		require.Equal(t, full, err)
	})
}

type iotestErrWriter struct{ err error }

func (w iotestErrWriter) Write([]byte) (int, error) { return 0, w.err }

func TestManyReadAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		c := f.client(Options{})
		data := pattern(100000)
		require.NoError(t, c.WriteFile(t.Context(), "/f", data, BlockSize(10000)))
		file, err := c.Open(t.Context(), "/f")
		require.NoError(t, err)
		var all sync.WaitGroup
		for g := range 20 {
			all.Go(func() {
				b := make([]byte, 15000)
				for i := range 20 {
					off := int64(g*4001+i*997) % 85000
					if n, err := file.ReadAt(b, off); err != nil || !bytes.Equal(b[:n], data[off:off+15000]) {
						t.Errorf("at %d: %d bytes, %v", off, n, err)
					}
				}
			})
		}
		all.Wait()
		require.NoError(t, file.Close())
		_, conns := f.net.Open("client")
		require.LessOrEqual(t, conns, 17)
	})
}

func TestShortSeeksStayInTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		c := f.client(Options{})
		require.NoError(t, c.WriteFile(t.Context(), "/f", pattern(1<<20)))
		file, err := c.Open(t.Context(), "/f")
		require.NoError(t, err)
		b := make([]byte, 100)
		for off := int64(0); off < 1<<20; off += shortSkip {
			_, err := file.Seek(off, io.SeekStart)
			require.NoError(t, err)
			_, err = io.ReadFull(file, b)
			require.NoError(t, err)
			require.Equal(t, pattern(1 << 20)[off:off+100], b)
		}
		f.dns[0].with(func() { require.Equal(t, 1, f.dns[0].reads) })
		_, err = file.Seek(0, io.SeekStart)
		require.NoError(t, err)
		_, err = io.ReadFull(file, b)
		require.NoError(t, err)
		f.dns[0].with(func() { require.Equal(t, 2, f.dns[0].reads) })
		require.NoError(t, file.Close())
	})
}

// spoil flips a byte of a replica as it is read.
func (f *fake) spoil(path string, node int, off int64) (block uint64) {
	f.mu.Lock()
	block = f.files[path].blocks[0].b.GetBlockId()
	f.mu.Unlock()
	f.dns[node].with(func() { f.dns[node].replicas[block].flip = off })
	return block
}

func TestCorruptReplicas(t *testing.T) {
	for _, off := range []int64{0, 511, 512, 9999} {
		t.Run(fmt.Sprintf("one of three, byte %d", off), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 1, 3)
				c := f.client(Options{})
				data := pattern(10000)
				require.NoError(t, c.WriteFile(t.Context(), "/f", data))
				block := f.spoil("/f", 0, off)
				file, err := c.Open(t.Context(), "/f")
				require.NoError(t, err)
				got, err := io.ReadAll(iotest.OneByteReader(file))
				require.NoError(t, err)
				require.True(t, bytes.Equal(data, got))
				require.NoError(t, file.Close())
				f.mu.Lock()
				require.Equal(t, []string{fmt.Sprintf("%d@dn1", block)}, f.bad)
				f.mu.Unlock()
			})
		})
		t.Run(fmt.Sprintf("the only one, byte %d", off), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 1, 1)
				c := f.client(Options{})
				data := pattern(10000)
				require.NoError(t, c.WriteFile(t.Context(), "/f", data))
				f.spoil("/f", 0, off)
				start := time.Now()
				got, err := c.ReadFile(t.Context(), "/f")
				var sum *ChecksumError
				require.ErrorAs(t, err, &sum)
				require.ErrorIs(t, err, ErrNoReplica)
				require.ErrorContains(t, err, "read /f: block blk_")
				require.ErrorContains(t, err, f.dns[0].addr+": at offset ")
				require.True(t, bytes.Equal(data[:len(got)], got), "no byte that is wrong")
				require.Zero(t, time.Since(start), "no waiting for what will not get better")
				f.dns[0].with(func() { require.LessOrEqual(t, f.dns[0].reads, 2) })
			})
		})
	}
}

func TestReadMovesToAnotherNode(t *testing.T) {
	silentAfter := func(n int) func(int) bool { return func(sent int) bool { return sent < n } }
	tests := []struct {
		name  string
		harm  func(f *fake)
		takes time.Duration
	}{
		{"down", func(f *fake) { f.net.Down("dn1") }, 0},
		{"never accepts", func(f *fake) { f.net.Stall("client", "dn1") }, 20 * time.Second},
		{"never answers", func(f *fake) { f.dns[0].onRead = silentAfter(0) }, 61 * time.Second},
		{"silent after half", func(f *fake) { f.dns[0].onRead = silentAfter(50000) }, 61 * time.Second},
		{"replica lost", func(f *fake) {
			f.dns[0].with(func() { clear(f.dns[0].replicas) })
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 1, 2)
				c := f.client(Options{})
				data := pattern(100000)
				require.NoError(t, c.WriteFile(t.Context(), "/f", data, BlockSize(60000)))
				tt.harm(f)
				start := time.Now()
				file, err := c.Open(t.Context(), "/f")
				require.NoError(t, err)
				got, err := io.ReadAll(file)
				require.NoError(t, err)
				require.True(t, bytes.Equal(data, got))
				require.Equal(t, tt.takes, time.Since(start), "the bad node is tried once, not for each block")
				require.NoError(t, file.Close())
				f.net.Heal()
			})
		})
	}
}

func TestNoReplicaLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 2)
		c := f.client(Options{})
		require.NoError(t, c.WriteFile(t.Context(), "/f", pattern(1000)))
		f.net.Down("dn1")
		f.net.Down("dn2")
		start := time.Now()
		_, err := c.ReadFile(t.Context(), "/f")
		var block *BlockError
		require.ErrorAs(t, err, &block)
		require.Len(t, block.Tried, 2)
		require.ErrorContains(t, err, "read /f: block blk_1002_1001 at offset 0: no datanode gave the data: "+f.dns[0].addr+": ")
		require.Len(t, f.seen("getBlockLocations"), 1+locateRounds)
		require.Less(t, time.Since(start), 28*time.Second)

		// one that comes back in time is found
		time.AfterFunc(time.Second, func() { f.net.Up("dn2") })
		_, err = c.ReadFile(t.Context(), "/f")
		require.NoError(t, err)
	})
}

func TestFileReplacedWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		c := f.client(Options{})
		require.NoError(t, c.WriteFile(t.Context(), "/f", pattern(1000)))
		file, err := c.Open(t.Context(), "/f")
		require.NoError(t, err)
		require.NoError(t, c.WriteFile(t.Context(), "/f", pattern(2000)))
		f.dns[0].with(func() { delete(f.dns[0].replicas, 1002) })
		_, err = file.Read(make([]byte, 10))
		require.ErrorContains(t, err, "the file was replaced: block blk_1002_1001 at offset 0 is now blk_")
		require.NoError(t, file.Close())
	})
}

func TestReadWhatIsBeingWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		c := f.client(Options{})
		data := pattern(5000)
		w, err := c.Create(t.Context(), "/f", BlockSize(2000))
		require.NoError(t, err)
		for n := 0; n < len(data); n += 700 {
			_, err = w.Write(data[n:min(n+700, len(data))])
			require.NoError(t, err)
			require.NoError(t, w.Hflush())
			got, err := c.ReadFile(t.Context(), "/f")
			require.NoError(t, err)
			require.True(t, bytes.Equal(data[:min(n+700, len(data))], got))
		}
		f.net.Down("dn1")
		got, err := c.ReadFile(t.Context(), "/f")
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got))
		f.net.Up("dn1")
		require.NoError(t, w.Abort())
	})
}

func TestContextEndsAReader(t *testing.T) {
	reason := errors.New("no longer wanted")
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		c := f.client(Options{})
		require.NoError(t, c.WriteFile(t.Context(), "/f", pattern(100000)))
		f.dns[0].onRead = func(sent int) bool { return sent < 50000 }
		ctx, cancel := context.WithCancelCause(t.Context())
		file, err := c.Open(ctx, "/f")
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { cancel(reason) })
		start := time.Now()
		_, err = io.Copy(io.Discard, file)
		require.ErrorIs(t, err, reason)
		require.Equal(t, time.Second, time.Since(start))
		_, err = file.ReadAt(make([]byte, 1), 0)
		require.ErrorIs(t, err, reason)

		// a Close beside a Read ends it
		file, err = c.Open(t.Context(), "/f")
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { file.Close() })
		_, err = io.Copy(io.Discard, file)
		require.ErrorIs(t, err, ErrClosed)

		// so does that of the client
		file, err = c.Open(t.Context(), "/f")
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { c.Close() })
		_, err = io.Copy(io.Discard, file)
		require.ErrorIs(t, err, ErrClosed)
		require.NoError(t, file.Close())
		synctest.Wait()
		_, conns := f.net.Open("client")
		require.Zero(t, conns)
	})
}

func TestDroppedReadersDoNotHoldMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		c := f.client(Options{IdleConns: 2})
		require.NoError(t, c.WriteFile(t.Context(), "/f", pattern(100000)))
		ctx, cancel := context.WithCancel(t.Context())
		for range 10 {
			file, err := c.Open(ctx, "/f")
			require.NoError(t, err)
			_, err = file.Read(make([]byte, 10))
			require.NoError(t, err)
		}
		cancel()
		synctest.Wait()
		_, conns := f.net.Open("client")
		require.Equal(t, 1, conns, "the end of the context closes streams that nobody closed")
	})
}
