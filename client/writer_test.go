package client

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>9)
	}
	return b
}

// content gives what the fake's datanodes have of a file, one that must agree for each replica.
func (f *fake) content(path string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []byte
	for _, b := range f.files[path].blocks {
		var data []byte
		for i, n := range b.nodes {
			f.dns[n].with(func() {
				x := f.dns[n].replicas[b.b.GetBlockId()]
				require.NotNil(f.t, x, "%s has no replica of block %d", f.dns[n].name(), b.b.GetBlockId())
				require.Equal(f.t, b.b.GetGenerationStamp(), x.gs)
				if i > 0 {
					require.True(f.t, bytes.Equal(data, x.data), "replicas differ")
				}
				data = bytes.Clone(x.data)
			})
		}
		all = append(all, data...)
	}
	return all
}

// log gives the packets that a datanode got as offset+length, with marks for last, sync and heartbeats, and forgets them.
func (d *fakeDN) log() (s []string) {
	d.with(func() {
		for _, h := range d.packets {
			l := fmt.Sprintf("%d+%d", h.Offset, h.DataLen)
			switch {
			case h.Seqno == transfer.HeartbeatSeqno:
				l = "beat"
			case h.Last && h.Sync:
				l += " last sync"
			case h.Last:
				l += " last"
			case h.Sync:
				l += " sync"
			}
			s = append(s, l)
		}
		d.packets = nil
	})
	return s
}

func TestPackets(t *testing.T) {
	type step = func(t *testing.T, w *Writer)
	write := func(n int) step {
		return func(t *testing.T, w *Writer) {
			_, err := w.Write(pattern(n))
			require.NoError(t, err)
		}
	}
	flush := func(t *testing.T, w *Writer) { require.NoError(t, w.Hflush()) }
	sync := func(t *testing.T, w *Writer) { require.NoError(t, w.Hsync()) }
	endBlock := func(t *testing.T, w *Writer) { require.NoError(t, w.Hsync(EndBlock)) }
	tests := []struct {
		name  string
		steps []step
		want  []string
	}{
		{"nothing", nil, nil},
		{"one byte", []step{write(1)}, []string{"0+1", "1+0 last"}},
		{"full packets", []step{write(3000)}, []string{"0+1024", "1024+1024", "2048+952", "3000+0 last"}},
		{"full block", []step{write(4096)}, []string{"0+1024", "1024+1024", "2048+1024", "3072+1024", "4096+0 last"}},
		{"two blocks", []step{write(4097)}, []string{"0+1024", "1024+1024", "2048+1024", "3072+1024", "4096+0 last", "0+1", "1+0 last"}},
		{"flush at a chunk's end", []step{write(512), flush, write(1)}, []string{"0+512", "512+1", "513+0 last"}},
		{"flush inside a chunk", []step{write(700), flush, write(10), flush, write(2000)}, []string{"0+700", "512+198", "512+1024", "1536+1024", "2560+150", "2710+0 last"}},
		{"flush twice", []step{write(700), flush, flush}, []string{"0+700", "700+0 last"}},
		{"flush nothing", []step{flush, sync}, nil},
		{"sync", []step{write(700), sync}, []string{"0+700 sync", "700+0 last"}},
		{"sync what was flushed", []step{write(700), flush, sync, write(5), sync, sync}, []string{"0+700", "700+0 sync", "512+193 sync", "705+0 sync", "705+0 last"}},
		{"end of block", []step{write(5), endBlock, write(6), endBlock, endBlock}, []string{"0+5", "5+0 last sync", "0+6", "6+0 last sync"}},
		{"end of block inside a flushed chunk", []step{write(5), flush, endBlock, write(1)}, []string{"0+5", "5+0 last sync", "0+1", "1+0 last"}},
		{"block ends while a chunk is repeated", []step{write(4095), flush, write(2)}, []string{"0+1024", "1024+1024", "2048+1024", "3072+1023", "3584+512", "4096+0 last", "0+1", "1+0 last"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 1, 1)
				c := f.client(Options{PacketSize: 1024})
				w, err := c.Create(t.Context(), "/f", BlockSize(4096))
				require.NoError(t, err)
				for _, s := range tt.steps {
					s(t, w)
				}
				require.NoError(t, w.Close())
				require.Equal(t, tt.want, f.dns[0].log())
			})
		})
	}
}

func TestAppendPackets(t *testing.T) {
	tests := []struct {
		name string
		have int
		want []string
	}{
		{"inside a chunk", 700, []string{"700+100", "700+324", "1024+1024", "2048+552", "2600+0 last"}},
		{"at a chunk's end", 1024, []string{"1024+100", "1024+1024", "2048+876", "2924+0 last"}},
		{"full block", 4096, []string{"0+100", "0+1024", "1024+876", "1900+0 last"}},
		{"empty file", 0, []string{"0+100", "0+1024", "1024+876", "1900+0 last"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 1, 3)
				c := f.client(Options{PacketSize: 1024})
				data := pattern(tt.have + 1900)
				require.NoError(t, c.WriteFile(t.Context(), "/f", data[:tt.have], BlockSize(4096)))
				f.dns[0].log()
				w, err := c.Append(t.Context(), "/f")
				require.NoError(t, err)
				require.EqualValues(t, tt.have, w.Size())
				_, err = w.Write(data[tt.have : tt.have+100])
				require.NoError(t, err)
				require.NoError(t, w.Hflush())
				_, err = w.Write(data[tt.have+100:])
				require.NoError(t, err)
				require.NoError(t, w.Close())
				require.Equal(t, tt.want, f.dns[0].log())
				require.True(t, bytes.Equal(data, f.content("/f")))
			})
		})
	}
}

func TestFsyncOncePerBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		c := f.client(Options{})
		w, err := c.Create(t.Context(), "/f", BlockSize(1024))
		require.NoError(t, err)
		for range 5 {
			_, err = w.Write(make([]byte, 300))
			require.NoError(t, err)
			require.NoError(t, w.Hflush())
		}
		require.Len(t, f.seen("fsync"), 2)
		require.NoError(t, w.Hsync(UpdateLength))
		calls := f.seen("fsync")
		require.EqualValues(t, 1500-1024, calls[2].req.(*hdfspb.FsyncRequestProto).GetLastBlockLength())
		require.EqualValues(t, -1, calls[1].req.(*hdfspb.FsyncRequestProto).GetLastBlockLength())
		require.NoError(t, w.Close())
	})
}

func TestIdleWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		c := f.client(Options{})
		w, err := c.Create(t.Context(), "/f")
		require.NoError(t, err)
		data := pattern(3000)
		for i, pause := range []time.Duration{90 * time.Second, 70 * time.Minute, 0} {
			_, err = w.Write(data[i*1000 : i*1000+1000])
			require.NoError(t, err)
			require.NoError(t, w.Hflush())
			time.Sleep(pause)
		}
		require.NoError(t, w.Close())
		require.True(t, bytes.Equal(data, f.content("/f")))
		beats := 0
		for _, p := range f.dns[2].log() {
			if p == "beat" {
				beats++
			}
		}
		require.InDelta(t, 143, beats, 2, "one each 30 s")
		require.InDelta(t, 143, f.renewals(w.holder), 2, "the lease is renewed each 30 s")
		require.Len(t, f.seen("addBlock"), 1)
	})
}

func TestRandomWrites(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 15 {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, 1, 3)
			c := f.client(Options{PacketSize: 512 * (1 + r.IntN(4)), Window: 1 + r.IntN(5)})
			var want []byte
			w, err := c.Create(t.Context(), "/f", BlockSize(int64(1000+r.IntN(5000))))
			require.NoError(t, err)
			for range 40 {
				data := pattern(r.IntN(3000))
				want = append(want, data...)
				switch r.IntN(3) {
				case 0:
					_, err = w.ReadFrom(iotest.HalfReader(bytes.NewReader(data)))
				default:
					_, err = w.Write(data)
				}
				require.NoError(t, err)
				switch r.IntN(5) {
				case 0:
					require.NoError(t, w.Hflush())
					require.True(t, bytes.Equal(want, f.content("/f")))
				case 1:
					require.NoError(t, w.Hsync())
				case 2:
					require.NoError(t, w.Close())
					w, err = c.Append(t.Context(), "/f")
					require.NoError(t, err)
				}
			}
			require.NoError(t, w.Close())
			require.True(t, bytes.Equal(want, f.content("/f")))
		})
	}
}

func TestCloseWaitsForReports(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		ok    bool
	}{
		{"at once", 0, true},
		{"after 5 s", 5 * time.Second, true},
		{"never", time.Hour, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 1, 3)
				c := f.client(Options{})
				start := time.Now()
				f.setHook(0, func(ctx context.Context, call *rpc.Call, next rpc.Next) (proto.Message, error) {
					if call.Method == "complete" && time.Since(start) < tt.after {
						return &hdfspb.CompleteResponseProto{Result: proto.Bool(false)}, nil
					}
					return next(ctx)
				})
				err := c.WriteFile(t.Context(), "/f", []byte("data"))
				if tt.ok {
					require.NoError(t, err)
					require.Less(t, time.Since(start), tt.after*8/5+time.Millisecond)
					return
				}
				require.ErrorIs(t, err, ErrReplicating)
				require.ErrorContains(t, err, "close /f: the last block was not reported by enough datanodes within 15s: block blk_")
				require.ErrorContains(t, err, "call RecoverLease")
				require.Equal(t, 15*time.Second, time.Since(start))
			})
		})
	}
}
