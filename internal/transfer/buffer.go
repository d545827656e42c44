package transfer

// PacketBuffer is the memory in which a sender builds packets, one after the other: sums and data are filled in where
// they stand, then Finish puts the header in front.
type PacketBuffer struct {
	buf        []byte
	sums, data int // where the areas begin
}

// NewPacketBuffer makes a buffer for packets with up to so many bytes of sums and of data.
func NewPacketBuffer(sumsCap, dataCap int) *PacketBuffer {
	return &PacketBuffer{
		buf:  make([]byte, maxPrefixLen+sumsCap+dataCap),
		sums: maxPrefixLen,
		data: maxPrefixLen + sumsCap,
	}
}

// Sums is the whole area for sums; they begin at its start.
func (b *PacketBuffer) Sums() []byte { return b.buf[b.sums:b.data:b.data] }

// Data is the whole area for data, which begins at its start.
func (b *PacketBuffer) Data() []byte { return b.buf[b.data:] }

// Finish gives the packet made of the first dataLen bytes of Data and the first sumsLen bytes of Sums: contiguous, valid
// until the areas are touched again. It sets h.DataLen. Sums that do not fill their area are moved up to the data.
func (b *PacketBuffer) Finish(h Header, dataLen, sumsLen int) []byte {
	return b.finish(h, dataLen, sumsLen)[:b.prefixLen(h)+sumsLen+dataLen]
}

// FinishHead is Finish without the data, for a sender whose data goes to the connection by another way.
func (b *PacketBuffer) FinishHead(h Header, dataLen, sumsLen int) []byte {
	return b.finish(h, dataLen, sumsLen)[:b.prefixLen(h)+sumsLen]
}

func (b *PacketBuffer) prefixLen(h Header) int {
	if h.Sync {
		return maxPrefixLen
	}
	return lengthsLen + headerLen
}

func (b *PacketBuffer) finish(h Header, dataLen, sumsLen int) []byte {
	h.DataLen = dataLen
	sums := b.data - sumsLen
	if sums != b.sums {
		copy(b.buf[sums:b.data], b.buf[b.sums:b.sums+sumsLen])
	}
	at := sums - b.prefixLen(h)
	AppendPrefix(b.buf[at:at], h, sumsLen)
	return b.buf[at:]
}
