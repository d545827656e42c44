package editlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"
)

// An addOp adds n to a counter and gives the new value. Adding 0 takes no transaction id, adding more than 100 takes two.
type addOp struct {
	key string
	n   uint64
}

func (o addOp) AppendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, o.n)
	return append(b, o.key...)
}

func (o addOp) KindName() string {
	if o.n == 0 {
		return "noop"
	}
	return "add"
}

// A machine is a map of counters. Its digest depends on every op and on their order.
type machine struct {
	counters map[string]uint64
	ops      uint64
	txid     uint64
	digest   uint64

	writing  func()       // called by WriteTo of a snapshot
	decoding func() error // called by Decode
}

func newMachine() *machine { return &machine{counters: make(map[string]uint64)} }

func (m *machine) Decode(b []byte) (Op, error) {
	if m.decoding != nil {
		if err := m.decoding(); err != nil {
			return nil, err
		}
	}
	n, w := binary.Uvarint(b)
	if w <= 0 {
		return nil, errors.New("no number")
	}
	return addOp{key: string(b[w:]), n: n}, nil
}

func (m *machine) Apply(batch []Op) []any {
	results := make([]any, len(batch))
	for i, op := range batch {
		results[i] = m.apply(op.(addOp))
	}
	return results
}

func (m *machine) apply(op addOp) uint64 {
	for _, c := range []byte(op.key) {
		m.digest = (m.digest ^ uint64(c)) * 0x100000001b3
	}
	m.digest = (m.digest + op.n + 1) * 0x9e3779b97f4a7c15
	m.digest ^= m.digest >> 29
	m.ops++
	switch {
	case op.n > 100:
		m.txid += 2
	case op.n > 0:
		m.txid++
	}
	if op.n > 0 {
		m.counters[op.key] += op.n
	}
	return m.counters[op.key]
}

func (m *machine) TxID() uint64 { return m.txid }

func (m *machine) Snapshot() (Snapshot, error) {
	return &frozen{machine: machine{counters: maps.Clone(m.counters), ops: m.ops, txid: m.txid, digest: m.digest, writing: m.writing}}, nil
}

type frozen struct {
	machine
	released int
}

func (f *frozen) Release() { f.released++ }

func (f *frozen) WriteTo(w io.Writer) (int64, error) {
	if f.writing != nil {
		f.writing()
	}
	var b []byte
	b = binary.AppendUvarint(b, f.ops)
	b = binary.AppendUvarint(b, f.txid)
	b = binary.AppendUvarint(b, f.digest)
	for _, key := range slices.Sorted(maps.Keys(f.counters)) {
		b = binary.AppendUvarint(b, f.counters[key])
		b = binary.AppendUvarint(b, uint64(len(key)))
		b = append(b, key...)
	}
	n, err := w.Write(b)
	return int64(n), err
}

func (m *machine) Restore(r io.Reader) error {
	all, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	in := bytes.NewReader(all)
	next := func() uint64 {
		n, nerr := binary.ReadUvarint(in)
		if nerr != nil {
			err = nerr
		}
		return n
	}
	fresh := machine{counters: make(map[string]uint64), ops: next(), txid: next(), digest: next()}
	for in.Len() > 0 && err == nil {
		n := next()
		key := make([]byte, min(next(), uint64(in.Len())))
		_, _ = io.ReadFull(in, key)
		fresh.counters[string(key)] = n
	}
	if err != nil {
		return err
	}
	*m = fresh
	return nil
}

// model gives the digests of all prefixes of ops: digest -> length.
func model(ops []addOp) map[uint64]int {
	m := newMachine()
	at := map[uint64]int{m.digest: 0}
	for i, op := range ops {
		m.apply(op)
		at[m.digest] = i + 1
	}
	return at
}
