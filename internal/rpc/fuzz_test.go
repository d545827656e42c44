package rpc

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// FuzzServer feeds one connection. Whatever comes, the server ends with it, and all that it sent are whole answers, no
// more than there were frames.
func FuzzServer(f *testing.F) {
	for _, c := range goldenCases() {
		f.Add(c.send)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		s, err := NewServer(ServerOptions{MaxFrame: 1 << 20}, toy())
		require.NoError(t, err)
		nc := &tape{in: bytes.NewReader(sent), closed: make(chan struct{})}
		s.ServeConn(nc)
		<-nc.closed
		require.NoError(t, s.Close())
		if len(sent) < 7 || !bytes.HasPrefix(sent, hrpc(9, 0)[:5]) {
			return // what comes back is of another format
		}
		in, answers, pool := newReader(&tape{in: bytes.NewReader(nc.out)}), 0, buffers{}
		for {
			frame, err := readFrame(in, &pool, DefaultMaxFrame)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			_, _, err = parseAnswer(*frame)
			require.NoError(t, err)
			answers++
		}
		require.LessOrEqual(t, answers, 1+len(sent)/4)
	})
}

// tape is a connection whose peer has sent all it will.
type tape struct {
	net.Conn
	in     *bytes.Reader
	mu     sync.Mutex
	out    []byte
	once   sync.Once
	closed chan struct{}
}

func (c *tape) Read(b []byte) (int, error)       { return c.in.Read(b) }
func (c *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (c *tape) SetWriteDeadline(time.Time) error { return nil }

func (c *tape) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = append(c.out, b...)
	return len(b), nil
}

func (c *tape) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// FuzzAnswer compares the client's decoder of answers with the generated one.
func FuzzAnswer(f *testing.F) {
	for _, g := range readGolden(f) {
		if len(g.answer) > 4 {
			f.Add(g.answer[4:])
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, body, err := parseAnswer(frame)
		if err != nil {
			return
		}
		head, rest, err := cutDelimited(frame)
		require.NoError(t, err)
		var want hdfspb.RpcResponseHeaderProto
		require.NoError(t, proto.Unmarshal(head, &want))
		require.Equal(t, want.GetCallId(), uint32(h.callID))
		if s := want.GetStatus(); s >= success && s <= fatal { // Go keeps enum values that Java does not know
			require.Equal(t, s, h.status)
		}
		require.Equal(t, want.GetExceptionClassName(), h.class)
		require.Equal(t, want.GetErrorMsg(), h.message)
		require.Equal(t, want.GetRetryCount(), h.retry)
		require.Equal(t, string(want.GetClientId()), string(h.clientID))
		require.LessOrEqual(t, len(body), len(rest))
	})
}

// FuzzRequestHeader compares the server's decoder of headers with the generated one, both ways.
func FuzzRequestHeader(f *testing.F) {
	for _, c := range goldenCases() {
		for i := 7; i+4 < len(c.send); {
			n := int(c.send[i+2])<<8 | int(c.send[i+3])
			if msg, _, err := cutDelimited(c.send[i+4:]); err == nil {
				f.Add(msg)
			}
			i += 4 + n
		}
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		var h requestHeader
		var want hdfspb.RpcRequestHeaderProto
		err, wantErr := h.parse(msg), proto.Unmarshal(msg, &want)
		if wantErr != nil {
			return // the generated one also looks into the trace
		}
		require.NoError(t, err)
		require.Equal(t, want.GetCallId(), h.callID)
		require.Equal(t, want.GetRetryCount(), h.retry)
		require.Equal(t, string(want.GetClientId()), string(h.clientID))
		require.Equal(t, want.GetCallerContext().GetContext(), string(h.callerContext))
		if k := want.GetRpcKind(); want.RpcKind != nil && k >= 0 && k <= 2 { // Go keeps enum values that Java does not know
			require.Equal(t, int32(k), h.kind)
		}
		if op := want.GetRpcOp(); want.RpcOp != nil && op >= 0 && op <= 2 {
			require.Equal(t, int32(op), h.op)
		}
	})
}

// FuzzMethodHeader does the same for the header of the method.
func FuzzMethodHeader(f *testing.F) {
	for _, version := range []uint64{0, 1, 1 << 63} {
		b, err := proto.Marshal(methodOf(protocolName, "getFileInfo", version))
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		var h methodHeader
		var want hdfspb.RequestHeaderProto
		err, wantErr := h.parse(msg), proto.Unmarshal(msg, &want)
		require.Equal(t, wantErr == nil, err == nil, "%v, %v", wantErr, err)
		if err == nil {
			require.Equal(t, want.GetMethodName(), string(h.method))
			require.Equal(t, want.GetDeclaringClassProtocolName(), string(h.protocol))
			require.Equal(t, want.GetClientProtocolVersion(), h.version)
		}
	})
}

// TestAnswerHeader compares what the server encodes with the generated encoding.
func TestAnswerHeader(t *testing.T) {
	tests := []struct {
		name string
		h    answerHeader
	}{
		{"success", answerHeader{callID: 5, clientID: []byte(testClientID), retry: 3}},
		{"negative id", answerHeader{callID: -33, retry: -1}},
		{"error", answerHeader{callID: 0, status: failure, class: "c", message: "m", detail: codeApplication}},
		{"long message", answerHeader{callID: 1, status: failure, class: "c", message: strings.Repeat("m", 200), detail: codeMismatch}},
		{"longer message", answerHeader{callID: 1, status: fatal, class: "c", message: strings.Repeat("m", 20000), detail: codeUnauthorized}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := &hdfspb.RpcResponseHeaderProto{
				CallId: proto.Uint32(uint32(test.h.callID)), Status: &test.h.status, ServerIpcVersionNum: proto.Uint32(9),
				ClientId: test.h.clientID, RetryCount: &test.h.retry,
			}
			if want.ClientId == nil {
				want.ClientId = []byte{}
			}
			if test.h.status != success {
				want.ExceptionClassName, want.ErrorMsg, want.ErrorDetail = &test.h.class, &test.h.message, &test.h.detail
			}
			got, err := appendAnswer([]byte("xyz"), &test.h, nil)
			require.NoError(t, err)
			body := []byte{}
			if test.h.status == success {
				body = []byte{0}
			}
			require.Equal(t, append([]byte("xyz"), parts(want, body)...), got)
		})
	}
}
