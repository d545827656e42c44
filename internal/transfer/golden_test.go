package transfer

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// golden gives the frames of testdata/hadoop.txt by name.
func golden(t testing.TB) map[string][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/hadoop.txt")
	require.NoError(t, err)
	frames := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		if name, hex, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			frames[name] = unhex(t, hex)
		}
	}
	return frames
}

func TestPacketPrefixesAreHadoops(t *testing.T) {
	frames := golden(t)
	for name, c := range map[string]struct {
		h    Header
		sums int
	}{
		"packet-first":     {Header{DataLen: 64512}, 504},
		"packet-later":     {Header{Offset: 1 << 33, Seqno: 1234567, DataLen: 64512}, 504},
		"packet-sync":      {Header{Offset: 4096, Seqno: 9, Sync: true}, 0},
		"packet-last":      {Header{Offset: 134217728, Seqno: 2081, Last: true}, 0},
		"packet-last-sync": {Header{Offset: 513, Seqno: 2, Last: true, Sync: true}, 0},
		"packet-heartbeat": {Header{Seqno: HeartbeatSeqno}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, frames[name], AppendPrefix(nil, c.h, c.sums))
			p, err := NewPacketReader(bytes.NewReader(append(frames[name], make([]byte, c.sums+c.h.DataLen)...))).Next()
			require.NoError(t, err)
			require.Equal(t, c.h, p.Header)
			require.Len(t, p.Sums, c.sums)
			require.Len(t, p.Data, c.h.DataLen)
		})
	}
}

func TestAcksAreHadoops(t *testing.T) {
	const (
		ok  = hdfspb.Status_SUCCESS
		bad = hdfspb.Status_ERROR
		sum = hdfspb.Status_ERROR_CHECKSUM
		oob = hdfspb.Status_OOB_RESTART
	)
	frames := golden(t)
	for name, want := range map[string]Ack{
		"ack-one":       {Replies: []hdfspb.Status{ok}, Flags: []uint32{0}},
		"ack-three":     {Seqno: 300, Replies: []hdfspb.Status{ok, ok, ok}, Flags: []uint32{0, 0, 0}, DownstreamAckTime: 123456789},
		"ack-congested": {Seqno: 5, Replies: []hdfspb.Status{ok, ok}, Flags: []uint32{Flag(ok, ECNCongested, SlowDisabled), Flag(ok, ECNSupported, SlowSlow)}},
		"ack-error":     {Seqno: 7, Replies: []hdfspb.Status{ok, bad}, Flags: []uint32{0, Flag(bad, ECNSupported, SlowDisabled)}},
		"ack-checksum":  {Seqno: 8, Replies: []hdfspb.Status{ok, ok, sum}, Flags: []uint32{0, 0, 2}},
		"ack-heartbeat": {Seqno: HeartbeatSeqno, Replies: []hdfspb.Status{ok, ok}, Flags: []uint32{0, 0}},
		"ack-restart":   {Seqno: RestartSeqno, Replies: []hdfspb.Status{ok, oob}, Flags: []uint32{0, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, frames[name], AppendAck(nil, &want))
			var got Ack
			require.NoError(t, ReadAck(bufio.NewReader(bytes.NewReader(frames[name])), &got))
			require.Equal(t, want, got)
		})
	}
}

func TestOperationsAreHadoops(t *testing.T) {
	frames := golden(t)
	for name, c := range map[string]struct {
		op    Op
		m     proto.Message
		check func(t *testing.T, m proto.Message)
	}{
		"op-write": {OpWriteBlock, &hdfspb.OpWriteBlockProto{}, func(t *testing.T, m proto.Message) {
			w := m.(*hdfspb.OpWriteBlockProto)
			require.Equal(t, hdfspb.OpWriteBlockProto_PIPELINE_SETUP_CREATE, w.GetStage())
			require.Len(t, w.GetTargets(), 1)
			require.Equal(t, "DFSClient_1", w.GetHeader().GetClientName())
			sum, err := ChecksumOf(w.GetRequestedChecksum())
			require.NoError(t, err)
			require.Equal(t, Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}, sum)
		}},
		"op-read": {OpReadBlock, &hdfspb.OpReadBlockProto{}, func(t *testing.T, m proto.Message) {
			r := m.(*hdfspb.OpReadBlockProto)
			require.Equal(t, []uint64{512, 4096}, []uint64{r.GetOffset(), r.GetLen()})
		}},
		"op-checksum": {OpBlockChecksum, &hdfspb.OpBlockChecksumProto{}, func(t *testing.T, m proto.Message) {
			require.Equal(t, uint64(1073741825), m.(*hdfspb.OpBlockChecksumProto).GetHeader().GetBlock().GetBlockId())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := bufio.NewReader(bytes.NewReader(frames[name]))
			op, err := ReadOp(r)
			require.NoError(t, err)
			require.Equal(t, c.op, op)
			require.NoError(t, ReadMessage(r, c.m))
			c.check(t, c.m)
			require.Zero(t, r.Buffered())

			var w writes
			require.NoError(t, WriteOp(&w, op, c.m))
			require.Equal(t, writes{frames[name]}, w)
		})
	}
}

func TestSumsAreHadoops(t *testing.T) {
	frames := golden(t)
	data := make([]byte, 2000)
	for i := range data {
		data[i] = byte(i*7 + i/256)
	}
	for name, typ := range map[string]dfs.ChecksumType{"CRC32": dfs.ChecksumCRC32, "CRC32C": dfs.ChecksumCRC32C} {
		t.Run(name, func(t *testing.T) {
			sums := Checksum{Type: typ, BytesPerChunk: 512}.Sum(nil, data)
			require.Equal(t, frames["sums-"+name], sums)
			c, err := NewComposer(typ)
			require.NoError(t, err)
			require.NoError(t, c.AddChunks(sums, 512, int64(len(data))))
			require.Equal(t, frames["composite-"+name], Checksum{Type: typ, BytesPerChunk: len(data)}.Sum(nil, data))
			require.Equal(t, frames["composite-"+name], c.AppendSum(nil))
		})
	}
}

// writes records each Write.
type writes [][]byte

func (w *writes) Write(b []byte) (int, error) {
	*w = append(*w, bytes.Clone(b))
	return len(b), nil
}
