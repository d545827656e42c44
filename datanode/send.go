package datanode

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// How much data a packet holds that is sent to a reader: with the data in our memory, and with sendfile, which is worth
// while from so many bytes on.
const (
	packetData   = 128 << 10
	sendfileData = 512 << 10
	sendfileMin  = 64 << 10
)

// sender sends a range of a replica as packets.
type sender struct {
	d     *DataNode
	rd    *volume.Reader
	to    *peer
	event Event // for the hook

	sums       transfer.Checksum // as they are sent
	start, end int64             // of the range, widened to whole chunks
	file       *os.File          // whose data the system sends by itself; nil where that is not possible
	at         int64             // file's offset
}

// newSender opens the replica of b and checks the range; n < 0 is all of it that is visible.
func (d *DataNode) newSender(to *peer, op transfer.Op, b dfs.ExtendedBlock, client string, off, n int64, withSums bool) (*sender, error) {
	least := max(off, 0)
	if n > 0 && off >= 0 && off+n > off {
		least = off + n
	}
	rd, err := d.set.Open(d.ctx, b.Block, least)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		n = rd.Visible - off
	}
	end := rd.Block.Len
	if off < 0 || n < 0 || off > end || n > end-off {
		rd.Close()
		return nil, dfs.Errorf(dfs.ClassIO, "Offset %d and length %d don't match block %s ( blockLen %d )", off, n, b.Block, end)
	}
	s := &sender{d: d, rd: rd, to: to, sums: onWire(rd.Checksum)}
	s.event = Event{Kind: EventPacketOut, Op: op, Block: b, Client: client, Peer: to.addr}
	if !withSums {
		s.sums.Type = dfs.ChecksumNull
	}
	chunk := int64(s.sums.BytesPerChunk)
	s.start = off - off%chunk
	s.end = min(end, (off+n+chunk-1)/chunk*chunk)
	if s.end-s.start >= sendfileMin {
		s.file = to.sendable(rd)
	}
	return s, nil
}

func (s *sender) close() { s.rd.Close() }

// send sends the packets, the empty last one included, through w.
func (s *sender) send(w *bufio.Writer) error {
	size, most := s.packet(packetData), s.packet(sendfileData)
	buf, ok := s.d.buffers.Get().(*transfer.PacketBuffer)
	if !ok || len(buf.Data()) < size || len(buf.Sums()) < s.sums.Len(most) {
		buf = transfer.NewPacketBuffer(max(s.sums.Len(most), sendfileData/512*4), max(size, packetData))
	}
	if len(buf.Data()) <= maxPooled {
		defer s.d.buffers.Put(buf)
	}
	h := transfer.Header{Offset: s.start}
	for ; h.Offset < s.end; h.Seqno++ {
		direct := s.file != nil && !s.watched()
		n := size
		if direct {
			n = most
		}
		n = int(min(int64(n), s.end-h.Offset))
		var sums []byte
		var err error
		if s.sums.Size() > 0 {
			sums, err = s.rd.Sums(buf.Sums(), h.Offset, n)
		}
		if err == nil {
			if direct {
				err = s.sendfile(w, buf.FinishHead(h, n, len(sums)), h.Offset, n)
			} else {
				err = s.data(w, buf, h, n, len(sums))
			}
		}
		if err != nil {
			return err
		}
		h.Offset += int64(n)
		s.d.count.read.Add(int64(n))
		s.d.count.packetsOut.Add(1)
	}
	h.Last = true
	if drop, err := s.ask(h, nil); drop || err != nil {
		return errors.Join(err, w.Flush())
	}
	if _, err := w.Write(buf.Finish(h, 0, 0)); err != nil {
		return err
	}
	return w.Flush()
}

// packet is the data of a packet of about a size, in whole chunks.
func (s *sender) packet(size int64) int {
	chunk := int64(s.sums.BytesPerChunk)
	return int((min(s.end-s.start, size) + chunk - 1) / chunk * chunk)
}

// data sends one packet.
func (s *sender) data(w *bufio.Writer, buf *transfer.PacketBuffer, h transfer.Header, n, sums int) error {
	p := buf.Data()[:n]
	if err := s.rd.ReadAt(p, h.Offset); err != nil {
		return err
	}
	h.DataLen = n
	if drop, err := s.ask(h, p); drop || err != nil {
		return err
	}
	_, err := w.Write(buf.Finish(h, n, sums))
	return err
}

// sendfile sends one packet whose data never come here.
func (s *sender) sendfile(w *bufio.Writer, head []byte, off int64, n int) error {
	if s.at != off {
		if _, err := s.file.Seek(off, io.SeekStart); err != nil {
			return err
		}
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	m, err := s.to.readFrom(&io.LimitedReader{R: s.file, N: int64(n)})
	s.at = off + m
	if m == int64(n) {
		return err
	}
	if bad := s.rd.ReadAt(make([]byte, 1), s.at); bad != nil { // the file is to blame, not the connection
		return bad
	}
	return cmp.Or(err, io.ErrUnexpectedEOF)
}

// watched reports whether the hook wants to see packets.
func (s *sender) watched() bool {
	o := &s.d.opt
	return o.TransferHook != nil && (o.Watched == nil || o.Watched(EventPacketOut))
}

// ask asks the hook whether a packet may go.
func (s *sender) ask(h transfer.Header, data []byte) (drop bool, err error) {
	hook := s.d.opt.TransferHook
	if hook == nil {
		return false, nil
	}
	s.event.Header, s.event.Data = h, data
	if err = hook(s.d.ctx, &s.event); errors.Is(err, ErrDrop) {
		return true, nil
	}
	return false, err
}

// writer gives a buffered writer to the connection; give it back with putWriter.
func (d *DataNode) writer(p *peer) *bufio.Writer {
	if w, ok := d.writers.Get().(*bufio.Writer); ok {
		w.Reset(p)
		return w
	}
	return bufio.NewWriterSize(p, writeBuffer)
}

func (d *DataNode) putWriter(w *bufio.Writer) {
	w.Reset(nil)
	d.writers.Put(w)
}
