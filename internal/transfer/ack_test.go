package transfer

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

func TestFlagsDecideOverReplies(t *testing.T) {
	const ok, bad = hdfspb.Status_SUCCESS, hdfspb.Status_ERROR
	for name, c := range map[string]struct {
		ack  Ack
		want []hdfspb.Status
		bad  int
	}{
		"replies alone":      {Ack{Replies: []hdfspb.Status{ok, bad}}, []hdfspb.Status{ok, bad}, 1},
		"flags say error":    {Ack{Replies: []hdfspb.Status{ok, ok}, Flags: []uint32{0, Flag(bad, ECNCongested, SlowSlow)}}, []hdfspb.Status{ok, bad}, 1},
		"flags say success":  {Ack{Replies: []hdfspb.Status{bad, bad}, Flags: []uint32{0, 0}}, []hdfspb.Status{ok, ok}, -1},
		"fewer flags":        {Ack{Replies: []hdfspb.Status{bad, bad}, Flags: []uint32{0}}, []hdfspb.Status{ok, bad}, 1},
		"the last one is it": {Ack{Replies: []hdfspb.Status{ok, bad, bad}}, []hdfspb.Status{ok, bad, bad}, 2},
		"none":               {Ack{}, nil, -1},
	} {
		t.Run(name, func(t *testing.T) {
			var got []hdfspb.Status
			for i := range c.ack.Len() {
				got = append(got, c.ack.Status(i))
			}
			require.Equal(t, c.want, got)
			i, s := c.ack.Bad()
			require.Equal(t, c.bad, i)
			require.Equal(t, i < 0, s == ok)
		})
	}
	a := Ack{Replies: []hdfspb.Status{ok, ok}, Flags: []uint32{Flag(ok, ECNCongested, SlowNormal)}}
	require.Equal(t, []any{ECNCongested, SlowNormal, ECNDisabled, SlowDisabled}, []any{a.ECN(0), a.Slow(0), a.ECN(1), a.Slow(1)})
}

func TestAckWithoutRepliesIsLongEnough(t *testing.T) {
	require.Equal(t, unhex(t, "04 0800 1800"), AppendAck(nil, &Ack{}))
}

func TestAckAdd(t *testing.T) {
	a := Ack{DownstreamAckTime: 4}
	a.Reset(6)
	a.Add(hdfspb.Status_SUCCESS)
	a.Add(hdfspb.Status_ERROR)
	require.Equal(t, Ack{Seqno: 6, Replies: []hdfspb.Status{0, 1}, Flags: []uint32{0, 1}}, a)
}

func TestReadAckErrors(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		err  string
		want error
	}{
		"nothing":         {"", "EOF", io.EOF},
		"cut":             {"0408", "transfer: ack: read 1 of 4 bytes: unexpected EOF", io.ErrUnexpectedEOF},
		"no number":       {"021000", "transfer: ack: expected a sequence number, read none: malformed data transfer", ErrMalformed},
		"too long":        {"818004", "transfer: ack: expected at most 65536 bytes, read a length of 65537: malformed data transfer", ErrMalformed},
		"open varint":     {"0208ff", "transfer: ack: field 1: unexpected EOF: malformed data transfer", ErrMalformed},
		"open list":       {"052201ff0800", "transfer: ack: field 4: unexpected EOF: malformed data transfer", ErrMalformed},
		"field too large": {"08 0800 edededed30 00", "transfer: ack: expected a field, read edededed3000: malformed data transfer", ErrMalformed},
		"list beyond end": {"0422090800", "transfer: ack: field 4: unexpected EOF: malformed data transfer", ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			err := ReadAck(bufio.NewReader(bytes.NewReader(unhex(t, c.in))), &Ack{})
			require.EqualError(t, err, c.err)
			require.ErrorIs(t, err, c.want)
		})
	}
}

// An ack may be larger than the reader's buffer; it may come packed or not, and with fields nobody knows yet.
func TestReadAckForms(t *testing.T) {
	want := Ack{Seqno: 1 << 40}
	for range 20_000 {
		want.Replies = append(want.Replies, hdfspb.Status_SUCCESS)
	}
	var got Ack
	require.NoError(t, ReadAck(bufio.NewReader(bytes.NewReader(AppendAck(nil, &want))), &got))
	require.Equal(t, want.Replies, got.Replies)

	in := unhex(t, "14 12020001 0803 2000 2021 3a03616263 7d01020304")
	require.NoError(t, ReadAck(bufio.NewReader(bytes.NewReader(in)), &got))
	require.Equal(t, Ack{Seqno: -2, Replies: []hdfspb.Status{0, 1}, Flags: []uint32{0, 33}}, got)
}

func FuzzReadAck(f *testing.F) {
	for name, frame := range golden(f) {
		if bytes.HasPrefix([]byte(name), []byte("ack")) {
			f.Add(frame)
		}
	}
	f.Add(unhex(f, "14 12020001 0803 2000 2021 3a03616263 7d01020304"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var a Ack
		if err := ReadAck(bufio.NewReader(bytes.NewReader(b)), &a); err != nil {
			return
		}
		// what we accept, protobuf accepts, and reads alike
		body, n := protowire.ConsumeBytes(b)
		require.Positive(t, n)
		var m hdfspb.PipelineAckProto
		require.NoError(t, proto.Unmarshal(body, &m))
		require.Equal(t, m.GetSeqno(), a.Seqno)
		require.Equal(t, m.GetReply(), nilIfEmpty(a.Replies))
		require.Equal(t, m.GetFlag(), nilIfEmpty(a.Flags))
		require.Equal(t, int64(m.GetDownstreamAckTimeNanos()), a.DownstreamAckTime)

		var again Ack
		require.NoError(t, ReadAck(bufio.NewReader(bytes.NewReader(AppendAck(nil, &a))), &again))
		require.Equal(t, a.Seqno, again.Seqno)
		require.Equal(t, nilIfEmpty(a.Replies), nilIfEmpty(again.Replies))
		require.Equal(t, nilIfEmpty(a.Flags), nilIfEmpty(again.Flags))
	})
}

func nilIfEmpty[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

func BenchmarkAck(b *testing.B) {
	a := Ack{Seqno: 1000}
	for range 3 {
		a.Add(hdfspb.Status_SUCCESS)
	}
	var buf []byte
	var got Ack
	src := bytes.NewReader(nil)
	r := bufio.NewReader(src)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendAck(buf[:0], &a)
		src.Reset(buf)
		r.Reset(src)
		if err := ReadAck(r, &got); err != nil {
			b.Fatal(err)
		}
	}
}
