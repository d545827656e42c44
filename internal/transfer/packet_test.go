package transfer

import (
	"bytes"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	require.NoError(t, err)
	return b
}

func TestHeartbeatBytes(t *testing.T) {
	want := unhex(t, "00000004 0019 09 ffffffffffffffff 11 ffffffffffffffff 1800 2500000000")
	require.Equal(t, want, AppendHeartbeat(nil))

	p, err := NewPacketReader(bytes.NewReader(want)).Next()
	require.NoError(t, err)
	require.True(t, p.Heartbeat())
	require.Equal(t, Header{Offset: -1, Seqno: -1}, p.Header)
	require.Empty(t, p.Sums)
	require.Empty(t, p.Data)
	require.Equal(t, want, p.Raw())
}

func TestPacketBufferAndReaderAgree(t *testing.T) {
	c := Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}
	b := NewPacketBuffer(c.Len(1<<16), 1<<16)
	rng := rand.New(rand.NewPCG(1, 2))
	var wire bytes.Buffer
	var sent []*Packet
	for i, n := range []int{1 << 16, 1, 511, 512, 513, 0, 1 << 16, 64512, 0} {
		data := b.Data()[:n]
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		sums := c.Sum(b.Sums()[:0], data)
		h := Header{Offset: int64(i) << 33, Seqno: int64(i), Last: i == 8, Sync: i%2 == 1}
		want := &Packet{Header: h, Sums: bytes.Clone(sums), Data: bytes.Clone(data)}
		want.DataLen = n
		want.raw = bytes.Clone(b.Finish(h, n, len(sums)))
		wire.Write(want.raw)
		sent = append(sent, want)
	}
	r := NewPacketReader(&wire)
	for _, want := range sent {
		p, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, want.Header, p.Header)
		require.True(t, bytes.Equal(want.Raw(), p.Raw()))
		require.True(t, bytes.Equal(want.Sums, p.Sums))
		require.True(t, bytes.Equal(want.Data, p.Data))
		require.NoError(t, c.Verify(p.Data, p.Sums))
	}
	_, err := r.Next()
	require.Equal(t, io.EOF, err)
}

func TestHeaderAgainstProtobuf(t *testing.T) {
	for _, h := range []Header{
		{}, {Offset: 1 << 40, Seqno: 7, DataLen: 64512}, {Seqno: -1, Offset: -1}, {Last: true, Seqno: 1 << 62}, {Sync: true, DataLen: 1}, {Sync: true, Last: true},
	} {
		m := &hdfspb.PacketHeaderProto{
			OffsetInBlock: proto.Int64(h.Offset), Seqno: proto.Int64(h.Seqno), LastPacketInBlock: proto.Bool(h.Last), DataLen: proto.Int32(int32(h.DataLen)),
		}
		if h.Sync {
			m.SyncBlock = proto.Bool(true)
		}
		b, err := proto.Marshal(m)
		require.NoError(t, err)
		require.Equal(t, b, AppendPrefix(nil, h, 0)[lengthsLen:])
		var got Header
		require.NoError(t, got.parse(b))
		require.Equal(t, h, got)
		got = Header{}
		require.NoError(t, got.parseFields(b))
		require.Equal(t, h, got)
	}
}
