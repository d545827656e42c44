package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

func TestReadOpErrors(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		err  string
		want error
	}{
		"nothing":       {"", "EOF", io.EOF},
		"one byte":      {"00", "transfer: operation: read 1 of 3 bytes: unexpected EOF", io.ErrUnexpectedEOF},
		"no code":       {"001c", "transfer: operation: read 2 of 3 bytes: unexpected EOF", io.ErrUnexpectedEOF},
		"other version": {"001b50", "transfer: expected version 28, read 27", ErrMalformed},
		"negative":      {"ffff50", "transfer: expected version 28, read -1", ErrMalformed},
		"sasl":          {"deadbeef", "transfer: the peer wants to negotiate SASL, which is off: expected version 28, read de ad", ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadOp(bufio.NewReader(bytes.NewReader(unhex(t, c.in))))
			require.EqualError(t, err, c.err)
			require.ErrorIs(t, err, c.want)
		})
	}
	_, err := ReadOp(bufio.NewReader(bytes.NewReader(nil)))
	require.True(t, err == io.EOF, "callers compare a clean end with ==")
}

func TestOpNames(t *testing.T) {
	require.Equal(t, "WRITE_BLOCK", OpWriteBlock.String())
	require.Equal(t, "BLOCK_GROUP_CHECKSUM", OpBlockGroupChecksum.String())
	require.Equal(t, "Op(79)", Op(79).String())
	require.Equal(t, "Op(91)", Op(91).String())
}

func TestResponsesAreLongEnough(t *testing.T) {
	ok, bad := hdfspb.Status_SUCCESS.Enum(), hdfspb.Status_ERROR.Enum()
	for name, c := range map[string]struct {
		r    *hdfspb.BlockOpResponseProto
		want string
	}{
		"success":       {&hdfspb.BlockOpResponseProto{Status: ok}, "04 0800 1200"},
		"success, full": {&hdfspb.BlockOpResponseProto{Status: ok, FirstBadLink: proto.String("")}, "04 0800 1200"},
		"error":         {&hdfspb.BlockOpResponseProto{Status: bad}, "04 0801 2a00"},
		"message":       {&hdfspb.BlockOpResponseProto{Status: bad, Message: proto.String("x")}, "05 0801 2a0178"},
		"bad link":      {&hdfspb.BlockOpResponseProto{Status: bad, FirstBadLink: proto.String("")}, "04 0801 1200"},
	} {
		t.Run(name, func(t *testing.T) {
			before := proto.Clone(c.r)
			var w writes
			require.NoError(t, WriteResponse(&w, c.r))
			require.Equal(t, writes{unhex(t, c.want)}, w)
			require.True(t, proto.Equal(before, c.r))
		})
	}
	require.ErrorContains(t, WriteResponse(io.Discard, &hdfspb.BlockOpResponseProto{}), "transfer: BlockOpResponseProto: ")
}

func TestMessagesLargerThanTheBuffer(t *testing.T) {
	want := &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_ERROR.Enum(), Message: proto.String(strings.Repeat("m", 100_000))}
	var w writes
	require.NoError(t, WriteMessage(&w, want))
	require.Len(t, w, 1)

	r := bufio.NewReader(bytes.NewReader(append(w[0], 0x55)))
	got := &hdfspb.BlockOpResponseProto{}
	require.NoError(t, ReadMessage(r, got))
	require.True(t, proto.Equal(want, got))
	next, err := r.ReadByte()
	require.NoError(t, err)
	require.Equal(t, byte(0x55), next)

	err = ReadMessage(bufio.NewReader(bytes.NewReader(w[0][:50_000])), got)
	require.EqualError(t, err, "transfer: BlockOpResponseProto: read 49997 of 100006 bytes: unexpected EOF")
}

func TestReadMessageErrors(t *testing.T) {
	huge := protowire.AppendVarint(nil, MaxMessage+1)
	for name, c := range map[string]struct {
		in   []byte
		err  string
		want error
	}{
		"nothing":          {nil, "EOF", io.EOF},
		"half a length":    {[]byte{0x80}, "transfer: length of ClientReadStatusProto: read 1 of 2 bytes: unexpected EOF", io.ErrUnexpectedEOF},
		"endless length":   {bytes.Repeat([]byte{0xff}, 11), "transfer: length of ClientReadStatusProto: expected at most 5 bytes, read more: malformed data transfer", ErrMalformed},
		"too long":         {huge, "transfer: ClientReadStatusProto: expected at most 16777216 bytes, read a length of 16777217: malformed data transfer", ErrMalformed},
		"cut short":        {[]byte{2, 8}, "transfer: ClientReadStatusProto: read 1 of 2 bytes: unexpected EOF", io.ErrUnexpectedEOF},
		"no status inside": {[]byte{0}, "", ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			err := ReadMessage(bufio.NewReader(bytes.NewReader(c.in)), &hdfspb.ClientReadStatusProto{})
			require.ErrorIs(t, err, c.want)
			if c.err != "" {
				require.EqualError(t, err, c.err)
			}
		})
	}
}

func TestConnectionErrorsComeThrough(t *testing.T) {
	broken := errors.New("cable pulled")
	src := func(b ...byte) *bufio.Reader {
		return bufio.NewReader(io.MultiReader(bytes.NewReader(b), failing{broken}))
	}

	_, err := ReadOp(src(0, 28))
	require.EqualError(t, err, "transfer: operation: read 2 of 3 bytes: cable pulled")
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, ReadMessage(src(9, 1), &hdfspb.ClientReadStatusProto{}), broken)
	require.ErrorIs(t, ReadAck(src(9, 1), &Ack{}), broken)
	_, err = NewPacketReader(src(0, 0, 0, 4, 0, 25, 9)).Next()
	require.EqualError(t, err, "transfer: packet: read 7 of 31 bytes: cable pulled")
	require.ErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
