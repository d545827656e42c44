package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

func TestCancelledCallLeavesTheConnectionUsable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlock()
		p := newPair(t, ServerOptions{}, toy(b.method()), ClientOptions{})
		ctx, cancel := context.WithTimeout(t.Context(), second)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, p.Call(ctx, "block", blockRequest(), nil))
		path, err := p.stat(t.Context(), "/f")
		require.NoError(t, err)
		require.Equal(t, "/f", path)
		close(b.release) // the late answer comes now
		synctest.Wait()
		_, err = p.stat(t.Context(), "/f")
		require.NoError(t, err)
		require.Equal(t, 1, p.connections())
	})
}

func TestCancelledBeforeTheDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, ServerOptions{}, toy(), ClientOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.stat(ctx, "/f")
		require.Equal(t, context.Canceled, err)
		require.Zero(t, p.connections())
	})
}

func TestAnswersOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlock()
		p := newPair(t, ServerOptions{}, toy(b.method()), ClientOptions{})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := p.Call(t.Context(), "block", blockRequest(), nil); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		require.Len(t, b.entered, 10)
		_, err := p.stat(t.Context(), "/overtakes")
		require.NoError(t, err)
		close(b.release)
		wg.Wait()
	})
}

func TestRedial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlock()
		p := newPair(t, ServerOptions{}, toy(b.method()), ClientOptions{})
		_, err := p.stat(t.Context(), "/f")
		require.NoError(t, err)

		failed := make(chan error, 1)
		go func() { failed <- p.Call(t.Context(), "block", blockRequest(), nil) }()
		<-b.entered
		p.cut()
		requireConnError(t, <-failed, "block", true, nil)
		require.Equal(t, context.Canceled, <-b.ended)

		_, err = p.stat(t.Context(), "/f")
		require.NoError(t, err)
		require.Equal(t, 2, p.connections())
	})
}

func TestDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := true
		near, far := net.Pipe()
		p := newPair(t, ServerOptions{}, toy(), ClientOptions{
			Dial: func(context.Context, string, string) (net.Conn, error) {
				if refused {
					return nil, errTest
				}
				return near, nil
			},
		})
		_, err := p.stat(t.Context(), "/f")
		requireConnError(t, err, "dial", false, errTest)
		require.EqualError(t, err, "rpc: dial at nn:8020: call not sent: broken for the test")
		refused = false
		p.ServeConn(far)
		_, err = p.stat(t.Context(), "/f")
		require.NoError(t, err)
	})
}

func TestConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, ServerOptions{}, toy(), ClientOptions{
			ConnectTimeout: 3 * second,
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), second)
		defer cancel()
		_, err := p.stat(ctx, "/f") // gives up; the dial goes on
		require.Equal(t, context.DeadlineExceeded, err)
		_, err = p.stat(t.Context(), "/f")
		requireConnError(t, err, "dial", false, errConnectTimeout)
		require.Equal(t, 3*second, time.Since(start))

		closed := make(chan error, 1)
		go func() {
			_, err := p.stat(t.Context(), "/f")
			closed <- err
		}()
		synctest.Wait()
		require.NoError(t, p.Client.Close())
		requireConnError(t, <-closed, "dial", false, ErrClosed)
		require.Equal(t, 3*second, time.Since(start))
	})
}

func TestCloseEndsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlock()
		p := newPair(t, ServerOptions{}, toy(b.method()), ClientOptions{})
		failed := make(chan error, 10)
		for range cap(failed) {
			go func() { failed <- p.Call(t.Context(), "block", blockRequest(), nil) }()
		}
		synctest.Wait()
		var wg sync.WaitGroup
		wg.Go(func() { p.Client.Close() })
		wg.Go(func() { p.Client.Close() })
		wg.Wait()
		for range cap(failed) {
			requireConnError(t, <-failed, "block", true, ErrClosed)
		}
		_, err := p.stat(t.Context(), "/f")
		requireConnError(t, err, "dial", false, ErrClosed)
	})
}

// script is a server by hand: it reads n frames after the connection header and answers with f's bytes.
func script(t *testing.T, answers ...func(h requestHeader) []byte) (*pair, *[]requestHeader) {
	var seen []requestHeader
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	p := newPair(t, ServerOptions{}, toy(), ClientOptions{
		PingAfter: 10 * second,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			wg.Go(func() {
				defer far.Close()
				var head [11]byte
				io.ReadFull(far, head[:7])
				for _, answer := range answers {
					if _, err := io.ReadFull(far, head[:4]); err != nil {
						return
					}
					frame := make([]byte, int(head[2])<<8|int(head[3]))
					io.ReadFull(far, frame)
					msg, _, _ := cutDelimited(frame)
					var h requestHeader
					h.parse(msg)
					seen = append(seen, h)
					far.Write(answer(h))
				}
				far.Read(head[:])
			})
			return near, nil
		},
	})
	return p, &seen
}

func noAnswer(requestHeader) []byte { return nil }

func answerWith(edit func(*hdfspb.RpcResponseHeaderProto), body ...byte) func(requestHeader) []byte {
	return func(h requestHeader) []byte {
		a := &hdfspb.RpcResponseHeaderProto{
			CallId: proto.Uint32(uint32(h.callID)), Status: hdfspb.RpcResponseHeaderProto_SUCCESS.Enum(),
			ServerIpcVersionNum: proto.Uint32(9), ClientId: h.clientID, RetryCount: &h.retry,
		}
		if edit != nil {
			edit(a)
		}
		return parts(a, body)
	}
}

func TestPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, seen := script(t, noAnswer, answerWith(nil, 0), noAnswer, noAnswer, answerWith(func(a *hdfspb.RpcResponseHeaderProto) { a.CallId = proto.Uint32(1) }, 0))
		_, err := p.stat(t.Context(), "/f")
		require.NoError(t, err)
		time.Sleep(time.Hour) // idle: no pings
		require.Len(t, *seen, 2)

		start := time.Now()
		_, err = p.stat(t.Context(), "/f") // answered after its second ping
		require.NoError(t, err)
		require.InDelta(t, 20, time.Since(start).Seconds(), 10)
		var ids []int32
		for _, h := range *seen {
			ids = append(ids, h.callID)
			require.Equal(t, kindProto, h.kind)
			require.Equal(t, opFinal, h.op)
		}
		require.Equal(t, []int32{idContext, 0, 1, idPing, idPing}, ids)
	})
}

func TestBadAnswers(t *testing.T) {
	tests := []struct {
		name   string
		answer func(requestHeader) []byte
		text   string
	}{
		{"length below zero", func(requestHeader) []byte { return []byte{0xFF, 0xFF, 0xFF, 0xFF} }, "rpc: frame length -1 is not in 0..134217728"},
		{"length too high", func(requestHeader) []byte { return []byte{0x7F, 0, 0, 0} }, "rpc: frame length 2130706432 is not in 0..134217728"},
		{"empty frame", func(requestHeader) []byte { return []byte{0, 0, 0, 0} }, "undecodable answer: " + errTruncated.Error()},
		{"no status", func(requestHeader) []byte { return parts([]byte{2, 0x08, 0}) }, "undecodable answer: the header lacks a call id or a status"},
		{"no body", answerWith(nil), "undecodable answer: " + errTruncated.Error()},
		{"bytes after the body", answerWith(nil, 0, 1, 2), "undecodable answer: 2 bytes too many"},
		{"another client's", answerWith(func(a *hdfspb.RpcResponseHeaderProto) { a.ClientId = []byte("x") }, 0), "answer to another client's call"},
		{"torn", func(requestHeader) []byte { return []byte{0, 0} }, "io: read/write on closed pipe"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := script(t, noAnswer, test.answer)
				ctx, cancel := context.WithTimeout(t.Context(), second)
				defer cancel()
				_, err := p.stat(ctx, "/f")
				if test.name == "torn" {
					require.Equal(t, context.DeadlineExceeded, err)
					return
				}
				requireConnError(t, err, "getFileInfo", true, nil)
				require.Equal(t, test.text, errors.Unwrap(err).Error())
			})
		})
	}
}

func TestFatalAnswerEndsAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := script(t, noAnswer, noAnswer, func(requestHeader) []byte {
			return answerWith(func(a *hdfspb.RpcResponseHeaderProto) {
				a.CallId = proto.Uint32(0xFFFFFFFF)
				a.Status = hdfspb.RpcResponseHeaderProto_FATAL.Enum()
				a.ExceptionClassName, a.ErrorMsg = proto.String(string(dfs.ClassRPCServer)), proto.String("go away")
				a.ClientId = nil
			})(requestHeader{})
		})
		failed := make(chan error, 2)
		for range cap(failed) {
			go func() {
				_, err := p.stat(t.Context(), "/f")
				failed <- err
			}()
		}
		for range cap(failed) {
			requireConnError(t, <-failed, "getFileInfo", true, dfs.Errorf(dfs.ClassRPCServer, "go away").Class)
		}
	})
}

func TestAnswersToNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := script(t, noAnswer, func(h requestHeader) []byte {
			other, older := h, h
			other.callID, older.retry = 77, 1
			return append(append(answerWith(nil, 0)(other), answerWith(nil, 0)(older)...), answerWith(nil, 0)(h)...)
		}, answerWith(nil, 0))
		for range 2 {
			_, err := p.stat(t.Context(), "/f")
			require.NoError(t, err)
		}
	})
}

func TestCallAs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlock()
		p := newPair(t, ServerOptions{}, toy(b.method()), ClientOptions{ClientID: [16]byte([]byte(testClientID))})
		id := p.NextID()
		require.Equal(t, int32(0), id)
		ctx, cancel := context.WithTimeout(t.Context(), second)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, p.CallAs(ctx, CallID{ID: id}, "block", blockRequest(), nil))
		retried := make(chan error, 1)
		go func() { retried <- p.CallAs(t.Context(), CallID{ID: id, Retry: 1}, "block", blockRequest(), nil) }()
		first, second := <-b.entered, <-b.entered
		require.Equal(t, []any{id, int32(0), id, int32(1)}, []any{first.CallID, first.RetryCount, second.CallID, second.RetryCount})
		require.Equal(t, testClientID, string(second.ClientID))
		err := p.CallAs(t.Context(), CallID{ID: id, Retry: 2}, "block", blockRequest(), nil)
		requireConnError(t, err, "block", false, nil)
		require.EqualError(t, errors.Unwrap(err), "call id 0 is in use")
		close(b.release)
		require.NoError(t, <-retried)
	})
}

func TestSentTellsWhetherTheRequestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe() // nobody reads
		c := NewClient("nn:8020", ClientOptions{Dial: func(context.Context, string, string) (net.Conn, error) { return near, nil }})
		failed := make(chan error, 2)
		for range cap(failed) {
			go func() { failed <- c.Call(t.Context(), "block", blockRequest(), nil) }()
		}
		synctest.Wait()
		far.Close()
		for range cap(failed) {
			requireConnError(t, <-failed, "block", false, nil)
		}
		require.NoError(t, c.Close())
	})
}

// TestCancelDuringAWrite: a peer that takes nothing holds up neither a call whose context ends nor, once it reads again,
// the calls after it.
func TestCancelDuringAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		p := newPair(t, ServerOptions{}, toy(), ClientOptions{})
		p.wrap = func(nc net.Conn) net.Conn { return &slowReader{nc, gate} }
		ctx, cancel := context.WithTimeout(t.Context(), second)
		defer cancel()
		start := time.Now()
		_, err := p.stat(ctx, "/f")
		require.Equal(t, context.DeadlineExceeded, err)
		require.Equal(t, second, time.Since(start))
		close(gate)
		path, err := p.stat(t.Context(), "/g")
		require.NoError(t, err)
		require.Equal(t, "/g", path)
		require.Equal(t, 1, p.connections())
	})
}

// slowReader reads nothing until the gate opens.
type slowReader struct {
	net.Conn
	gate chan struct{}
}

func (r *slowReader) Read(b []byte) (int, error) {
	<-r.gate
	return r.Conn.Read(b)
}

func TestRequestThatCannotBeEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, ServerOptions{}, toy(), ClientOptions{})
		err := p.Call(t.Context(), "getFileInfo", &hdfspb.GetFileInfoRequestProto{}, nil)
		require.ErrorContains(t, err, "rpc: request of getFileInfo: ")
		require.Zero(t, p.connections())
	})
}
