package datanode

import (
	"errors"
	"fmt"
	"io"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// maxPooled bounds the packets whose buffer is kept for other connections.
const maxPooled = 256 << 10

// receive takes packets until the block ends: each is passed on, verified where that is this node's part, stored, and
// acked. An error leaves the replica as it is.
func (x *write) receive() error {
	d := x.d
	packets, ok := d.packets.Get().(*transfer.PacketReader)
	if !ok {
		packets = transfer.NewPacketReader(nil)
	}
	packets.Reset(x.up.r)
	biggest := 0
	defer func() {
		packets.Reset(nil)
		if biggest <= maxPooled {
			d.packets.Put(packets)
		}
	}()
	// the last node verifies, and who makes a copy; who stores other sums than it gets has to
	x.verify = x.mirror == nil || x.client == "" || x.sum != onWire(x.w.Checksum())

	x.event = Event{Op: transfer.OpWriteBlock, Block: x.block, Client: x.client, Peer: x.up.addr}
	acks := acker{x: x, event: x.event}
	if x.fromClient() {
		d.count.busy.Add(1)
		defer d.count.busy.Add(-1)
		acks.begin()
		defer acks.abandon()
	}
	for {
		p, err := packets.Next()
		if err != nil {
			return x.ended(err)
		}
		biggest = max(biggest, len(p.Raw()))
		d.count.packetsIn.Add(1)
		d.count.written.Add(int64(len(p.Data)))
		if hook := d.opt.TransferHook; hook != nil {
			x.event.Kind, x.event.Header, x.event.Data = EventPacketIn, p.Header, p.Data
			err := hook(d.ctx, &x.event)
			if errors.Is(err, ErrDrop) {
				continue
			}
			if err != nil {
				return err
			}
		}
		x.passOn(p, &acks)
		status, err := x.store(p)
		if err != nil && status == hdfspb.Status_SUCCESS {
			return err
		}
		if x.fromClient() {
			if aerr := acks.send(ack{p.Seqno, p.Offset + int64(p.DataLen), p.Last, status}); err == nil {
				err = aerr
			}
		}
		if err != nil {
			if status != hdfspb.Status_SUCCESS {
				x.up.linger()
			}
			return err
		}
		if p.Last {
			break
		}
	}
	if !x.fromClient() {
		return x.complete()
	}
	if err := acks.finish(); err != nil {
		return err
	}
	x.whole = !acks.lost.Load()
	return nil
}

// ended explains that no more packets come.
func (x *write) ended(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the writer left after %d bytes: %w", x.w.Len(), io.ErrUnexpectedEOF)
	}
	return err
}

// passOn writes the packet to the next node. A node that is lost does not end the writing here: the client hears of it
// with the ack.
func (x *write) passOn(p *transfer.Packet, acks *acker) {
	if x.mirror == nil || acks.lost.Load() {
		return
	}
	if _, err := x.mirror.Write(p.Raw()); err != nil {
		x.d.log.Info("datanode: lost the next node of a pipeline", "block", x.block, "next", x.mirror.addr, "err", err)
		acks.lose()
		return
	}
	x.d.count.mirrored.Add(int64(len(p.Data)))
}

// store verifies a packet where that is due and writes it. A status other than SUCCESS is for the ack.
func (x *write) store(p *transfer.Packet) (hdfspb.Status, error) {
	if p.DataLen == 0 {
		if p.Sync && !p.Heartbeat() {
			return hdfspb.Status_SUCCESS, x.w.Sync()
		}
		return hdfspb.Status_SUCCESS, nil
	}
	bare := len(p.Sums) == 0 // Java sends no sums of a file with the policy LAZY_PERSIST and one replica
	if err := x.sum.CheckLen(len(p.Data), len(p.Sums)); err != nil && !bare {
		return hdfspb.Status_SUCCESS, err
	}
	if off := p.Offset % int64(x.sum.BytesPerChunk); off != 0 && off+int64(p.DataLen) > int64(x.sum.BytesPerChunk) {
		return hdfspb.Status_SUCCESS, dfs.Errorf(dfs.ClassIO,
			"Packet %d of %s has %d bytes at %d, which is more than the rest of one chunk of %d", p.Seqno, x.block, p.DataLen, p.Offset, x.sum.BytesPerChunk)
	}
	if x.verify && !bare {
		if err := x.sum.Verify(p.Data, p.Sums); err != nil {
			if x.req.Source != nil && x.client == "" {
				x.d.reportRemoteBad(x.block.Block, x.req.Source)
			}
			return hdfspb.Status_ERROR_CHECKSUM, fmt.Errorf("packet %d at %d: %w", p.Seqno, p.Offset, err)
		}
	}
	sums := p.Sums
	if bare || x.sum != onWire(x.w.Checksum()) {
		sums = nil
	}
	err := x.w.Write(p.Offset, p.Data, sums)
	if err == nil && p.Sync {
		err = x.w.Sync()
	}
	return hdfspb.Status_SUCCESS, err
}

// complete ends the writing of a replica, all of which has come: the namenode hears of it before the writer does.
func (x *write) complete() error {
	if x.stage == stageTransferRBW && x.copy() {
		_, err := x.w.ToRBW()
		return err
	}
	b, err := x.w.Finalize()
	if err != nil {
		return err
	}
	x.d.count.finalized.Add(1)
	if !x.copy() {
		x.d.received(x.w.Storage().ID(), b, x.delHint)
	}
	return nil
}
