package transfer

import (
	"encoding/binary"
	"io"
)

// MaxPacket bounds a packet on the wire: its header, sums and data.
const MaxPacket = 16 << 20

// Packet is a packet as it came. Sums and Data point into one buffer, which the next PacketReader.Next uses again.
type Packet struct {
	Header
	Sums, Data []byte

	raw []byte
}

// Raw gives the packet's bytes as they were on the wire, to be passed on in one Write. Changes to Sums and Data show.
func (p *Packet) Raw() []byte { return p.raw }

// Heartbeat reports whether the packet only keeps the pipeline alive.
func (p *Packet) Heartbeat() bool { return p.Seqno == HeartbeatSeqno }

// PacketReader reads packets, never a byte beyond the one asked for.
type PacketReader struct {
	r   io.Reader
	buf []byte
	pkt Packet
}

// NewPacketReader makes a reader of r's packets. A bufio.Reader, small against a packet, saves reads of the lengths;
// the bulk of a packet goes past its buffer.
func NewPacketReader(r io.Reader) *PacketReader { return &PacketReader{r: r} }

// Reset makes r the source and keeps the buffer.
func (r *PacketReader) Reset(src io.Reader) { r.r = src }

// Next reads a packet, which stays valid until the next call. The error is io.EOF, bare, where the peer closed between
// packets.
func (r *PacketReader) Next() (*Packet, error) {
	r.grow(maxPrefixLen, 0)
	if n, err := io.ReadFull(r.r, r.buf[:lengthsLen]); err != nil {
		if n == 0 {
			return nil, err
		}
		return nil, short("lengths of a packet", n, lengthsLen, err)
	}
	payload := int64(binary.BigEndian.Uint32(r.buf)) - 4
	header := int(binary.BigEndian.Uint16(r.buf[4:]))
	switch {
	case payload < 0:
		return nil, malformed("packet: expected a length of 4 or more, read %d", payload+4)
	case payload+int64(header) > MaxPacket:
		return nil, malformed("packet: expected at most %d bytes, read lengths of %d and %d", MaxPacket, payload+4, header)
	case header > maxHeaderLen:
		return nil, malformed("packet header: expected at most %d bytes, read a length of %d", maxHeaderLen, header)
	}
	n := lengthsLen + header + int(payload)
	r.grow(n, lengthsLen)
	raw := r.buf[:n]
	if got, err := io.ReadFull(r.r, raw[lengthsLen:]); err != nil {
		return nil, short("packet", lengthsLen+got, n, err)
	}
	p := &r.pkt
	if err := p.Header.parse(raw[lengthsLen : lengthsLen+header]); err != nil {
		return nil, err
	}
	if int64(p.DataLen) > payload {
		return nil, malformed("packet %d: expected at most %d bytes of data, read a data length of %d", p.Seqno, payload, p.DataLen)
	}
	p.raw = raw
	p.Sums = raw[lengthsLen+header : n-p.DataLen : n-p.DataLen]
	p.Data = raw[n-p.DataLen : n : n]
	return p, nil
}

// grow makes the buffer at least n long and keeps its first keep bytes.
func (r *PacketReader) grow(n, keep int) {
	if n <= len(r.buf) {
		return
	}
	buf := make([]byte, n)
	copy(buf, r.buf[:keep])
	r.buf = buf
}
