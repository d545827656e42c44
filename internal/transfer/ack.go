package transfer

import (
	"bufio"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// maxAck bounds an ack: a pipeline has a handful of nodes, this is room for thousands.
const maxAck = 64 << 10

// Ack answers a packet: one reply for each datanode, the answering one first. Flags, where there are any, stand for
// Replies and say more: Status, not Replies, is what counts.
type Ack struct {
	Seqno             int64
	Replies           []hdfspb.Status
	Flags             []uint32
	DownstreamAckTime int64 // nanoseconds
}

// ECN is a datanode's word on its load.
type ECN uint8

// The words on load.
const (
	ECNDisabled   ECN = 0
	ECNSupported  ECN = 1
	ECNSupported2 ECN = 2
	ECNCongested  ECN = 3
)

// Slow is a datanode's word on the node after it.
type Slow uint8

// The words on slowness.
const (
	SlowDisabled Slow = 0
	SlowNormal   Slow = 1
	SlowSlow     Slow = 2
)

// Flag packs a status and the two words into the number that travels in Flags.
func Flag(s hdfspb.Status, e ECN, w Slow) uint32 {
	return uint32(s)&0xf | uint32(e)&3<<5 | uint32(w)&3<<7
}

// Add appends a reply, with its flag as newer peers expect it.
func (a *Ack) Add(s hdfspb.Status) {
	a.Replies = append(a.Replies, s)
	a.Flags = append(a.Flags, Flag(s, ECNDisabled, SlowDisabled))
}

// Reset makes a the empty ack of a packet and keeps the memory.
func (a *Ack) Reset(seqno int64) {
	*a = Ack{Seqno: seqno, Replies: a.Replies[:0], Flags: a.Flags[:0]}
}

// Len is the number of replies.
func (a *Ack) Len() int { return len(a.Replies) }

// Status is what the i-th datanode says, 0 being the one that sent the ack.
func (a *Ack) Status(i int) hdfspb.Status {
	if i < len(a.Flags) {
		return hdfspb.Status(a.Flags[i] & 0xf)
	}
	return a.Replies[i]
}

// ECN is the i-th datanode's word on its load.
func (a *Ack) ECN(i int) ECN {
	if i < len(a.Flags) {
		return ECN(a.Flags[i] >> 5 & 3)
	}
	return ECNDisabled
}

// Slow is the i-th datanode's word on the node after it.
func (a *Ack) Slow(i int) Slow {
	if i < len(a.Flags) {
		return Slow(a.Flags[i] >> 7 & 3)
	}
	return SlowDisabled
}

// Bad gives the first datanode that reports anything but success, seen from the far end as HDFS does, and its status; -1
// where all is well.
func (a *Ack) Bad() (int, hdfspb.Status) {
	for i := len(a.Replies) - 1; i >= 0; i-- {
		if s := a.Status(i); s != hdfspb.Status_SUCCESS {
			return i, s
		}
	}
	return -1, hdfspb.Status_SUCCESS
}

// ReadAck reads a varint-delimited ack into a, whose memory it uses. The error is io.EOF, bare, where nothing came.
func ReadAck(r *bufio.Reader, a *Ack) error {
	n, err := readLength(r, "ack", maxAck)
	if err != nil {
		return err
	}
	if n > r.Size() {
		b := make([]byte, n)
		if got, err := io.ReadFull(r, b); err != nil {
			return short("ack", got, n, err)
		}
		return a.parse(b)
	}
	b, err := r.Peek(n)
	if err != nil {
		return short("ack", len(b), n, err)
	}
	err = a.parse(b)
	if _, e := r.Discard(n); err == nil {
		err = e
	}
	return err
}

func (a *Ack) parse(b []byte) error {
	a.Reset(0)
	seen := false
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 || !num.IsValid() {
			return malformed("ack: expected a field, read %x", head(b))
		}
		b = b[n:]
		var v uint64
		field := num // 0 once there is nothing left to do
		switch {
		case typ == protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case typ == protowire.BytesType && (num == 2 || num == 4):
			var list []byte
			list, n = protowire.ConsumeBytes(b)
			if err := a.parseList(num, list); err != nil {
				return err
			}
			field = 0
		default:
			field, n = 0, protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return malformed("ack: field %d: %v", num, protowire.ParseError(n))
		}
		b = b[n:]
		switch field {
		case 1:
			a.Seqno, seen = protowire.DecodeZigZag(v), true
		case 3:
			a.DownstreamAckTime = int64(v)
		default:
			a.add(field, v)
		}
	}
	if !seen {
		return malformed("ack: expected a sequence number, read none")
	}
	return nil
}

func (a *Ack) parseList(num protowire.Number, b []byte) error {
	for len(b) > 0 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return malformed("ack: field %d: %v", num, protowire.ParseError(n))
		}
		a.add(num, v)
		b = b[n:]
	}
	return nil
}

func (a *Ack) add(num protowire.Number, v uint64) {
	switch num {
	case 2:
		a.Replies = append(a.Replies, hdfspb.Status(v))
	case 4:
		a.Flags = append(a.Flags, uint32(v))
	}
}

// AppendAck appends a as a varint-delimited message, never shorter than the five bytes that some clients wait for.
func AppendAck(b []byte, a *Ack) []byte {
	zigzag := protowire.EncodeZigZag(a.Seqno)
	size, flags := 2+protowire.SizeVarint(zigzag)+protowire.SizeVarint(uint64(a.DownstreamAckTime)), 0
	for _, s := range a.Replies {
		size += 1 + protowire.SizeVarint(uint64(int64(s)))
	}
	if len(a.Flags) > 0 {
		for _, f := range a.Flags {
			flags += protowire.SizeVarint(uint64(f))
		}
		size += 1 + protowire.SizeBytes(flags)
	}
	b = protowire.AppendVarint(b, uint64(size))
	b = protowire.AppendVarint(append(b, 1<<3), zigzag)
	for _, s := range a.Replies {
		b = protowire.AppendVarint(append(b, 2<<3), uint64(int64(s)))
	}
	b = protowire.AppendVarint(append(b, 3<<3), uint64(a.DownstreamAckTime))
	if len(a.Flags) > 0 {
		b = protowire.AppendVarint(append(b, 4<<3|byte(protowire.BytesType)), uint64(flags))
		for _, f := range a.Flags {
			b = protowire.AppendVarint(b, uint64(f))
		}
	}
	return b
}
