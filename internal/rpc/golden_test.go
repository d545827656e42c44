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
