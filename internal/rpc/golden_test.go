package rpc

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// The golden file holds what a real namenode answers to each of the connections below.
const goldenFile = "testdata/golden.txt"

var (
	oracle       = flag.String("oracle", "", "host:port of a real namenode (Hadoop 3.4, HDFS empty): ask it, and rewrite "+goldenFile)
	oracleSimple = flag.String("oracle-simple", "", "host:port of testdata/SimpleServer.java, needed beside -oracle")
)

// goldenCase is what one connection sends.
type goldenCase struct {
	name string
	send []byte
}

// ownAnswers are the cases in which we differ from Hadoop: what we answer, and why.
var ownAnswers = map[string]golden{
	// Hadoop answers nothing, so that the client waits for ever.
	"method header undecodable": {answer: badMethodHeader(truncatedText)},
	"method header missing":     {answer: badMethodHeader(truncatedText)},
	"method header incomplete":  {answer: badMethodHeader("Message missing required fields: declaringClassProtocolName, clientProtocolVersion")},
}

func badMethodHeader(message string) []byte {
	return parts(&hdfspb.RpcResponseHeaderProto{
		CallId: proto.Uint32(7), Status: hdfspb.RpcResponseHeaderProto_ERROR.Enum(), ServerIpcVersionNum: proto.Uint32(9),
		ExceptionClassName: proto.String("org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException"), ErrorMsg: &message,
		ErrorDetail: hdfspb.RpcResponseHeaderProto_ERROR_APPLICATION.Enum(), ClientId: []byte(testClientID), RetryCount: proto.Int32(0),
	})
}

const truncatedText = "While parsing a protocol message, the input ended unexpectedly in the middle of a field.  This could mean " +
	"either that the input has been truncated or that an embedded message misreported its own length."

func hrpc(version, auth byte) []byte { return []byte{'h', 'r', 'p', 'c', version, 0, auth} }

// parts makes a frame of messages (each led by its length) and raw bytes.
func parts(ps ...any) []byte {
	b := beginFrame(nil)
	for _, p := range ps {
		switch p := p.(type) {
		case proto.Message:
			var err error
			if b, err = appendMessage(b, p); err != nil {
				panic(err)
			}
		case []byte:
			b = append(b, p...)
		}
	}
	return endFrame(b, 0)
}

const testClientID = "0123456789abcdef"

// request makes a request header and lets edit change it.
func request(callID int32, edit ...func(*hdfspb.RpcRequestHeaderProto)) *hdfspb.RpcRequestHeaderProto {
	h := &hdfspb.RpcRequestHeaderProto{
		RpcKind: hdfspb.RpcKindProto_RPC_PROTOCOL_BUFFER.Enum(), RpcOp: hdfspb.RpcRequestHeaderProto_RPC_FINAL_PACKET.Enum(),
		CallId: &callID, ClientId: []byte(testClientID), RetryCount: proto.Int32(0),
	}
	for _, f := range edit {
		f(h)
	}
	return h
}

func methodOf(protocol, method string, version uint64) *hdfspb.RequestHeaderProto {
	return &hdfspb.RequestHeaderProto{MethodName: &method, DeclaringClassProtocolName: &protocol, ClientProtocolVersion: &version}
}

func contextOf(user, realUser, protocol string) *hdfspb.IpcConnectionContextProto {
	u := &hdfspb.UserInformationProto{EffectiveUser: &user}
	if realUser != "" {
		u.RealUser = &realUser
	}
	return &hdfspb.IpcConnectionContextProto{UserInfo: u, Protocol: &protocol}
}

func saslOf(state hdfspb.RpcSaslProto_SaslState, auth ...string) *hdfspb.RpcSaslProto {
	m := &hdfspb.RpcSaslProto{State: &state}
	if len(auth) == 2 {
		m.Auths = []*hdfspb.RpcSaslProto_SaslAuth{{Method: &auth[0], Mechanism: &auth[1]}}
	}
	return m
}

var noClient = func(h *hdfspb.RpcRequestHeaderProto) { h.ClientId = []byte{} }

func goldenCases() []goldenCase {
	var (
		hello   = hrpc(9, 0)
		context = parts(request(-3, func(h *hdfspb.RpcRequestHeaderProto) { h.RetryCount = proto.Int32(-1) }), contextOf("alice", "", protocolName))
		getInfo = methodOf(protocolName, "getFileInfo", 1)
		absent  = &hdfspb.GetFileInfoRequestProto{Src: proto.String("/absent")}
		good    = parts(request(8), getInfo, absent)
		sasl    = parts(request(-33, noClient, func(h *hdfspb.RpcRequestHeaderProto) { h.RetryCount = proto.Int32(-1) }), saslOf(hdfspb.RpcSaslProto_NEGOTIATE))
		junk    = []byte{3, 0xFF, 0xFF, 0xFF}
	)
	join := func(bs ...[]byte) []byte { return bytes.Join(bs, nil) }
	call := func(bs ...[]byte) []byte { return join(hello, context, join(bs...)) }
	return []goldenCase{
		{"a call", call(parts(request(7), getInfo, absent))},
		{"a void answer", call(parts(request(0), methodOf(protocolName, "renewLease", 1), &hdfspb.RenewLeaseRequestProto{ClientName: proto.String("c")}))},
		{"an exception", call(parts(request(1), methodOf(protocolName, "getBlockLocations", 1),
			&hdfspb.GetBlockLocationsRequestProto{Src: proto.String("/absent"), Offset: proto.Uint64(0), Length: proto.Uint64(1)}))},
		{"highest call id, retry 3", call(parts(request(0x7FFFFFFF, func(h *hdfspb.RpcRequestHeaderProto) { h.RetryCount = proto.Int32(3) }), getInfo, absent))},
		{"no retry count", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) { h.RetryCount = nil }), getInfo, absent))},
		{"empty client id", call(parts(request(7, noClient), getInfo, absent))},
		{"unknown method", call(parts(request(7), methodOf(protocolName, "nope", 1), absent), good)},
		{"unknown protocol", call(parts(request(7), methodOf("org.example.Nope", "getFileInfo", 1), absent), good)},
		{"protocol version 2", call(parts(request(7), methodOf(protocolName, "getFileInfo", 2), absent), good)},
		{"protocol version 2, unknown method", call(parts(request(7), methodOf(protocolName, "nope", 2), absent), good)},
		{"context of an unknown protocol", join(hello, parts(request(-3), contextOf("alice", "", "org.example.Nope")), good)},
		{"context without a user", join(hello, parts(request(-3), &hdfspb.IpcConnectionContextProto{Protocol: proto.String(protocolName)}), good)},
		{"context of a proxy user", join(hello, parts(request(-3), contextOf("alice", "root", protocolName)), good)},
		{"context undecodable", join(hello, parts(request(-3), junk), good)},
		{"context missing", join(hello, good)},
		{"context twice", call(context, good)},
		{"ping", call(parts(request(-4)), good)},
		{"ping before the context", join(hello, parts(request(-4)), context, good)},
		{"call id -1", call(parts(request(-1), getInfo, absent), good)},
		{"call id -2", call(parts(request(-2), getInfo, absent), good)},
		{"call id -5", call(parts(request(-5), getInfo, absent), good)},
		{"call id -5 before the context", join(hello, parts(request(-5), getInfo, absent), good)},
		{"RPC version 8", join(hrpc(8, 0), context, good)},
		{"RPC version 7", join(hrpc(7, 0), context, good)},
		{"RPC version 4", join(hrpc(4, 0), context, good)},
		{"RPC version 3", join(hrpc(3, 0), context, good)},
		{"RPC version 2", join(hrpc(2, 0), context, good)},
		{"RPC version 1", join(hrpc(1, 0), context, good)},
		{"RPC version 0", join(hrpc(0, 0), context, good)},
		{"RPC version -1", join(hrpc(0xFF, 0), context, good)},
		{"RPC version 10", join(hrpc(10, 0), context, good)},
		{"other magic", join([]byte("abcd\x09\x00\x00"), context, good)},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")},
		{"SASL negotiation", join(hrpc(9, 0xDF), sasl, context, good)},
		{"SASL initiation", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE)), context, good)},
		{"SASL initiation of SIMPLE", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "SIMPLE", "")), context, good)},
		{"SASL initiation of TOKEN", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "TOKEN", "DIGEST-MD5")), context, good)},
		{"SASL initiation twice", join(hrpc(9, 0xDF), bytes.Repeat(parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "TOKEN", "DIGEST-MD5")), 2), context, good)},
		{"SASL initiation, then negotiation", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "TOKEN", "DIGEST-MD5")), sasl, context, good)},
		{"SASL initiation of KERBEROS", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "KERBEROS", "GSSAPI")), context, good)},
		{"SASL initiation of PAPER", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_INITIATE, "PAPER", "FOLD")), context, good)},
		{"SASL without a state", join(hrpc(9, 0xDF), parts(request(-33, noClient), junk), context, good)},
		{"SASL negotiation twice", join(hrpc(9, 0xDF), sasl, sasl, context, good)},
		{"SASL response", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_RESPONSE)), context, good)},
		{"SASL challenge", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_CHALLENGE)), context, good)},
		{"SASL success", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_SUCCESS)), context, good)},
		{"SASL wrap", join(hrpc(9, 0xDF), parts(request(-33, noClient), saslOf(hdfspb.RpcSaslProto_WRAP)), context, good)},
		{"SASL asked for, a call comes", join(hrpc(9, 0xDF), good)},
		{"SASL asked for, a ping comes", join(hrpc(9, 0xDF), parts(request(-4)), sasl, context, good)},
		{"SASL asked for, none comes", join(hrpc(9, 0xDF), context, good)},
		{"SASL unasked", join(hello, sasl, context, good)},
		{"SASL after the context", call(sasl, good)},
		{"auth byte 0x51", join(hrpc(9, 0x51), context, good)},
		{"auth byte 0x50", join(hrpc(9, 0x50), context, good)},
		{"auth byte 1", join(hrpc(9, 1), context, good)},
		{"length 0", call([]byte{0, 0, 0, 0}, good)},
		{"length -1", call([]byte{0xFF, 0xFF, 0xFF, 0xFF}, good)},
		{"length -2", call([]byte{0xFF, 0xFF, 0xFF, 0xFE}, good)},
		{"length 128 MiB and 1", call([]byte{0x08, 0, 0, 1}, good)},
		{"header undecodable", call(parts(junk), good)},
		{"header longer than its frame", call(parts([]byte{0x7F, 1, 2, 3}), good)},
		{"no call id", call(parts([]byte{22, 0x08, 2, 0x10, 0, 0x22, 16}, []byte(testClientID)), good)},
		{"no client id", call(parts([]byte{6, 0x08, 2, 0x10, 0, 0x18, 14}), good)},
		{"no rpc kind", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) { h.RpcKind = nil }), getInfo, absent), good)},
		{"no rpc op", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) { h.RpcOp = nil }), getInfo, absent), good)},
		{"continuation", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) {
			h.RpcOp = hdfspb.RpcRequestHeaderProto_RPC_CONTINUATION_PACKET.Enum()
		}), getInfo, absent), good)},
		{"close connection", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) {
			h.RpcOp = hdfspb.RpcRequestHeaderProto_RPC_CLOSE_CONNECTION.Enum()
		}), getInfo, absent), good)},
		{"rpc kind writable", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) { h.RpcKind = hdfspb.RpcKindProto_RPC_WRITABLE.Enum() }), getInfo, absent), good)},
		{"rpc kind builtin", call(parts(request(7, func(h *hdfspb.RpcRequestHeaderProto) { h.RpcKind = hdfspb.RpcKindProto_RPC_BUILTIN.Enum() }), getInfo, absent), good)},
		{"rpc kind 9", call(parts([]byte{26, 0x08, 9, 0x10, 0, 0x18, 14, 0x22, 16}, []byte(testClientID), []byte{0x28, 0}, getInfo, absent), good)},
		{"method header undecodable", call(parts(request(7), junk), good)},
		{"method header incomplete", call(parts(request(7), []byte{3, 0x0A, 1, 'x'}, absent), good)},
		{"method header missing", call(parts(request(7)), good)},
		{"body undecodable", call(parts(request(7), getInfo, junk), good)},
		{"body missing", call(parts(request(7), getInfo), good)},
		{"body incomplete", call(parts(request(7), getInfo, []byte{0}), good)},
		{"body torn", call(parts(request(7), getInfo, []byte{9, 0x0A, 7, '/'}), good)},
		{"bytes after the body", call(parts(request(7), getInfo, absent, []byte{1, 2, 3}), good)},
		{"unknown fields", call(parts(request(7), getInfo, []byte{12, 0x0A, 7}, []byte("/absent"), []byte{0xF8, 0x07, 1}), good)},
	}
}

type golden struct {
	sent   []byte
	answer []byte
	closed bool
}

func readGolden(t testing.TB) map[string]golden {
	text, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	all := make(map[string]golden)
	for block := range strings.SplitSeq(string(text), "\n== ") {
		name, rest, _ := strings.Cut(block, "\n")
		if strings.HasPrefix(block, "#") {
			continue
		}
		var g golden
		for line := range strings.SplitSeq(rest, "\n") {
			switch {
			case strings.HasPrefix(line, "> "):
				g.sent = appendHex(t, g.sent, line[2:])
			case strings.HasPrefix(line, "< "):
				g.answer = appendHex(t, g.answer, line[2:])
			case line == "closed":
				g.closed = true
			}
		}
		all[name] = g
	}
	return all
}

func appendHex(t testing.TB, b []byte, digits string) []byte {
	more, err := hex.DecodeString(digits)
	require.NoError(t, err)
	return append(b, more...)
}

// TestGolden sends what each case says and compares the answers with Hadoop's, byte for byte, but for the stack traces
// that Hadoop appends to messages.
func TestGolden(t *testing.T) {
	if *oracle != "" {
		rewriteGolden(t)
	}
	want := readGolden(t)
	require.Len(t, want, len(goldenCases()))
	for _, c := range goldenCases() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := converse(t, c.send)
				w, ok := want[c.name]
				require.True(t, ok)
				require.Equal(t, w.sent, c.send, "the request has changed: ask Hadoop again")
				if own, ok := ownAnswers[c.name]; ok {
					w = own
					w.answer = append(w.answer, want["a call"].answer...)
					w.answer[len(w.answer)-len(want["a call"].answer)+6] = 8 // the good call that follows
				}
				require.Equal(t, describe(w.answer), describe(normalise(got.answer)))
				require.Equal(t, w.closed, got.closed, "closed")
				require.Equal(t, w.answer, normalise(got.answer))
			})
		})
	}
}

// converse sends the bytes to a fresh server over a pipe.
func converse(t *testing.T, send []byte) golden {
	s, err := NewServer(ServerOptions{}, toy())
	require.NoError(t, err)
	near, far := net.Pipe()
	s.ServeConn(far)
	var mu sync.Mutex
	var g golden
	var wg sync.WaitGroup
	wg.Go(func() {
		b := make([]byte, 4096)
		for {
			n, err := near.Read(b)
			mu.Lock()
			g.answer = append(g.answer, b[:n]...)
			g.closed = g.closed || err == io.EOF
			mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	wg.Go(func() { near.Write(send) })
	synctest.Wait()
	mu.Lock()
	got := golden{answer: bytes.Clone(g.answer), closed: g.closed}
	mu.Unlock()
	near.Close()
	require.NoError(t, s.Close())
	wg.Wait()
	return got
}

// describe renders a stream of answers for people.
func describe(stream []byte) string {
	var b strings.Builder
	for len(stream) > 0 {
		n := 0
		if len(stream) >= 4 {
			n = int(stream[0])<<24 | int(stream[1])<<16 | int(stream[2])<<8 | int(stream[3])
		}
		if n == 0 || n > len(stream)-4 {
			fmt.Fprintf(&b, "raw %q\n", stream)
			break
		}
		head, rest, err := cutDelimited(stream[4 : 4+n])
		var h hdfspb.RpcResponseHeaderProto
		if err == nil {
			err = proto.Unmarshal(head, &h)
		}
		if err != nil {
			fmt.Fprintf(&b, "raw %q\n", stream)
			break
		}
		fmt.Fprintf(&b, "id %d retry %d version %d client %q %v", int32(h.GetCallId()), h.GetRetryCount(), h.GetServerIpcVersionNum(), h.GetClientId(), h.GetStatus())
		if h.GetStatus() == hdfspb.RpcResponseHeaderProto_SUCCESS {
			fmt.Fprintf(&b, " body %x\n", rest)
		} else {
			fmt.Fprintf(&b, " %v %v: %s%x\n", h.GetErrorDetail(), h.GetExceptionClassName(), h.GetErrorMsg(), rest)
		}
		stream = stream[4+n:]
	}
	return b.String()
}

func rewriteGolden(t *testing.T) {
	var out strings.Builder
	out.WriteString("# What a namenode of Hadoop 3.4 (for SASL: testdata/SimpleServer.java) answers to the connections of golden_test.go,\n" +
		"# each sent in one write (>): the answer for people (#), its bytes (<), and whether the server closed the connection. Stack traces\n" +
		"# are cut off, and answers to calls are sorted by call id, because calls run concurrently.\n" +
		"# Rewritten by: go test ./internal/rpc -run TestGolden -oracle host:port -oracle-simple host:port\n")
	for _, c := range goldenCases() {
		addr := *oracle
		if strings.HasPrefix(c.name, "SASL") {
			addr = *oracleSimple
		}
		nc, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = nc.Write(c.send)
		require.NoError(t, err)
		require.NoError(t, nc.SetReadDeadline(time.Now().Add(1500*time.Millisecond)))
		answer, err := io.ReadAll(nc)
		nc.Close()
		answer = normalise(answer)
		fmt.Fprintf(&out, "\n== %s\n", c.name)
		writeHex(&out, '>', c.send)
		for line := range strings.Lines(describe(answer)) {
			fmt.Fprintf(&out, "# %s", line)
		}
		writeHex(&out, '<', answer)
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			out.WriteString("open\n")
		} else {
			out.WriteString("closed\n")
		}
	}
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(goldenFile, []byte(out.String()), 0o644))
}

func writeHex(w io.Writer, mark byte, b []byte) {
	for line := range slices.Chunk(b, 60) {
		fmt.Fprintf(w, "%c %x\n", mark, line)
	}
}

// normalise shortens the error messages in a stream of answers to their first lines, and sorts the answers to calls.
func normalise(stream []byte) []byte {
	type frame struct {
		id    int32
		bytes []byte
	}
	var frames []frame
	for len(stream) >= 4 {
		n := int(stream[0])<<24 | int(stream[1])<<16 | int(stream[2])<<8 | int(stream[3])
		if n > len(stream)-4 {
			break
		}
		head, rest, err := cutDelimited(stream[4 : 4+n])
		var h hdfspb.RpcResponseHeaderProto
		if err != nil || proto.Unmarshal(head, &h) != nil {
			break
		}
		if h.ErrorMsg != nil {
			line, _, _ := strings.Cut(*h.ErrorMsg, "\n")
			h.ErrorMsg = &line
		}
		frames = append(frames, frame{int32(h.GetCallId()), parts(&h, rest)})
		stream = stream[4+n:]
	}
	slices.SortStableFunc(frames, func(a, b frame) int {
		if a.id < 0 || b.id < 0 {
			return 0
		}
		return cmp.Compare(a.id, b.id)
	})
	var out []byte
	for _, f := range frames {
		out = append(out, f.bytes...)
	}
	return append(out, stream...)
}
