package datanode

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

var crc32c = transfer.Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}

// testConn is one connection to a datanode, from a client that knows the wire only.
type testConn struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func connect(t testing.TB, d *DataNode) *testConn {
	t.Helper()
	c, err := d.opt.Dial(context.Background(), "tcp", d.ID().XferAddr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return &testConn{t, c, bufio.NewReader(c)}
}

func (c *testConn) op(op transfer.Op, m proto.Message) {
	require.NoError(c.t, transfer.WriteOp(c, op, m))
}

func (c *testConn) response() *hdfspb.BlockOpResponseProto {
	c.t.Helper()
	var r hdfspb.BlockOpResponseProto
	require.NoError(c.t, transfer.ReadMessage(c.r, &r))
	return &r
}

func baseHeader(b dfs.Block) *hdfspb.BaseHeaderProto {
	return &hdfspb.BaseHeaderProto{Block: extendedProto(testPool, b), Token: emptyToken()}
}

func clientHeader(b dfs.Block, client string) *hdfspb.ClientOperationHeaderProto {
	return &hdfspb.ClientOperationHeaderProto{BaseHeader: baseHeader(b), ClientName: &client}
}

// writeOp is a WRITE_BLOCK as a client sends it.
func writeOp(b dfs.Block, st stage, next []*hdfspb.DatanodeInfoProto) *hdfspb.OpWriteBlockProto {
	return &hdfspb.OpWriteBlockProto{
		Header: clientHeader(b, "test-client"), Targets: next, Stage: &st, PipelineSize: ptr(uint32(len(next) + 1)),
		MinBytesRcvd: ptr(uint64(0)), MaxBytesRcvd: ptr(uint64(0)), LatestGenerationStamp: ptr(uint64(0)), RequestedChecksum: crc32c.Proto(),
	}
}

// testWriter writes a block packet by packet.
type testWriter struct {
	*testConn
	seqno int64
	nodes int
	sum   transfer.Checksum
}

// openWriter sets a pipeline up and expects that to succeed.
func openWriter(t testing.TB, dns []*DataNode, b dfs.Block, st stage, edit func(*hdfspb.OpWriteBlockProto)) *testWriter {
	t.Helper()
	w, r := tryWriter(t, dns, b, st, edit)
	require.Equal(t, hdfspb.Status_SUCCESS, r.GetStatus(), r.String())
	return w
}

func tryWriter(t testing.TB, dns []*DataNode, b dfs.Block, st stage, edit func(*hdfspb.OpWriteBlockProto)) (*testWriter, *hdfspb.BlockOpResponseProto) {
	t.Helper()
	op := writeOp(b, st, targets(dns[1:]...))
	if edit != nil {
		edit(op)
	}
	sum, _ := transfer.ChecksumOf(op.RequestedChecksum) // some tests ask for what is refused
	w := &testWriter{testConn: connect(t, dns[0]), nodes: len(dns), sum: sum}
	w.op(transfer.OpWriteBlock, op)
	return w, w.response()
}

// packet sends one packet without waiting.
func (w *testWriter) packet(h transfer.Header, data, sums []byte) {
	w.t.Helper()
	h.DataLen = len(data)
	b := transfer.AppendPrefix(nil, h, len(sums))
	b = append(append(b, sums...), data...)
	_, err := w.Write(b)
	require.NoError(w.t, err)
}

// send sends data in one packet, and gives its number.
func (w *testWriter) send(off int64, data []byte, flags ...string) int64 {
	w.t.Helper()
	h := transfer.Header{Offset: off, Seqno: w.seqno}
	for _, f := range flags {
		switch f {
		case "last":
			h.Last = true
		case "sync":
			h.Sync = true
		}
	}
	w.packet(h, data, w.sum.Sum(nil, data))
	w.seqno++
	return h.Seqno
}

func (w *testWriter) ack() transfer.Ack {
	w.t.Helper()
	var a transfer.Ack
	require.NoError(w.t, transfer.ReadAck(w.r, &a))
	return a
}

// acked expects the ack of a packet, success from all.
func (w *testWriter) acked(seqno int64) {
	w.t.Helper()
	a := w.ack()
	require.Equal(w.t, seqno, a.Seqno)
	require.Equal(w.t, w.nodes, a.Len())
	bad, s := a.Bad()
	require.Equal(w.t, -1, bad, "node %d says %s", bad, s)
}

// all sends data in packets of n bytes and the last packet, with all acks expected.
func (w *testWriter) all(off int64, data []byte, n int) {
	w.t.Helper()
	var want []int64
	for len(data) > 0 {
		k := min(n, len(data))
		want = append(want, w.send(off, data[:k]))
		off += int64(k)
		data = data[k:]
	}
	want = append(want, w.send(off, nil, "last"))
	for _, s := range want {
		w.acked(s)
	}
}

// read reads a range over a connection of its own and checks everything that can be checked.
func read(t testing.TB, d *DataNode, b dfs.Block, off, n int64) ([]byte, error) {
	t.Helper()
	c := connect(t, d)
	defer c.Close()
	return c.read(b, off, n)
}

func readOp(b dfs.Block, off, n int64) *hdfspb.OpReadBlockProto {
	return &hdfspb.OpReadBlockProto{Header: clientHeader(b, "test-client"), Offset: ptr(uint64(off)), Len: ptr(uint64(n))}
}

func (c *testConn) read(b dfs.Block, off, n int64) ([]byte, error) {
	c.t.Helper()
	c.op(transfer.OpReadBlock, readOp(b, off, n))
	var r hdfspb.BlockOpResponseProto
	if err := transfer.ReadMessage(c.r, &r); err != nil {
		return nil, err
	}
	if r.GetStatus() != hdfspb.Status_SUCCESS {
		return nil, fmt.Errorf("%s: %s", r.GetStatus(), r.GetMessage())
	}
	sum, err := transfer.ChecksumOf(r.GetReadOpChecksumInfo().GetChecksum())
	if err != nil {
		return nil, err
	}
	at := int64(r.GetReadOpChecksumInfo().GetChunkOffset())
	if at > off || at <= off-int64(sum.BytesPerChunk) {
		return nil, fmt.Errorf("chunk offset %d for %d", at, off)
	}
	start := at
	var all []byte
	packets := transfer.NewPacketReader(c.r)
	for seqno := int64(0); ; seqno++ {
		p, err := packets.Next()
		if err != nil {
			return nil, err
		}
		if p.Seqno != seqno || p.Offset != at {
			return nil, fmt.Errorf("packet %d at %d, expected %d at %d", p.Seqno, p.Offset, seqno, at)
		}
		if p.Last {
			if len(p.Data) != 0 {
				return nil, fmt.Errorf("the last packet has data")
			}
			break
		}
		if len(p.Data) == 0 {
			return nil, fmt.Errorf("an empty packet")
		}
		if err := sum.Verify(p.Data, p.Sums); err != nil {
			return nil, err
		}
		all = append(all, p.Data...)
		at += int64(len(p.Data))
	}
	if int64(len(all)) < off-start+n {
		return nil, fmt.Errorf("%d bytes from %d, expected %d from %d", len(all), start, n, off)
	}
	all = all[off-start : off-start+n]
	return all, transfer.WriteMessage(c, &hdfspb.ClientReadStatusProto{Status: hdfspb.Status_CHECKSUM_OK.Enum()})
}

func mustRead(t testing.TB, d *DataNode, b dfs.Block, want []byte) {
	t.Helper()
	got, err := read(t, d, b, 0, int64(len(want)))
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
}

func random(n int) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}
