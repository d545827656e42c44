package rpc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// BenchmarkServer measures a stat over loopback TCP: raw connections, each with one call at a time. "canned" is the
// floor, a server that reads a frame and writes the same bytes each time; "quick" and "handed" are this package's
// server with a method that runs in the reading goroutine and one before which the reading is passed on.
func BenchmarkServer(b *testing.B) {
	servers := []struct {
		name, method string
		run          func(b *testing.B, l net.Listener)
	}{
		{"canned", "getFileInfo", serveCanned},
		{"quick", "getFileInfo", serveToy},
		{"handed", "getFileInfoHanded", serveToy},
	}
	for _, s := range servers {
		for _, conns := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/conns=%d", s.name, conns), func(b *testing.B) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(b, err)
				s.run(b, l)
				load(b, l.Addr().String(), conns, s.method)
			})
		}
	}
}

// BenchmarkClient measures concurrent stats by one Client, which share its connection.
func BenchmarkClient(b *testing.B) {
	for _, method := range []string{"getFileInfo", "getFileInfoHanded"} {
		for _, callers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", method, callers), func(b *testing.B) {
				_, c := start(b, ServerOptions{}, toy(handed()))
				b.ReportAllocs()
				share(b, callers, func() error {
					var info hdfspb.GetFileInfoResponseProto
					return c.Call(b.Context(), method, &hdfspb.GetFileInfoRequestProto{Src: proto.String("/a/b/file")}, &info)
				})
			})
		}
	}
}

func handed() Method {
	return Handle("getFileInfoHanded", func(_ context.Context, c *Call, req *hdfspb.GetFileInfoRequestProto) (*hdfspb.GetFileInfoResponseProto, error) {
		return &hdfspb.GetFileInfoResponseProto{Fs: fileStatus(req.GetSrc(), c.User)}, nil
	})
}

func serveToy(b *testing.B, l net.Listener) {
	s, err := NewServer(ServerOptions{}, toy(handed()))
	require.NoError(b, err)
	s.Serve(l)
	b.Cleanup(func() { s.Close() })
}

func serveCanned(b *testing.B, l net.Listener) {
	b.Cleanup(func() { l.Close() })
	h := answerHeader{callID: 1, clientID: []byte(testClientID)}
	answer, err := appendAnswer(nil, &h, &hdfspb.GetFileInfoResponseProto{Fs: fileStatus("/a/b/file", "alice")})
	require.NoError(b, err)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				in := bufio.NewReaderSize(nc, readBuffer)
				in.Discard(7)
				var pool buffers
				for first := true; ; first = false {
					frame, err := readFrame(in, &pool, DefaultMaxFrame)
					if err != nil {
						return
					}
					pool.put(frame)
					if first { // the connection context
						continue
					}
					if _, err := nc.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
}

// load sends b.N calls over conns connections, each with one call at a time.
func load(b *testing.B, addr string, conns int, method string) {
	hello := bytes.Join([][]byte{hrpc(9, 0), parts(request(-3), contextOf("alice", "", protocolName))}, nil)
	call := parts(request(1), methodOf(protocolName, method, 1), &hdfspb.GetFileInfoRequestProto{Src: proto.String("/a/b/file")})
	free := make(chan *bufio.ReadWriter, conns)
	for range conns {
		nc, err := net.Dial("tcp", addr)
		require.NoError(b, err)
		b.Cleanup(func() { nc.Close() })
		_, err = nc.Write(hello)
		require.NoError(b, err)
		free <- bufio.NewReadWriter(bufio.NewReader(nc), bufio.NewWriter(nc))
	}
	b.ReportAllocs()
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range conns {
		rw := <-free
		n := b.N / conns
		if i < b.N%conns {
			n++
		}
		wg.Go(func() {
			var head [4]byte
			for range n {
				rw.Write(call)
				rw.Flush()
				if _, err := io.ReadFull(rw, head[:]); err != nil {
					b.Error(err)
					return
				}
				rw.Discard(int(head[2])<<8 | int(head[3]))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

// share has callers carry out f b.N times in all.
func share(b *testing.B, callers int, f func() error) {
	var wg sync.WaitGroup
	b.ResetTimer()
	for i := range callers {
		n := b.N / callers
		if i < b.N%callers {
			n++
		}
		wg.Go(func() {
			for range n {
				if err := f(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}
