package datanode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// accept takes the connections of the data protocol until the listener is closed.
func (d *DataNode) accept(l net.Listener) {
	pause := time.Duration(0)
	for {
		c, err := l.Accept()
		if err == nil {
			pause = 0
			if p := d.newPeer(c); p != nil && !d.goDo(func() { d.serve(p) }) {
				p.release()
			}
			continue
		}
		if errors.Is(err, net.ErrClosed) || d.ctx.Err() != nil {
			return
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		d.log.Warn("datanode: cannot accept a connection", "addr", l.Addr(), "err", err, "retry", pause)
		if !d.wait(pause) {
			return
		}
	}
}

// wait sleeps, and reports whether the datanode is still at work.
func (d *DataNode) wait(t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.ctx.Done():
		return false
	}
}

// serve carries out the operations of one connection, one after the other.
func (d *DataNode) serve(p *peer) {
	n := d.count.xceivers.Add(1) - d.count.kept.Load()
	defer d.count.xceivers.Add(-1)
	defer p.release()
	if n > int64(d.opt.MaxXceivers) {
		d.log.Warn("datanode: too many connections", "peer", p.addr, "limit", d.opt.MaxXceivers)
		return
	}
	for op, err := transfer.ReadOp(p.r); ; op, err = d.nextOp(p, op) {
		if err != nil {
			if errors.Is(err, transfer.ErrMalformed) {
				d.log.Info("datanode: refused a connection", "peer", p.addr, "err", err)
			}
			return
		}
		p.setReadTimeout(d.opt.ReadTimeout)
		d.count.ops[op].Add(1)
		again, err := d.operate(p, op)
		if err != nil {
			d.log.Log(d.ctx, levelOf(err), "datanode: operation failed", "op", op, "peer", p.addr, "err", err)
		}
		if !again || err != nil {
			return
		}
	}
}

// levelOf tells what only the operator can mend, and no client is told, from what happens every day.
func levelOf(err error) slog.Level {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, volume.ClassDiskOutOfSpace) {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// nextOp waits for the operation after another one. To wait for another block is no load that a namenode should hear of.
func (d *DataNode) nextOp(p *peer, after transfer.Op) (transfer.Op, error) {
	p.setTimeouts(d.opt.KeepAlive, d.opt.WriteTimeout)
	if after == transfer.OpWriteBlock {
		d.count.kept.Add(1)
		defer d.count.kept.Add(-1)
	}
	return transfer.ReadOp(p.r)
}

// operate carries out one operation and reports whether the connection can take another.
func (d *DataNode) operate(p *peer, op transfer.Op) (bool, error) {
	switch op {
	case transfer.OpWriteBlock:
		return d.writeBlock(p)
	case transfer.OpReadBlock:
		return d.readBlock(p)
	case transfer.OpBlockChecksum:
		return false, d.blockChecksum(p)
	case transfer.OpTransferBlock:
		return false, d.transferBlock(p)
	case transfer.OpCopyBlock:
		return false, d.copyBlock(p)
	case transfer.OpReplaceBlock:
		return false, d.replaceBlock(p)
	case transfer.OpRequestShortCircuitFDs, transfer.OpReleaseShortCircuitFDs, transfer.OpRequestShortCircuitShm, transfer.OpBlockGroupChecksum:
		return false, p.answer(hdfspb.Status_ERROR_UNSUPPORTED, fmt.Sprintf("%s is not supported here", op))
	}
	return false, p.answer(hdfspb.Status_ERROR, fmt.Sprintf("Unknown op %d in data stream", byte(op)))
}

// begin reads the message of an operation and asks the hook. block and client are asked for once it is read. An error that
// is due to the hook was answered already.
func (d *DataNode) begin(p *peer, op transfer.Op, m proto.Message, about func() (*hdfspb.BaseHeaderProto, string)) (dfs.ExtendedBlock, error) {
	if err := transfer.ReadMessage(p.r, m); err != nil {
		return dfs.ExtendedBlock{}, err
	}
	header, client := about()
	b := blockOf(header.GetBlock())
	if hook := d.opt.TransferHook; hook != nil {
		err := hook(d.ctx, &Event{Kind: EventOp, Op: op, Block: b, Client: client, Peer: p.addr})
		if err != nil {
			if !errors.Is(err, ErrDrop) {
				p.fail(err)
			}
			return b, err
		}
	}
	if pool, ok := d.set.Pool(); !ok || pool.ID != b.Pool {
		err := dfs.Errorf(dfs.ClassIO, "this datanode has no block pool %s", b.Pool)
		p.fail(err)
		return b, err
	}
	return b, nil
}

// answer sends the answer to an operation.
func (p *peer) answer(s hdfspb.Status, message string) error {
	r := &hdfspb.BlockOpResponseProto{Status: &s}
	if message != "" {
		r.Message = &message
	}
	return transfer.WriteResponse(p, r)
}

// fail answers that an operation failed. That the answer may not arrive does not matter: the connection ends.
func (p *peer) fail(err error) {
	status := hdfspb.Status_ERROR
	if errors.Is(err, dfs.ClassReplicaExists) {
		status = hdfspb.Status_ERROR_EXISTS
	}
	_ = p.answer(status, dfs.AsRemote(err).Message)
}

// fault looks at an error met in reading a replica: the namenodes hear of one that is lost or corrupt.
func (d *DataNode) fault(b dfs.Block, err error) {
	if err == nil || d.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	switch {
	case errors.Is(err, volume.ErrMissing):
		d.lost(b)
	case errors.Is(err, volume.ErrBadMeta), errors.Is(err, syscall.EIO):
		d.reportBad(b)
	}
}

// gone tells whether an error only says that the peer went away.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
