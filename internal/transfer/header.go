package transfer

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// The sequence numbers with a meaning of their own.
const (
	HeartbeatSeqno int64 = -1 // a packet without data that keeps the connections of a pipeline alive
	RestartSeqno   int64 = -2 // an ack out of band: a datanode is about to restart
)

const (
	lengthsLen    = 4 + 2 // the two lengths in front of a header
	headerLen     = 25
	syncHeaderLen = headerLen + 2
	maxPrefixLen  = lengthsLen + syncHeaderLen
	maxHeaderLen  = 1 << 10 // what is accepted: room for fields that are not known yet
)

// The tags of PacketHeaderProto's fields, as they stand in the usual encoding.
const (
	tagOffset  = 1<<3 | byte(protowire.Fixed64Type)
	tagSeqno   = 2<<3 | byte(protowire.Fixed64Type)
	tagLast    = 3<<3 | byte(protowire.VarintType)
	tagDataLen = 4<<3 | byte(protowire.Fixed32Type)
	tagSync    = 5<<3 | byte(protowire.VarintType)
)

const requiredFields = 1<<1 | 1<<2 | 1<<3 | 1<<4

// Header says what a packet carries.
type Header struct {
	Offset  int64 // of the first byte of data in the block
	Seqno   int64
	DataLen int
	Last    bool // the block ends here; such a packet carries no data
	Sync    bool // the data must be on disk before the ack
}

// AppendPrefix appends what stands in front of a packet's sums and data: the lengths and the header.
func AppendPrefix(b []byte, h Header, sumsLen int) []byte {
	n := headerLen
	if h.Sync {
		n = syncHeaderLen
	}
	b = binary.BigEndian.AppendUint32(b, uint32(4+sumsLen+h.DataLen))
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	b = binary.LittleEndian.AppendUint64(append(b, tagOffset), uint64(h.Offset))
	b = binary.LittleEndian.AppendUint64(append(b, tagSeqno), uint64(h.Seqno))
	b = append(b, tagLast, bit(h.Last), tagDataLen)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.DataLen))
	if h.Sync {
		b = append(b, tagSync, 1)
	}
	return b
}

// AppendHeartbeat appends the packet that keeps an idle pipeline alive.
func AppendHeartbeat(b []byte) []byte {
	return AppendPrefix(b, Header{Offset: HeartbeatSeqno, Seqno: HeartbeatSeqno}, 0)
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// parse decodes a PacketHeaderProto: the usual encoding at once, any other field by field.
func (h *Header) parse(b []byte) error {
	if (len(b) == headerLen || len(b) == syncHeaderLen && b[25] == tagSync && b[26] <= 1) &&
		b[0] == tagOffset && b[9] == tagSeqno && b[18] == tagLast && b[19] <= 1 && b[20] == tagDataLen {
		*h = Header{
			Offset:  int64(binary.LittleEndian.Uint64(b[1:])),
			Seqno:   int64(binary.LittleEndian.Uint64(b[10:])),
			DataLen: int(int32(binary.LittleEndian.Uint32(b[21:]))),
			Last:    b[19] == 1,
			Sync:    len(b) == syncHeaderLen && b[26] == 1,
		}
	} else if err := h.parseFields(b); err != nil {
		return err
	}
	if h.DataLen < 0 {
		return malformed("packet header: expected a data length of 0 or more, read %d", h.DataLen)
	}
	return nil
}

func (h *Header) parseFields(b []byte) error {
	*h = Header{}
	var seen uint
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 || !num.IsValid() {
			return malformed("packet header: expected a field, read %x", head(b))
		}
		b = b[n:]
		var v uint64
		field := num // 0 for one that is not ours
		switch {
		case num <= 2 && typ == protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case num == 4 && typ == protowire.Fixed32Type:
			var v32 uint32
			v32, n = protowire.ConsumeFixed32(b)
			v = uint64(v32)
		case (num == 3 || num == 5) && typ == protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		default:
			field, n = 0, protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return malformed("packet header: field %d: %v", num, protowire.ParseError(n))
		}
		b = b[n:]
		seen |= 1 << field
		switch field {
		case 1:
			h.Offset = int64(v)
		case 2:
			h.Seqno = int64(v)
		case 3:
			h.Last = v != 0
		case 4:
			h.DataLen = int(int32(uint32(v)))
		case 5:
			h.Sync = v != 0
		}
	}
	if seen&requiredFields != requiredFields {
		return malformed("packet header: expected fields 1 to 4, read the set %05b", seen>>1)
	}
	return nil
}

// head is as much of b as an error shows.
func head(b []byte) []byte { return b[:min(len(b), 16)] }
