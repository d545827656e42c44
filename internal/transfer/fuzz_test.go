package transfer

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

func FuzzReadOp(f *testing.F) {
	for name, frame := range golden(f) {
		if strings.HasPrefix(name, "op") {
			f.Add(frame)
		}
	}
	f.Add([]byte{0xde, 0xad, 0xbe, 0xef})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		op, err := ReadOp(r)
		if err != nil {
			return
		}
		for _, m := range []proto.Message{&hdfspb.OpWriteBlockProto{}, &hdfspb.OpReadBlockProto{}, &hdfspb.BlockOpResponseProto{}} {
			r := bufio.NewReader(bytes.NewReader(b[opHeaderLen:]))
			if ReadMessage(r, m) != nil {
				continue
			}
			var w bytes.Buffer
			require.NoError(t, WriteOp(&w, op, m))
			again := m.ProtoReflect().New().Interface()
			r.Reset(&w)
			got, err := ReadOp(r)
			require.NoError(t, err)
			require.Equal(t, op, got)
			require.NoError(t, ReadMessage(r, again))
			require.True(t, proto.Equal(m, again))
		}
	})
}
