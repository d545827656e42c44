package transfer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// MaxMessage bounds a message: operations list a handful of nodes, so that even this is generous.
const MaxMessage = 16 << 20

// minResponse is the least length of an answer, its length prefix included: a client in wide use reads that many bytes
// before it looks at the first.
const minResponse = 5

// ReadMessage reads a varint-delimited message. The error is io.EOF, bare, where nothing at all came.
func ReadMessage(r *bufio.Reader, m proto.Message) error {
	name := string(m.ProtoReflect().Descriptor().Name())
	n, err := readLength(r, name, MaxMessage)
	if err != nil {
		return err
	}
	if n > r.Size() {
		var b bytes.Buffer // grows with what comes, not with what was announced
		if got, err := io.CopyN(&b, r, int64(n)); err != nil {
			return short(name, int(got), n, err)
		}
		return decode(b.Bytes(), m)
	}
	b, err := r.Peek(n)
	if err != nil {
		return short(name, len(b), n, err)
	}
	err = decode(b, m)
	if _, e := r.Discard(n); err == nil {
		err = e
	}
	return err
}

func decode(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return fmt.Errorf("transfer: %s of %d bytes: %w: %w", m.ProtoReflect().Descriptor().Name(), len(b), ErrMalformed, err)
	}
	return nil
}

// WriteMessage writes a varint-delimited message in one Write.
func WriteMessage(w io.Writer, m proto.Message) error {
	b, err := AppendMessage(nil, m)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// AppendMessage appends a varint-delimited message.
func AppendMessage(b []byte, m proto.Message) ([]byte, error) {
	b = protowire.AppendVarint(b, uint64(proto.Size(m)))
	b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, m)
	if err != nil {
		return nil, fmt.Errorf("transfer: %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return b, nil
}

// WriteResponse writes the answer to an operation in one Write. An answer too short for some clients is lengthened by an
// empty firstBadLink, or an empty message where the status is an error; r is left as it is.
func WriteResponse(w io.Writer, r *hdfspb.BlockOpResponseProto) error {
	body, err := proto.Marshal(r)
	if err != nil {
		return fmt.Errorf("transfer: BlockOpResponseProto: %w", err)
	}
	if len(body)+protowire.SizeVarint(uint64(len(body))) < minResponse {
		field := protowire.Number(2)
		if r.GetStatus() != hdfspb.Status_SUCCESS {
			field = 5
		}
		body = protowire.AppendTag(body, field, protowire.BytesType)
		body = protowire.AppendVarint(body, 0)
	}
	_, err = w.Write(append(protowire.AppendVarint(make([]byte, 0, len(body)+5), uint64(len(body))), body...))
	return err
}

// readLength reads a varint and holds it against max.
func readLength(r *bufio.Reader, what string, max int) (int, error) {
	var n uint64
	for i := 0; ; i++ {
		c, err := r.ReadByte()
		if err != nil {
			if i == 0 {
				return 0, err
			}
			return 0, short("length of "+what, i, i+1, err)
		}
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			break
		}
		if i == 4 {
			return 0, malformed("length of %s: expected at most 5 bytes, read more", what)
		}
	}
	if n > uint64(max) {
		return 0, malformed("%s: expected at most %d bytes, read a length of %d", what, max, n)
	}
	return int(n), nil
}
