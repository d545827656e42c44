package client

import (
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// packet is one packet of a writer, from the first byte that is filled in until it is acked. It may be sent several
// times. One without a header, a mark, is never sent: it counts as acked once everything before it is.
type packet struct {
	buf  *transfer.PacketBuffer
	head transfer.Header
	n    int    // bytes of data filled in
	wire []byte // the finished packet, in buf

	mark chan<- BlockID // of a mark: gets the block that the acked bytes before it are in, 0 for none
}

func newPacket(size int) *packet {
	return &packet{buf: transfer.NewPacketBuffer(size/bytesPerChunk*4, size)}
}

// room is the part of the data area that may still be filled. A packet that begins inside a chunk ends with that chunk.
func (p *packet) room() []byte {
	area := p.buf.Data()
	if inside := int(p.head.Offset % bytesPerChunk); inside != 0 {
		area = area[:bytesPerChunk-inside]
	}
	return area[p.n:]
}

// end is the offset in the block behind the last byte.
func (p *packet) end() int64 { return p.head.Offset + int64(p.n) }

// finish computes the sums and puts the header in front.
func (p *packet) finish(sum transfer.Checksum) {
	sums := sum.Sum(p.buf.Sums()[:0], p.buf.Data()[:p.n])
	p.wire = p.buf.Finish(p.head, p.n, len(sums))
}
