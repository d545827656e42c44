package editlog

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// entryBytes is an entry with some ops.
func entryBytes(ops []addOp) []byte {
	b := make([]byte, recordHeaderLen)
	for _, op := range ops {
		b = appendOp(b, op.AppendTo(nil))
	}
	sealEntry(b, testIdentity.sum(), entry{term: 3, number: 9, count: uint32(len(ops))})
	return b
}

func TestEntry(t *testing.T) {
	ops := someOps(20)
	b := entryBytes(ops)
	e, err := parseEntry(b, testIdentity.sum())
	require.NoError(t, err)
	require.Equal(t, entry{term: 3, number: 9, count: 20, body: b[recordHeaderLen:]}, e)
	got, sizes, err := e.decode(newMachine())
	require.NoError(t, err)
	require.Len(t, sizes, len(ops))
	for i, op := range ops {
		require.Equal(t, op, got[i])
		require.Len(t, op.AppendTo(nil), int(sizes[i]))
	}
}

func TestDamagedEntry(t *testing.T) {
	id := testIdentity.sum()
	reseal := func(count uint32, body ...byte) []byte {
		b := append(make([]byte, recordHeaderLen), body...)
		sealEntry(b, id, entry{term: 1, number: 1, count: count})
		return b
	}
	good := entryBytes(someOps(5))
	flipped := bytes.Clone(good)
	flipped[len(flipped)-1] ^= 1
	newer := bytes.Clone(good)
	newer[3] = 2
	for _, tt := range []struct {
		name     string
		b        []byte
		identity uint32
		want     string
	}{
		{"nothing", nil, id, errEntryLen.Error()},
		{"no op", good[:recordHeaderLen], id, errEntryLen.Error()},
		{"cut short", good[:len(good)-1], id, errEntrySum.Error()},
		{"a bit", flipped, id, errEntrySum.Error()},
		{"another version", newer, id, "its version is 2, this program knows 1"},
		{"another file system", good, id + 1, errEntryIdentity.Error()},
		{"count 0", reseal(0, 1, 5), id, errEntryCount.Error()},
		{"count beyond the bytes", reseal(1<<31, 1, 5), id, errEntryCount.Error()},
		{"one op too few", reseal(2, 1, 5), id, errEntryCount.Error()},
		{"one op too many", reseal(1, 1, 5, 1, 5), id, errEntryCount.Error()},
		{"an op beyond the end", reseal(1, 9, 5), id, "op reaches beyond its record"},
		{"an op that cannot be", reseal(1, 0), id, "op 1 of 1 cannot be decoded: no number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := parseEntry(tt.b, tt.identity)
			if err == nil {
				_, _, err = e.decode(newMachine())
			}
			require.EqualError(t, err, tt.want)
		})
	}
}

// Whatever the bytes: no panic, nothing allocated beyond them, and what parses is exactly what is sealed.
func FuzzEntry(f *testing.F) {
	f.Add(entryBytes(someOps(3)))
	f.Add(entryBytes([]addOp{{"", 0}}))
	f.Add([]byte{0, 0, 0, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= recordHeaderLen {
			// The fuzzer does not find checksums.
			sealed := bytes.Clone(b)
			term, number := entryOrigin(b)
			sealEntry(sealed, 5, entry{term: term, number: number, count: uint32(b[24])<<24 | uint32(b[27])})
			checkEntry(t, sealed)
		}
		checkEntry(t, b)
	})
}

func checkEntry(t *testing.T, b []byte) {
	e, err := parseEntry(b, 5)
	if err != nil {
		return
	}
	again := append(make([]byte, recordHeaderLen), e.body...)
	sealEntry(again, 5, e)
	require.True(t, bytes.Equal(b, again))
	ops, sizes, err := e.decode(newMachine())
	if err != nil {
		return
	}
	require.Len(t, ops, int(e.count))
	require.Len(t, sizes, int(e.count))
}
