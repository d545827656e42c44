package namespace

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// The primitives of the op and image codecs: varints, zigzag varints, and strings by length.

var errShort = errors.New("it ends in the middle of a value")

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendInt[T ~int | ~int16 | ~int32 | ~int64](b []byte, v T) []byte {
	return binary.AppendVarint(b, int64(v))
}

func appendUint[T ~uint8 | ~uint16 | ~uint32 | ~uint64](b []byte, v T) []byte {
	return binary.AppendUvarint(b, uint64(v))
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendStrings(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

// appendBytes tells nil from empty.
func appendBytes(b, v []byte) []byte {
	if v == nil {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(v))+1), v...)
}

func appendBlock(b []byte, k dfs.Block) []byte {
	return appendInt(appendInt(appendInt(b, k.ID), k.GenStamp), k.Len)
}

func appendBlockPtr(b []byte, k *dfs.Block) []byte {
	if k == nil {
		return append(b, 0)
	}
	return appendBlock(append(b, 1), *k)
}

// decoder reads the primitives from memory. After an error it gives zeros; err tells.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail(errShort)
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) bool() bool {
	v := d.byte()
	if v > 1 {
		d.fail(fmt.Errorf("%d is neither true nor false", v))
	}
	return v == 1
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int64() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

// getInt reads a signed number that must fit its type.
func getInt[T ~int | ~int16 | ~int32 | ~int64](d *decoder) T {
	v := d.int64()
	if int64(T(v)) != v {
		d.fail(fmt.Errorf("%d is out of range", v))
		return 0
	}
	return T(v)
}

// getUint reads an unsigned number that must fit its type.
func getUint[T ~uint8 | ~uint16 | ~uint32 | ~uint64](d *decoder) T {
	v := d.uvarint()
	if uint64(T(v)) != v {
		d.fail(fmt.Errorf("%d is out of range", v))
		return 0
	}
	return T(v)
}

// raw takes n bytes without copying them.
func (d *decoder) raw(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail(errShort)
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) string() string { return string(d.raw(d.uvarint())) }

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if n == 0 {
		return nil
	}
	v := d.raw(n - 1)
	if d.err != nil {
		return nil
	}
	return append(make([]byte, 0, len(v)), v...)
}

// count reads the length of a list whose elements take at least size bytes each.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.b)/size) {
		d.fail(errShort)
		return 0
	}
	return int(n)
}

func (d *decoder) strings() []string {
	n := d.count(1)
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = d.string()
	}
	return list
}

func (d *decoder) block() dfs.Block {
	return dfs.Block{ID: getInt[dfs.BlockID](d), GenStamp: getInt[dfs.GenStamp](d), Len: d.int64()}
}

func (d *decoder) blockPtr() *dfs.Block {
	if !d.bool() {
		return nil
	}
	b := d.block()
	return &b
}
