package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

type (
	fileInfoReq  = hdfspb.GetFileInfoRequestProto
	fileInfoResp = hdfspb.GetFileInfoResponseProto
)

func TestNewServerRefusesDuplicates(t *testing.T) {
	m := Refuse("m", errTest)
	_, err := NewServer(ServerOptions{}, Protocol{Name: "P", Version: 1, Methods: []Method{m, m}})
	require.EqualError(t, err, "rpc: method m of protocol P is given twice")
	_, err = NewServer(ServerOptions{}, Protocol{Name: "P"}, Protocol{Name: "P"})
	require.EqualError(t, err, "rpc: protocol P is given twice")
	s, err := NewServer(ServerOptions{}, Protocol{Name: "P", Version: 1, Methods: []Method{m}}, Protocol{Name: "Q"})
	require.NoError(t, err)
	require.Len(t, s.Protocols(), 2)
}

func TestCallDetails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got Call
		whoami := Handle("whoami", func(_ context.Context, c *Call, req *fileInfoReq) (*fileInfoResp, error) {
			got = *c
			require.Same(t, req, c.Request)
			c.Yield()
			return nil, nil
		}).Quick()
		s, err := NewServer(ServerOptions{
			Impersonate: func(realUser, user, remote string) bool {
				return realUser == "knox" && user == "alice" && remote == "pipe"
			},
		}, toy(whoami))
		require.NoError(t, err)
		near, far := net.Pipe()
		s.ServeConn(far)
		go near.Write(bytes.Join([][]byte{
			hrpc(9, 0), parts(request(-3), contextOf("alice", "knox", protocolName)),
			parts(request(5, func(h *hdfspb.RpcRequestHeaderProto) {
				h.CallerContext = &hdfspb.RPCCallerContextProto{Context: proto.String("job 1"), Signature: []byte{1}}
				h.TraceInfo = &hdfspb.RPCTraceInfoProto{TraceId: proto.Int64(1)}
				h.StateId = proto.Int64(3)
				h.RetryCount = proto.Int32(2)
			}), methodOf(protocolName, "whoami", 1), &fileInfoReq{Src: proto.String("/f")}),
		}, nil))
		_, err = io.ReadFull(near, make([]byte, 32))
		require.NoError(t, err)
		near.Close()
		require.NoError(t, s.Close())
		require.Equal(t, "/f", got.Request.(*fileInfoReq).GetSrc())
		got.Request, got.conn, got.method, got.size, got.reading = nil, nil, nil, 0, false
		require.Equal(t, Call{
			Protocol: protocolName, Method: "whoami", Version: 1, User: "alice", RealUser: "knox", Remote: "pipe",
			ClientID: []byte(testClientID), CallID: 5, RetryCount: 2, CallerContext: "job 1",
		}, got)
	})
}

func TestErrorsOnTheWire(t *testing.T) {
	panics := Handle("panic", func(context.Context, *Call, *fileInfoReq) (*fileInfoResp, error) { panic("oh no") })
	incomplete := Handle("incomplete", func(context.Context, *Call, *fileInfoReq) (*fileInfoResp, error) {
		return &fileInfoResp{Fs: &hdfspb.HdfsFileStatusProto{}}, nil
	})
	failing := Handle("failing", func(context.Context, *Call, *fileInfoReq) (*fileInfoResp, error) { return nil, errTest })
	wrapped := Handle("wrapped", func(context.Context, *Call, *fileInfoReq) (*fileInfoResp, error) {
		return nil, errors.Join(errTest, dfs.Errorf(dfs.ClassSafeMode, "Name node is in safe mode."))
	})
	goexit := Handle("goexit", func(context.Context, *Call, *fileInfoReq) (*fileInfoResp, error) {
		runtime.Goexit()
		return nil, nil
	})
	drop := Refuse("drop", ErrDrop)

	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := newPair(t, ServerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))},
			toy(panics, panics2(panics), incomplete, failing, wrapped, goexit, drop), ClientOptions{})
		call := func(method string) error {
			return p.Call(t.Context(), method, &fileInfoReq{Src: proto.String("/f")}, &fileInfoResp{})
		}
		require.Equal(t, dfs.Errorf(dfs.ClassRuntime, "oh no"), call("panic"))
		require.Equal(t, dfs.Errorf(dfs.ClassRuntime, "oh no"), call("quick panic"))
		require.Contains(t, log.String(), "method panicked")
		require.Contains(t, log.String(), "server_test.go")
		require.Equal(t, dfs.Errorf(dfs.ClassIO, "broken for the test"), call("failing"))
		require.Equal(t, dfs.Errorf(dfs.ClassSafeMode, "Name node is in safe mode."), call("wrapped"))
		err := call("incomplete")
		require.ErrorIs(t, err, dfs.ClassIO)
		require.ErrorContains(t, err, "required field")
		require.Equal(t, 1, p.connections())
		requireConnError(t, call("goexit"), "goexit", true, io.EOF)
		requireConnError(t, call("drop"), "drop", true, io.EOF)
		require.NoError(t, call("getFileInfo"))
		require.Equal(t, 3, p.connections())
	})
}

func panics2(m Method) Method {
	m.Name = "quick panic"
	return m.Quick()
}

func TestContextsEnd(t *testing.T) {
	tests := []struct {
		name string
		end  func(p *pair)
	}{
		{"connection breaks", func(p *pair) { p.cut() }},
		{"server closes", func(p *pair) { p.Server.Close() }},
		{"client closes", func(p *pair) { p.Client.Close() }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBlock()
				p := newPair(t, ServerOptions{}, toy(b.method()), ClientOptions{})
				failed := make(chan error, 3)
				for range cap(failed) {
					go func() { failed <- p.Call(t.Context(), "block", blockRequest(), nil) }()
				}
				synctest.Wait()
				require.Len(t, b.entered, cap(failed))
				test.end(p)
				for range cap(failed) {
					require.Equal(t, context.Canceled, <-b.ended)
					requireConnError(t, <-failed, "block", true, nil)
				}
			})
		})
	}
}

// TestAnswerLost is the write of an answer that fails: in each way, every call ends, those that were not hit are
// answered on the next connection, and the server is rid of the connection.
func TestAnswerLost(t *testing.T) {
	tests := []struct {
		name string
		take int // bytes of the answer that still reach the client
	}{
		{"dropped", 0}, {"half sent", 10}, {"sent, then an error", 1 << 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBlock()
				p := newPair(t, ServerOptions{}, toy(b.method()), ClientOptions{})
				p.wrap = func(nc net.Conn) net.Conn { return &failingWriter{Conn: nc, take: test.take} }
				results := make(chan error, 10)
				for range cap(results) {
					go func() { results <- p.Call(t.Context(), "block", blockRequest(), nil) }()
				}
				synctest.Wait()
				require.Len(t, b.entered, cap(results))
				b.release <- struct{}{}
				synctest.Wait()
				require.Len(t, results, cap(results))
				answered := 0
				for range cap(results) {
					if err := <-results; err == nil {
						answered++
					} else {
						requireConnError(t, err, "block", true, nil)
					}
				}
				require.Equal(t, test.take>>20, answered)
				p.wrap = nil
				_, err := p.stat(t.Context(), "/f")
				require.NoError(t, err)
				require.Equal(t, 2, p.connections())
				require.Len(t, p.Server.conns, 1)
			})
		})
	}
}

type failingWriter struct {
	net.Conn
	take int
}

func (w *failingWriter) Write(b []byte) (int, error) {
	n, _ := w.Conn.Write(b[:min(w.take, len(b))])
	return n, errTest
}

// TestStalledReader: a peer that takes no answers stops being read at the bound, and harms nobody else.
func TestStalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, calls = 20 << 10, 5000
		served := 0
		var mu sync.Mutex
		big := Handle("big", func(_ context.Context, c *Call, _ *fileInfoReq) (*fileInfoResp, error) {
			mu.Lock()
			defer mu.Unlock()
			served++
			return &fileInfoResp{Fs: fileStatus(strings.Repeat("x", size), c.User)}, nil
		})
		p := newPair(t, ServerOptions{}, toy(big), ClientOptions{})
		near, far := net.Pipe()
		p.ServeConn(far)
		go func() {
			near.Write(append(hrpc(9, 0), parts(request(-3), contextOf("bob", "", protocolName))...))
			for i := range int32(calls) {
				near.Write(parts(request(i), methodOf(protocolName, "big", 1), &fileInfoReq{Src: proto.String("/f")}))
			}
		}()
		synctest.Wait()
		mu.Lock()
		require.Greater(t, served, maxBacklog/size)
		require.LessOrEqual(t, served, maxBacklog/size+maxCalls) // those that ran already when the bound was reached
		mu.Unlock()

		_, err := p.stat(t.Context(), "/f")
		require.NoError(t, err)

		seen := make(map[int32]bool) // now it reads, and gets all
		var pool buffers
		in := newReader(near)
		for range calls {
			frame, err := readFrame(in, &pool, DefaultMaxFrame)
			require.NoError(t, err)
			h, _, err := parseAnswer(*frame)
			require.NoError(t, err)
			require.False(t, seen[h.callID])
			seen[h.callID] = true
			pool.put(frame)
		}
		near.Close()
	})
}

// TestManyCallsOfOneConnection: above the bound of calls the reading waits, and goes on when calls end.
func TestManyCallsOfOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlock()
		p := newPair(t, ServerOptions{}, toy(b.method()), ClientOptions{})
		var wg sync.WaitGroup
		for range maxCalls + 100 {
			wg.Go(func() {
				if err := p.Call(t.Context(), "block", blockRequest(), nil); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		require.Len(t, b.entered, maxCalls)
		close(b.release)
		wg.Wait()
		require.Len(t, b.entered, maxCalls+100)
	})
}

// TestFatalAnswerAfterTheOthers: answers that wait for a slow peer leave before the fatal one closes the connection.
func TestFatalAnswerAfterTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer(ServerOptions{}, toy())
		require.NoError(t, err)
		near, far := net.Pipe()
		s.ServeConn(far)
		good := func(id int32) []byte {
			return parts(request(id), methodOf(protocolName, "renewLease", 1), blockRequest())
		}
		near.Write(bytes.Join([][]byte{hrpc(9, 0), parts(request(-3), contextOf("a", "", protocolName)), good(1), good(2), good(3)}, nil))
		synctest.Wait()
		near.Write(parts(request(-9)))
		time.Sleep(time.Minute)
		all, err := io.ReadAll(near)
		require.NoError(t, err)
		require.Equal(t, 4, strings.Count(describe(all), "\n"), describe(all))
		require.Contains(t, describe(all), "FATAL")
		require.NoError(t, s.Close())
	})
}

// TestQuickYield: a quick method, or a hook before it, holds up its connection until it yields.
func TestQuickYield(t *testing.T) {
	for _, name := range []string{"method", "hook"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBlock()
				yield := make(chan struct{})
				wait := func(c *Call, in string) {
					if c.Method == "quick" && in == name {
						<-yield
						c.Yield()
						c.Yield()
						<-b.release
					}
				}
				quick := Handle("quick", func(_ context.Context, c *Call, _ *fileInfoReq) (*fileInfoResp, error) {
					wait(c, "method")
					return nil, nil
				}).Quick()
				hook := func(ctx context.Context, c *Call, next Next) (proto.Message, error) {
					wait(c, "hook")
					return next(ctx)
				}
				p := newPair(t, ServerOptions{Hook: hook}, toy(quick), ClientOptions{})
				done := make(chan error, 2)
				go func() { done <- p.Call(t.Context(), "quick", &fileInfoReq{Src: proto.String("/f")}, nil) }()
				synctest.Wait()
				go func() {
					_, err := p.stat(t.Context(), "/f")
					done <- err
				}()
				synctest.Wait()
				require.Empty(t, done)
				close(yield)
				require.NoError(t, <-done)
				close(b.release)
				require.NoError(t, <-done)
			})
		})
	}
}

// TestCloseUnderBlockedPeers closes the server under peers that have sent nothing, half a frame, and a call.
func TestCloseUnderBlockedPeers(t *testing.T) {
	leakCheck(t)
	b := newBlock()
	s, err := NewServer(ServerOptions{}, toy(b.method()))
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.Serve(l)
	hello := append(hrpc(9, 0), parts(request(-3), contextOf("a", "", protocolName))...)
	for _, send := range [][]byte{nil, hello[:3], hello, append(hello, 0, 0, 1, 0, 7)} {
		nc, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer nc.Close()
		_, err = nc.Write(send)
		require.NoError(t, err)
	}
	c := NewClient(l.Addr().String(), ClientOptions{Protocol: protocolName})
	failed := make(chan error, 1)
	go func() { failed <- c.Call(t.Context(), "block", blockRequest(), nil) }()
	<-b.entered
	var wg sync.WaitGroup
	wg.Go(func() { require.NoError(t, s.Close()) })
	wg.Go(func() { require.NoError(t, s.Close()) })
	wg.Wait()
	var ce *ConnError
	require.ErrorAs(t, <-failed, &ce)
	require.True(t, ce.Sent)
	require.Equal(t, context.Canceled, <-b.ended)
	require.NoError(t, c.Close())

	l, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.Serve(l) // closes it
	_, err = net.Dial("tcp", l.Addr().String())
	require.Error(t, err)
}

func TestAcceptGoesOnAfterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer(ServerOptions{}, toy())
		require.NoError(t, err)
		l := &brokenListener{fails: 10, closed: make(chan struct{})}
		s.Serve(l)
		start := time.Now()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Zero(t, l.fails)
		require.Less(t, 4*time.Second, time.Since(start))
		require.NoError(t, s.Close())
	})
}

// brokenListener fails a few times, as one without file handles does, and then has no connections.
type brokenListener struct {
	fails  int
	closed chan struct{}
}

func (l *brokenListener) Accept() (net.Conn, error) {
	if l.fails > 0 {
		l.fails--
		return nil, errTest
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *brokenListener) Close() error {
	close(l.closed)
	return nil
}

func (l *brokenListener) Addr() net.Addr { return &net.TCPAddr{} }
