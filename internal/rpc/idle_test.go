package rpc

import (
	"bufio"
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func newReader(nc net.Conn) *bufio.Reader { return bufio.NewReaderSize(nc, readBuffer) }

// TestIdleConnections bounds what 1,000 connections cost that have made their calls and wait: memory of both ends of
// the sockets included.
func TestIdleConnections(t *testing.T) {
	leakCheck(t)
	const n = 1000
	s, c := start(t, ServerOptions{}, toy())
	before := used()
	calls := append(hrpc(9, 0), parts(request(-3), contextOf("alice", "", protocolName))...)
	calls = append(calls, parts(request(1), methodOf(protocolName, "getFileInfo", 1), &fileInfoReq{Src: proto.String("/f")})...)
	calls = append(calls, parts(request(2), methodOf(protocolName, "renewLease", 1), blockRequest())...)
	for range n {
		nc, err := net.Dial("tcp", c.addr)
		require.NoError(t, err)
		defer nc.Close()
		_, err = nc.Write(calls)
		require.NoError(t, err)
		in, pool := newReader(nc), buffers{}
		for range 2 {
			_, err = readFrame(in, &pool, DefaultMaxFrame)
			require.NoError(t, err)
		}
	}
	s.mu.Lock()
	require.Len(t, s.conns, n)
	s.mu.Unlock()
	grown := used() - before
	t.Logf("%d connections use %d KiB", n, grown>>10)
	require.Less(t, grown, int64(32<<20))
}

// used is the memory in use by heap and stacks after a garbage collection.
func used() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
