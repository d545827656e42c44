package client

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// Writer writes a file from start to end. One goroutine at a time may use it, but Abort may run beside any method.
//
// Data are on their way once Write returns, received by every datanode of the pipeline once Hflush returns, and on their
// disks once Hsync returns. A file is whole once Close has returned nil. After the first error every method gives it
// again, and the file's lease is no longer renewed.
type Writer struct {
	c      *Client
	path   string
	abs    string
	holder string // of the lease: each file has its own, so that one whose Close failed is not kept from others for ever
	fileID uint64
	sum    transfer.Checksum
	ctx    context.Context
	cancel context.CancelCauseFunc

	blockSize   int64
	syncBlocks  bool // each block is synced at its end
	lazyPersist bool

	out     *streamer
	renewed time.Time // the lease; guarded by leases.mu

	// what the calling goroutine fills, between blocks nil and 0
	cur      *packet
	off      int64 // bytes of the current block so far
	flushed  int64 // of them, those that are in packets already
	appended int64 // where in the current block this writer began: packets do not reach back behind it
	seqno    int64
	size     int64 // of the file

	persisted BlockID // the block that the namenode was told of by the last fsync
	closed    bool
	err       error // what ended the writer early
}

var (
	_ io.WriteCloser = (*Writer)(nil)
	_ io.ReaderFrom  = (*Writer)(nil)
)

// Name is the path the file was opened by.
func (w *Writer) Name() string { return w.path }

// Size is the length of the file with everything written so far.
func (w *Writer) Size() int64 { return w.size }

// Write takes all of p, or fails. It waits while too many packets are unacked.
func (w *Writer) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		room, err := w.room()
		if err != nil {
			return total, w.fail("write", err)
		}
		n := copy(room, p)
		p = p[n:]
		total += n
		if err := w.filled(n); err != nil {
			return total, w.fail("write", err)
		}
	}
	return total, w.fail("write", w.usable())
}

// ReadFrom writes what r gives until io.EOF, read straight into packets.
func (w *Writer) ReadFrom(r io.Reader) (int64, error) {
	var total int64
	for idle := 0; ; {
		room, err := w.room()
		if err != nil {
			return total, w.fail("write", err)
		}
		n, rerr := r.Read(room)
		if n < 0 || n > len(room) {
			return total, fmt.Errorf("client: reader gave %d bytes for a buffer of %d", n, len(room))
		}
		total += int64(n)
		if err := w.filled(n); err != nil {
			return total, w.fail("write", err)
		}
		switch {
		case rerr == io.EOF:
			return total, nil
		case rerr != nil:
			return total, rerr
		case n > 0:
			idle = 0
		default:
			if idle++; idle == 100 {
				return total, io.ErrNoProgress
			}
		}
	}
}

// usable gives the reason why nothing more can be written, or nil.
func (w *Writer) usable() error {
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return ErrClosed
	case w.ctx.Err() != nil:
		return cause(w.ctx)
	}
	return nil
}

// room gives the memory for the next bytes, never empty.
func (w *Writer) room() ([]byte, error) {
	if err := w.usable(); err != nil {
		return nil, err
	}
	if w.cur == nil {
		w.cur = w.out.packet(transfer.Header{Offset: w.off})
	}
	room := w.cur.room()
	if left := w.blockSize - w.off; int64(len(room)) > left {
		room = room[:left]
	}
	return room, nil
}

// filled takes in n bytes of room, and sends what is full.
func (w *Writer) filled(n int) error {
	w.cur.n += n
	w.off += int64(n)
	w.size += int64(n)
	if w.off == w.blockSize {
		return w.endBlock(w.syncBlocks)
	}
	if len(w.cur.room()) == 0 {
		return w.send(w.cur)
	}
	return nil
}

// send hands the current packet to the streamer.
func (w *Writer) send(p *packet) error {
	w.cur, w.flushed = nil, p.end()
	return w.post(p)
}

// post numbers and finishes a packet, and hands it to the streamer.
func (w *Writer) post(p *packet) error {
	p.head.Seqno = w.seqno
	w.seqno++
	p.finish(w.sum)
	return w.out.send(p)
}

// endBlock sends what is left of the block and the empty packet that ends it.
func (w *Writer) endBlock(sync bool) error {
	if w.off == 0 {
		return nil
	}
	if p := w.cur; p != nil && p.end() > w.flushed {
		if err := w.send(p); err != nil {
			return err
		}
	}
	last := w.cur // one that only repeats bytes, after a flush
	if last == nil {
		last = w.out.packet(transfer.Header{})
	}
	last.n, last.head = 0, transfer.Header{Offset: w.off, Last: true, Sync: sync}
	err := w.post(last)
	w.cur, w.off, w.flushed, w.appended, w.seqno = nil, 0, 0, 0, 0
	return err
}

// SyncFlag changes what Hsync does.
type SyncFlag int

// The flags of Hsync.
const (
	UpdateLength SyncFlag = iota + 1 // tell the namenode the length, so that Stat sees it
	EndBlock                         // end the block here: the next byte goes to another
)

// Hflush waits until every datanode of the pipeline has all bytes written so far: readers that open the file from now on
// see them.
func (w *Writer) Hflush() error {
	return w.fail("hflush", w.flush(false, nil))
}

// Hsync is Hflush, and the bytes are on the datanodes' disks.
func (w *Writer) Hsync(flags ...SyncFlag) error {
	return w.fail("hsync", w.flush(true, flags))
}

func (w *Writer) flush(sync bool, flags []SyncFlag) error {
	if err := w.usable(); err != nil {
		return err
	}
	length, end := false, false
	for _, f := range flags {
		length, end = length || f == UpdateLength, end || f == EndBlock
	}
	at := w.off
	switch {
	case end && w.off > 0:
		if err := w.endBlock(sync); err != nil {
			return err
		}
	case w.off > w.flushed:
		if err := w.flushPacket(sync); err != nil {
			return err
		}
	case sync && w.off > 0:
		if err := w.post(w.out.packet(transfer.Header{Offset: w.off, Sync: true})); err != nil {
			return err
		}
	}
	block, err := w.out.acked()
	if err != nil {
		return err
	}
	if block == 0 || block == w.persisted && !length {
		return nil
	}
	n := int64(-1)
	if length {
		n = at
	}
	err = w.c.nn.call(w.ctx, "fsync", &hdfspb.FsyncRequestProto{
		Src:             &w.abs,
		Client:          &w.holder,
		LastBlockLength: &n,
		FileId:          &w.fileID,
	}, &hdfspb.FsyncResponseProto{})
	if err == nil {
		w.persisted = block
	}
	return err
}

// flushPacket sends the current packet, full or not. The next one begins again at the start of a chunk that is not full,
// with the bytes that are known of it: a datanode checks and stores whole chunks only.
func (w *Writer) flushPacket(sync bool) error {
	p := w.cur
	p.head.Sync = sync
	again := max(w.off-w.off%bytesPerChunk, w.appended)
	tail := p.buf.Data()[:p.n][max(again-p.head.Offset, 0):]
	if w.off%bytesPerChunk == 0 {
		tail = nil
	}
	var next *packet
	if len(tail) > 0 {
		next = w.out.packet(transfer.Header{Offset: w.off - int64(len(tail))})
		next.n = copy(next.buf.Data(), tail)
	}
	err := w.send(p)
	w.cur = next
	return err
}

// Close writes what is left, waits until every datanode has it, and completes the file. When it fails, the file stays open
// for the namenode, which closes it once the lease is out, or at once when anyone calls RecoverLease. A second Close gives
// what the first gave.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	defer w.abort(ErrClosed)
	err := w.err
	if err == nil {
		err = w.endBlock(w.syncBlocks)
	}
	if end := w.out.close(); err == nil {
		err = end
	}
	if err == nil {
		err = w.complete()
	}
	w.err = pathError("close", w.path, err)
	return w.err
}

// Abort gives the file up: nothing more is sent and its lease is left to run out. What was flushed stays in the file.
func (w *Writer) Abort() error {
	w.abort(fmt.Errorf("aborted: %w", ErrClosed))
	return nil
}

func (w *Writer) abort(reason error) {
	w.cancel(reason)
	<-w.out.done
	w.c.leases.remove(w)
}

// complete tells the namenode that the file is whole, again and again while it still waits for reports of the last block.
func (w *Writer) complete() error {
	req := &hdfspb.CompleteRequestProto{Src: &w.abs, ClientName: &w.holder, Last: w.out.last, FileId: &w.fileID}
	for wait, left := completeWait, w.c.opt.CompleteTimeout; ; wait = min(2*wait, completeWaitMax) {
		var resp hdfspb.CompleteResponseProto
		if err := w.c.nn.call(w.ctx, "complete", req, &resp); err != nil || resp.GetResult() {
			return err
		}
		if left <= 0 {
			return fmt.Errorf("%w within %v: block %v; the data are safe at the datanodes: call RecoverLease until it reports the file closed, or leave it to the namenode", ErrReplicating, w.c.opt.CompleteTimeout, newExtendedBlock(w.out.last).Block)
		}
		wait = min(wait, left)
		left -= wait
		if err := sleep(w.ctx, wait); err != nil {
			return err
		}
	}
}

// fail keeps the first error that ends the writer: every error but that of a writer that has ended already.
func (w *Writer) fail(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case w.err != nil:
		return w.err
	case w.closed:
		return pathError(op, w.path, ErrClosed)
	}
	w.err = pathError(op, w.path, err)
	w.abort(ErrClosed)
	return w.err
}
