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

// Any order of fields, fields set twice (the last counts) and fields nobody knows yet are well-formed.
func TestHeaderForms(t *testing.T) {
	want := Header{Offset: 3, Seqno: 2, DataLen: 1, Last: true, Sync: true}
	for name, in := range map[string]string{
		"reversed":     "2801 2501000000 1801 110200000000000000 090300000000000000",
		"twice":        "090900000000000000 090300000000000000 110200000000000000 1801 2501000000 2800 2801",
		"unknown ones": "090300000000000000 110200000000000000 1801 2501000000 2801 3205aabbccddee 38ff01 3d01020304",
		"wrong types":  "090300000000000000 110200000000000000 1801 2501000000 2801 0863 2a0101",
		"long bools":   "090300000000000000 110200000000000000 18ff01 2501000000 288100",
	} {
		t.Run(name, func(t *testing.T) {
			var got Header
			require.NoError(t, got.parse(unhex(t, in)))
			require.Equal(t, want, got)
		})
	}
}

func TestNextErrors(t *testing.T) {
	const header = "09 0000000000000000 11 0500000000000000 1800 25 "
	for name, c := range map[string]struct {
		in   string
		err  string
		want error
	}{
		"nothing":          {"", "EOF", io.EOF},
		"cut lengths":      {"000000", "transfer: lengths of a packet: read 3 of 6 bytes: unexpected EOF", io.ErrUnexpectedEOF},
		"cut header":       {"00000004 0019 09", "transfer: packet: read 7 of 31 bytes: unexpected EOF", io.ErrUnexpectedEOF},
		"length too small": {"00000003 0019", "transfer: packet: expected a length of 4 or more, read 3: malformed data transfer", ErrMalformed},
		"length too large": {"01000000 0019", "transfer: packet: expected at most 16777216 bytes, read lengths of 16777216 and 25: malformed data transfer", ErrMalformed},
		"negative length":  {"ffffffff 0019", "transfer: packet: expected at most 16777216 bytes, read lengths of 4294967295 and 25: malformed data transfer", ErrMalformed},
		"header too large": {"00000004 0401", "transfer: packet header: expected at most 1024 bytes, read a length of 1025: malformed data transfer", ErrMalformed},
		"negative data":    {"00000004 0019" + header + "ffffffff", "transfer: packet header: expected a data length of 0 or more, read -1: malformed data transfer", ErrMalformed},
		"data beyond end":  {"00000005 0019" + header + "02000000 00", "transfer: packet 5: expected at most 1 bytes of data, read a data length of 2: malformed data transfer", ErrMalformed},
		"no header":        {"00000004 0000", "transfer: packet header: expected fields 1 to 4, read the set 00000: malformed data transfer", ErrMalformed},
		"no data length":   {"00000004 0014 09 0000000000000000 11 0500000000000000 1800", "transfer: packet header: expected fields 1 to 4, read the set 00111: malformed data transfer", ErrMalformed},
		"field zero":       {"00000004 0002 00 00", "transfer: packet header: expected a field, read 0000: malformed data transfer", ErrMalformed},
		"broken header":    {"00000004 0001 09", "transfer: packet header: field 1: unexpected EOF: malformed data transfer", ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewPacketReader(bytes.NewReader(unhex(t, c.in))).Next()
			require.EqualError(t, err, c.err)
			require.ErrorIs(t, err, c.want)
		})
	}
}

// A reader takes no byte beyond its packet: after the last one the connection carries something else.
func TestNextReadsNoFurther(t *testing.T) {
	src := bytes.NewReader(append(AppendHeartbeat(nil), 1, 2, 3))
	_, err := NewPacketReader(src).Next()
	require.NoError(t, err)
	require.Equal(t, 3, src.Len())
}

func TestFinishHead(t *testing.T) {
	b := NewPacketBuffer(8, 1024)
	copy(b.Sums(), "sums")
	copy(b.Data(), "data")
	h := Header{Offset: 512, Seqno: 3}
	whole := bytes.Clone(b.Finish(h, 4, 4))
	copy(b.Sums(), "sums")
	require.Equal(t, whole, append(bytes.Clone(b.FinishHead(h, 4, 4)), "data"...))
	require.True(t, bytes.HasSuffix(whole, []byte("sumsdata")))
}

func FuzzNext(f *testing.F) {
	for name, frame := range golden(f) {
		if strings.HasPrefix(name, "packet") {
			f.Add(append(frame, 1, 2, 3, 4))
		}
	}
	f.Add(append(AppendPrefix(nil, Header{DataLen: 3}, 4), 1, 2, 3, 4, 5, 6, 7))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := NewPacketReader(bytes.NewReader(b)).Next()
		if err != nil {
			return
		}
		raw := p.Raw()
		require.True(t, bytes.Equal(b[:len(raw)], raw))
		require.Len(t, p.Data, p.DataLen)
		require.True(t, bytes.HasSuffix(raw, append(bytes.Clone(p.Sums), p.Data...)))
		header := raw[lengthsLen : len(raw)-len(p.Sums)-len(p.Data)]
		var m hdfspb.PacketHeaderProto
		require.NoError(t, proto.Unmarshal(header, &m))
		require.Equal(t, p.Header, Header{
			Offset: m.GetOffsetInBlock(), Seqno: m.GetSeqno(), DataLen: int(m.GetDataLen()), Last: m.GetLastPacketInBlock(), Sync: m.GetSyncBlock(),
		})
		again := append(AppendPrefix(nil, p.Header, len(p.Sums)), append(bytes.Clone(p.Sums), p.Data...)...)
		q, err := NewPacketReader(bytes.NewReader(again)).Next()
		require.NoError(t, err)
		require.Equal(t, p.Header, q.Header)
		require.Equal(t, p.Data, q.Data)
	})
}

// A client's side: fill a packet in place, sum it, put the header in front.
func BenchmarkBuild(b *testing.B) {
	c := Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}
	p := NewPacketBuffer(c.Len(64512), 64512)
	b.SetBytes(64512)
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		sums := c.Sum(p.Sums()[:0], p.Data())
		p.Finish(Header{Seqno: i, Offset: i * 64512}, 64512, len(sums))
	}
}

// A datanode's side: take a packet in, verify it, have it whole for the mirror.
func BenchmarkNext(b *testing.B) {
	c := Checksum{Type: dfs.ChecksumCRC32C, BytesPerChunk: 512}
	data := make([]byte, 64512)
	wire := append(AppendPrefix(nil, Header{DataLen: len(data)}, c.Len(len(data))), c.Sum(nil, data)...)
	wire = append(wire, data...)
	for _, verify := range []bool{false, true} {
		b.Run(map[bool]string{false: "relay", true: "verify"}[verify], func(b *testing.B) {
			src := bytes.NewReader(nil)
			r := NewPacketReader(src)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(wire)
				p, err := r.Next()
				if err == nil && verify {
					err = c.Verify(p.Data, p.Sums)
				}
				if err != nil || len(p.Raw()) != len(wire) {
					b.Fatal(err)
				}
			}
		})
	}
}
