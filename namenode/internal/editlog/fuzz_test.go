package editlog

import (
	"bytes"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// segmentBytes is a segment with some records.
func segmentBytes(t testing.TB, sync SyncMode, closed bool) []byte {
	fs := newDisk()
	o := options(fs)
	o.Sync = sync
	j := openLocal(t, newMachine(), o)
	_, err := appendOps(t.Context(), j, someOps(9))
	require.NoError(t, err)
	if closed {
		require.NoError(t, j.Close())
	} else {
		j.Kill()
	}
	return fs.file(fs.list(editsPrefix)[0]).data
}

// Whatever the bytes: no panic; what was read is a prefix that reads the same without the rest.
func FuzzScan(f *testing.F) {
	f.Add(segmentBytes(f, SyncGroup, true))
	f.Add(segmentBytes(f, SyncNone, false))
	f.Add([]byte(segmentMagic))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := parseSegmentHeader(data)
		if err != nil {
			// The fuzzer does not find checksums: give it a segment for its bytes.
			h = segmentHeader{identity: 1, seq: 1}
			data = append(h.encode(), data...)
		}
		read := func(data []byte) (ops int, s scanned) {
			s, err := scan(data, h, func(r record, _ int64) error {
				body := r.body
				for range r.count {
					var err error
					if _, body, err = nextOp(body); err != nil {
						return err
					}
					ops++
				}
				return nil
			})
			if err != nil {
				s.bad = err
			}
			return ops, s
		}
		ops, s := read(data)
		if s.end < segmentHeaderLen || s.end > int64(len(data)) || s.ended && s.bad != nil {
			t.Fatalf("%d bytes gave %+v", len(data), s)
		}
		again, s2 := read(data[:s.end])
		if again > ops || s2.end != s.end || s2.next != s.next {
			t.Fatalf("%d ops %+v, without the rest %d ops %+v", ops, s, again, s2)
		}
		_ = wasDurable(data, h.salt, s.end)
	})
}

// A record that the fuzzer's bytes make valid decodes to what was sealed.
func FuzzRecord(f *testing.F) {
	f.Add(uint64(1), int64(36), []byte("abc"), uint16(3))
	f.Add(uint64(1<<40), int64(0), []byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, seq uint64, durable int64, op []byte, at uint16) {
		if seq == 0 || seq >= 1<<63 || durable < 0 || durable > int64(at) {
			return
		}
		b := appendOp(make([]byte, recordHeaderLen), op)
		b = appendOp(b, nil)
		sealRecord(b, 5, int64(at), record{seq: seq, count: 2, durable: durable})
		data := append(make([]byte, at), b...)
		r, end, err := parseRecord(data, 5, int64(at))
		require.NoError(t, err)
		require.Equal(t, int64(len(data)), end)
		require.Equal(t, record{seq: seq, count: 2, durable: durable, body: b[recordHeaderLen:]}, r)
		got, rest, err := nextOp(r.body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(op, got))
		got, rest, err = nextOp(rest)
		require.NoError(t, err)
		require.Empty(t, got)
		require.Empty(t, rest)

		_, _, err = parseRecord(data, 6, int64(at))
		require.ErrorIs(t, err, errHeaderSum, "in another segment")
		_, _, err = parseRecord(append([]byte{0}, data...), 5, int64(at)+1)
		require.ErrorIs(t, err, errHeaderSum, "at another place")
		_, _, err = parseRecord(data[:len(data)-1], 5, int64(at))
		require.ErrorIs(t, err, errShortRecord)
	})
}

// What parses is exactly what is formatted.
func FuzzVersion(f *testing.F) {
	f.Add(string(formatVersion(testIdentity)))
	f.Add(string(formatVersion(Identity{})))
	f.Add("#\nlayoutVersion=-66\n")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseVersion([]byte(text))
		if err == nil && string(formatVersion(id)) != text {
			t.Fatalf("%q parsed as %+v", text, id)
		}
	})
}

// What parses is exactly what is formatted.
func FuzzSeen(f *testing.F) {
	f.Add(formatSeen(1))
	f.Add(formatSeen(math.MaxUint64))
	f.Add([]byte("17\n"))
	f.Add([]byte("017\nchecksum=00000000\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if txid, err := parseSeen(text); err == nil && !bytes.Equal(formatSeen(txid), text) {
			t.Fatalf("%q parsed as %d", text, txid)
		}
	})
}

// Any bytes read back as written, and a reader never ends well before the end.
func FuzzImage(f *testing.F) {
	f.Add([]byte("state"), 3, byte(1))
	f.Add(bytes.Repeat([]byte("0123456789"), 20000), 65536+50, byte(255))
	f.Add([]byte{}, 40, byte(7))
	f.Fuzz(func(t *testing.T, state []byte, at int, mask byte) {
		var file bytes.Buffer
		h := imageHeader{identity: 1, seq: 2, txid: 3}
		w, err := newImageWriter(&file, h)
		require.NoError(t, err)
		for piece := range slices.Chunk(state, 30011) {
			_, err := w.Write(piece)
			require.NoError(t, err)
		}
		require.NoError(t, w.finish())
		read := func(b []byte) ([]byte, error) {
			r, err := newImageReader(bytes.NewReader(b))
			if err != nil {
				return nil, err
			}
			require.Equal(t, h, r.header)
			return io.ReadAll(r)
		}
		got, err := read(file.Bytes())
		require.NoError(t, err)
		require.True(t, bytes.Equal(state, got))
		if at = at & 0xffffff % file.Len(); mask != 0 {
			file.Bytes()[at] ^= mask
			_, err = read(file.Bytes())
			require.Error(t, err)
			file.Bytes()[at] ^= mask
		}
		_, err = read(file.Bytes()[:at])
		require.ErrorIs(t, err, errImageShort)
		_, err = read(append(file.Bytes(), 0))
		require.EqualError(t, err, "there are bytes behind the end of the image")
	})
}

// Arbitrary bytes behind an image header: no panic; what is read before the error was written by nobody else.
func FuzzImageReader(f *testing.F) {
	f.Add([]byte(imageMagic))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 9})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &imageReader{r: bytes.NewReader(b), next: imageHeaderLen}
		got, err := io.ReadAll(r)
		if len(got) > len(b) || r.next > imageHeaderLen+int64(len(b)) {
			t.Fatalf("%d bytes gave %d, offset %d, %v", len(b), len(got), r.next, err)
		}
	})
}
