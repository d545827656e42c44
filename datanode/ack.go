package datanode

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// ack is what a packet's ack depends on here.
type ack struct {
	seqno  int64
	end    int64 // of the packet's data in the block
	last   bool
	status hdfspb.Status
}

// maxUnacked bounds the packets that wait for the next node's ack; the writer is held up then. Java sends 80 ahead.
const maxUnacked = 128

// acker sends the acks of one write, in order. Without a next node it works in the receiver's goroutine; with one, in
// its own, which waits for that node's acks.
type acker struct {
	x    *write
	lost atomic.Bool // the next node is
	quit atomic.Bool // the receiver has given up: nothing more is acked

	queue chan ack   // nil without a next node
	done  chan error // the goroutine's result, of capacity one
	event Event      // for the hook
	own   transfer.Ack
	down  transfer.Ack
	buf   []byte
}

func (a *acker) begin() {
	x := a.x
	if x.mirror == nil {
		return
	}
	a.queue = make(chan ack, maxUnacked)
	a.done = make(chan error, 1)
	started := x.d.goDo(func() {
		err := a.relay()
		if err != nil {
			x.up.Conn.Close() // the receiver has no other way to hear of it
		}
		a.done <- err
	})
	if !started {
		a.done <- nil
	}
}

// lose cuts the connection to the next node, so that nobody waits for it.
func (a *acker) lose() {
	a.lost.Store(true)
	a.x.mirror.Conn.Close()
}

// send acks a packet that is stored, at once or after the next node. An error ends the writing.
func (a *acker) send(k ack) error {
	if a.queue == nil {
		if err := a.complete(k); err != nil {
			return err
		}
		return a.reply(k, true)
	}
	select {
	case a.queue <- k:
		return nil
	case err := <-a.done:
		a.done <- err
		if err == nil {
			err = errors.New("the pipeline has ended")
		}
		return err
	}
}

// finish waits until all is acked, the last packet included.
func (a *acker) finish() error {
	if a.queue == nil {
		return nil
	}
	err := <-a.done
	a.done <- err
	return err
}

// abandon ends the goroutine where the receiver has given up, and waits for it.
func (a *acker) abandon() {
	if a.queue == nil {
		return
	}
	select {
	case err := <-a.done:
		a.done <- err
		return
	default:
	}
	a.quit.Store(true)
	close(a.queue)
	a.lose()
	if err := <-a.done; err != nil {
		a.x.d.log.Debug("datanode: acks ended", "block", a.x.block, "err", err)
	}
}

// relay is the goroutine: it sends acks as those of the next node come.
func (a *acker) relay() error {
	for k := range a.queue {
		a.own.Reset(k.seqno)
		if err := a.complete(k); err != nil { // while the next node does the same
			return err
		}
		if err := a.downstream(k); err != nil || a.quit.Load() {
			return err
		}
		if err := a.reply(k, len(a.queue) == 0 || a.x.mirror.r.Buffered() == 0); err != nil {
			return err
		}
		if k.last {
			return nil
		}
	}
	return nil
}

// downstream waits for the next node's ack of the packet.
func (a *acker) downstream(k ack) error {
	if a.lost.Load() {
		return nil
	}
	err := transfer.ReadAck(a.x.mirror.r, &a.down)
	for err == nil && a.down.Seqno == transfer.RestartSeqno {
		if err = a.outOfBand(); err == nil {
			err = transfer.ReadAck(a.x.mirror.r, &a.down)
		}
	}
	if err == nil && a.down.Seqno != k.seqno {
		err = fmt.Errorf("expected the ack of packet %d, read that of %d", k.seqno, a.down.Seqno)
	}
	if err == nil && a.down.Len() == 0 {
		err = fmt.Errorf("the ack of packet %d carries no reply", k.seqno)
	}
	if err != nil && a.quit.Load() {
		return nil
	}
	if err != nil {
		a.x.d.log.Info("datanode: lost the next node of a pipeline", "block", a.x.block, "next", a.x.mirror.addr, "err", err)
		a.lose()
		return nil
	}
	if a.down.Status(0) == hdfspb.Status_ERROR_CHECKSUM {
		return errors.New("the next node says that the data sent to it are corrupt")
	}
	return nil
}

// outOfBand passes on that a node further down is about to restart.
func (a *acker) outOfBand() error {
	var oob transfer.Ack
	oob.Reset(transfer.RestartSeqno)
	oob.Add(hdfspb.Status_SUCCESS)
	a.relayed(&oob)
	_, err := a.x.up.Write(transfer.AppendAck(nil, &oob))
	return err
}

// relayed appends the next node's replies.
func (a *acker) relayed(to *transfer.Ack) {
	for i := range a.down.Len() {
		if i < len(a.down.Flags) {
			to.Replies = append(to.Replies, a.down.Status(i))
			to.Flags = append(to.Flags, a.down.Flags[i])
		} else {
			to.Add(a.down.Status(i))
		}
	}
}

// complete ends the replica with its last packet, before that is acked.
func (a *acker) complete(k ack) error {
	if !k.last || k.status != hdfspb.Status_SUCCESS {
		return nil
	}
	return a.x.complete()
}

// reply sends an ack, or leaves it for the next one to take along. Bytes are visible before they are acked.
func (a *acker) reply(k ack, flush bool) error {
	x := a.x
	status := k.status
	if hook := x.d.opt.TransferHook; hook != nil {
		e := &a.event
		e.Kind, e.Header, e.Status = EventAck, transfer.Header{Seqno: k.seqno, Offset: k.end, Last: k.last}, status
		if err := hook(x.d.ctx, e); errors.Is(err, ErrDrop) {
			return nil
		} else if err != nil {
			return err
		}
		status = e.Status
	}
	a.own.Reset(k.seqno)
	a.own.Add(status)
	switch {
	case a.queue == nil:
	case a.lost.Load():
		a.own.Add(hdfspb.Status_ERROR)
	default:
		a.relayed(&a.own)
	}
	if bad, _ := a.own.Bad(); bad < 0 && k.seqno != transfer.HeartbeatSeqno && !k.last {
		x.w.Acked(k.end)
	}
	a.buf = transfer.AppendAck(a.buf, &a.own)
	if !flush {
		return nil
	}
	_, err := x.up.Write(a.buf)
	a.buf = a.buf[:0]
	if err == nil && k.status != hdfspb.Status_SUCCESS {
		err = fmt.Errorf("refused packet %d: %s", k.seqno, k.status)
	}
	return err
}
