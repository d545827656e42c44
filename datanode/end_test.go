package datanode

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// TestCloseUnderClients closes a datanode that everybody is busy with: all of them hear of it, and nothing is left.
func TestCloseUnderClients(t *testing.T) {
	for _, kill := range []bool{false, true} {
		t.Run(map[bool]string{false: "close", true: "kill"}[kill], func(t *testing.T) {
			disk := faultfs.NewDisk(faultfs.Options{})
			c := newCluster(t, 2, func(i int, o *Options) {
				if i == 0 {
					o.Volumes = []Volume{{FS: disk, Dir: "/data", Capacity: 1 << 30}}
				}
			})
			d := c.dns[0]
			put(t, c.dns, block(1, 1001, 4<<20), random(4<<20))
			silent := connect(t, d)
			idle := connect(t, d)
			_, err := idle.read(block(1, 1001, 0), 0, 100)
			require.NoError(t, err)
			reader := connect(t, d)
			reader.op(transfer.OpReadBlock, &hdfspb.OpReadBlockProto{Header: clientHeader(block(1, 1001, 0), "c"), Offset: ptr(uint64(0)), Len: ptr(uint64(4 << 20))})
			reader.response()
			w := openWriter(t, c.dns, block(2, 1001, 0), stageCreate, nil)
			w.acked(w.send(0, random(700)))
			half := openWriter(t, c.dns, block(3, 1001, 0), stageCreate, nil)
			_, err = half.Write(transfer.AppendPrefix(nil, transfer.Header{DataLen: 1000}, 8)[:9])
			require.NoError(t, err)

			begin := time.Now()
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					if kill {
						d.Kill()
					} else {
						d.Close()
					}
				})
			}
			wg.Wait()
			require.Less(t, time.Since(begin), 2*time.Second)
			for _, conn := range []*testConn{silent, idle, w.testConn, half.testConn} {
				_, err := conn.r.ReadByte()
				require.Error(t, err)
			}
			_, err = io.Copy(io.Discard, reader.r)
			_ = err // the end or a reset, as the system likes
			require.Zero(t, disk.Counts().OpenFiles)
			_, err = net.Dial("tcp", d.ID().XferAddr())
			require.Error(t, err)
			require.NoError(t, d.Close())
			d.Kill()
		})
	}
}

func TestOptions(t *testing.T) {
	ctx := context.Background()
	c := &cluster{t: t}
	good := func() Options {
		return Options{
			NameNodes: []string{"127.0.0.1:1"}, XferListener: c.listen(""), IPCListener: c.listen(""),
			Volumes: []Volume{{FS: afero.NewMemMapFs(), Dir: "/d"}},
		}
	}
	for _, tc := range []struct {
		name string
		edit func(o *Options)
		err  string
	}{
		{"no listener", func(o *Options) { o.IPCListener.Close(); o.IPCListener = nil }, "datanode: XferListener and IPCListener must be set"},
		{"no volumes", func(o *Options) { o.Volumes = nil }, "datanode: Volumes must name one directory or more"},
		{"no namenodes", func(o *Options) { o.NameNodes = nil }, "datanode: NameNodes must name one address or more"},
		{"negative", func(o *Options) { o.KeepAlive = -1 }, "datanode: KeepAlive must not be negative: have -1ns"},
		{"no directory", func(o *Options) { o.Volumes[0].Dir = "" }, "volume: FS and Dir must both be set"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := good()
			tc.edit(&o)
			_, err := New(ctx, o)
			require.EqualError(t, err, tc.err)
			_, err = o.XferListener.Accept()
			require.ErrorIs(t, err, net.ErrClosed, "listeners are closed when New fails")
		})
	}
	d, err := New(ctx, good())
	require.NoError(t, err)
	require.NoError(t, d.Close())
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = New(canceled, good())
	require.ErrorIs(t, err, context.Canceled)
}

// TestHook fails, drops, alters.
func TestHook(t *testing.T) {
	var mu sync.Mutex
	var hook TransferHook
	c := newCluster(t, 1, func(_ int, o *Options) {
		o.TransferHook = func(ctx context.Context, e *Event) error {
			mu.Lock()
			f := hook
			mu.Unlock()
			if f == nil {
				return nil
			}
			return f(ctx, e)
		}
	})
	set := func(f TransferHook) {
		mu.Lock()
		defer mu.Unlock()
		hook = f
	}
	data := random(3000)
	put(t, c.dns, block(1, 1001, 3000), data)
	set(func(_ context.Context, e *Event) error {
		if e.Kind == EventOp && e.Op == transfer.OpReadBlock {
			return dfs.Errorf(dfs.ClassIO, "not today, %s", e.Client)
		}
		return nil
	})
	_, err := read(t, c.dns[0], block(1, 1001, 0), 0, 1)
	require.EqualError(t, err, "ERROR: not today, test-client")
	set(func(_ context.Context, e *Event) error { return ErrDrop })
	_, err = read(t, c.dns[0], block(1, 1001, 0), 0, 1)
	require.Error(t, err)
	set(func(_ context.Context, e *Event) error {
		if e.Kind == EventPacketOut && len(e.Data) > 600 {
			e.Data[600]++
		}
		return nil
	})
	_, err = read(t, c.dns[0], block(1, 1001, 0), 0, 3000)
	require.ErrorContains(t, err, "checksum error at byte 512")
	set(func(_ context.Context, e *Event) error {
		if e.Kind == EventAck && e.Seqno == 1 {
			e.Status = hdfspb.Status_ERROR
		}
		return nil
	})
	w := openWriter(t, c.dns, block(2, 1001, 0), stageCreate, nil)
	w.acked(w.send(0, data[:512]))
	w.send(512, data[512:1024])
	a := w.ack()
	require.Equal(t, hdfspb.Status_ERROR, a.Status(0))
}

// FuzzConnection sends bytes to the data port: the datanode answers or closes, and goes on serving.
func FuzzConnection(f *testing.F) {
	op := func(op transfer.Op, m *hdfspb.OpReadBlockProto) []byte {
		var b bytes.Buffer
		_ = transfer.WriteOp(&b, op, m)
		return b.Bytes()
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0, 28, 80})
	f.Add([]byte{0, 28, 81, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{0xde, 0xad, 0xbe, 0xef})
	f.Add(op(transfer.OpReadBlock, &hdfspb.OpReadBlockProto{Header: clientHeader(block(1, 1001, 0), "c"), Offset: ptr(uint64(0)), Len: ptr(uint64(10))}))
	f.Add(op(transfer.OpTransferBlock, &hdfspb.OpReadBlockProto{Header: clientHeader(block(1, 1001, 0), "c"), Offset: ptr(uint64(0)), Len: ptr(uint64(10))}))
	var w bytes.Buffer
	_ = transfer.WriteOp(&w, transfer.OpWriteBlock, writeOp(block(2, 1001, 0), stageCreate, nil))
	w.Write(transfer.AppendPrefix(nil, transfer.Header{DataLen: 3}, 4))
	w.WriteString("xxxxabc")
	f.Add(w.Bytes())
	c := newMemory(f, 1, nil)
	put(f, c.dns, block(1, 1001, 10), random(10))
	f.Fuzz(func(t *testing.T, b []byte) {
		conn, err := c.dns[0].opt.Dial(context.Background(), "tcp", c.dns[0].ID().XferAddr())
		require.NoError(t, err)
		defer conn.Close()
		_, _ = conn.Write(b)
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		_, err = io.Copy(io.Discard, bufio.NewReader(conn))
		var e net.Error
		if errors.As(err, &e) && e.Timeout() {
			t.Fatalf("no answer to %x", b)
		}
		got, err := read(t, c.dns[0], block(1, 1001, 0), 0, 10)
		require.NoError(t, err)
		require.Equal(t, random(10), got)
	})
}
