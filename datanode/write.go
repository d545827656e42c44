package datanode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

type stage = hdfspb.OpWriteBlockProto_BlockConstructionStage

// The stages that a write can begin with.
const (
	stageAppend            = hdfspb.OpWriteBlockProto_PIPELINE_SETUP_APPEND
	stageAppendRecovery    = hdfspb.OpWriteBlockProto_PIPELINE_SETUP_APPEND_RECOVERY
	stageStreamingRecovery = hdfspb.OpWriteBlockProto_PIPELINE_SETUP_STREAMING_RECOVERY
	stageCloseRecovery     = hdfspb.OpWriteBlockProto_PIPELINE_CLOSE_RECOVERY
	stageCreate            = hdfspb.OpWriteBlockProto_PIPELINE_SETUP_CREATE
	stageTransferRBW       = hdfspb.OpWriteBlockProto_TRANSFER_RBW
	stageTransferFinalized = hdfspb.OpWriteBlockProto_TRANSFER_FINALIZED
)

// write is one WRITE_BLOCK: a replica being received, and passed on where more nodes follow.
//
// With a client at the far end there is an answer to the operation and an ack for each packet. A datanode at the far
// end, which copies, sends no client name and gets neither; a copy on behalf of a client (the two TRANSFER stages) gets one
// answer at the end.
type write struct {
	d      *DataNode
	up     *peer
	mirror *peer // the next node; nil at the last one
	req    *hdfspb.OpWriteBlockProto
	stage  stage
	client string
	block  dfs.ExtendedBlock // under the stamp it gets
	w      *volume.Writer    // nil in a recovery of the closing
	sum    transfer.Checksum // of the packets
	verify bool
	event  Event // for the hook

	delHint string // uuid of a datanode whose replica may go once this one is here
	badLink string // the node further down that could not be reached, as the next node says
	cancel  context.CancelFunc
	whole   bool // all went well, to the last ack: the connections can take another operation

	mu      sync.Mutex
	aborted bool
	next    net.Conn // to the next node
}

func (x *write) fromClient() bool { return x.client != "" && !x.copy() }
func (x *write) copy() bool       { return x.stage == stageTransferRBW || x.stage == stageTransferFinalized }

// temporary tells whether the replica is of no use before it is complete.
func (x *write) temporary() bool { return x.client == "" || x.copy() }

// writeBlock reports whether the connection can take another operation.
func (d *DataNode) writeBlock(p *peer) (bool, error) {
	x := &write{d: d, up: p, req: &hdfspb.OpWriteBlockProto{}}
	var err error
	x.block, err = d.begin(p, transfer.OpWriteBlock, x.req, func() (*hdfspb.BaseHeaderProto, string) {
		return x.req.GetHeader().GetBaseHeader(), x.req.GetHeader().GetClientName()
	})
	if err != nil {
		return false, err
	}
	x.stage, x.client = x.req.GetStage(), x.req.GetHeader().GetClientName()
	err = x.run()
	if err != nil {
		err = fmt.Errorf("%s, stage %s: %w", x.block, x.stage, err)
	}
	return x.whole, err
}

func (x *write) run() error {
	ctx, cancel := context.WithCancel(x.d.ctx)
	defer cancel()
	x.cancel = cancel
	if err := x.check(); err != nil {
		x.up.fail(err)
		return err
	}
	closed, err := x.open(ctx)
	if err != nil {
		x.up.fail(err)
		if x.copy() { // the source sends on without waiting, and looks for an answer in the end
			x.up.linger()
		}
		return err
	}
	if x.w != nil {
		defer x.w.Close()
	}
	defer x.closeMirror()
	if err := x.connect(ctx); err != nil {
		return err
	}
	if x.w == nil {
		x.d.received(closed.Storage, closed.Block, "")
	}
	if x.fromClient() {
		ok := &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_SUCCESS.Enum(), FirstBadLink: ptr("")}
		if err := transfer.WriteResponse(x.up, ok); err != nil {
			return err
		}
	}
	if x.w == nil {
		return nil
	}
	if err := x.receive(); err != nil {
		return err
	}
	if x.copy() {
		return x.up.answer(hdfspb.Status_SUCCESS, "")
	}
	return nil
}

// check refuses what makes no sense before anything is done.
func (x *write) check() error {
	var err error
	if x.sum, err = transfer.ChecksumOf(x.req.GetRequestedChecksum()); err != nil {
		return err
	}
	if x.copy() && len(x.req.Targets) > 0 {
		return dfs.Errorf(dfs.ClassIO, "%s does not support multiple targets: %d are given", x.stage, len(x.req.Targets))
	}
	x.up.extend(len(x.req.Targets))
	if g := dfs.GenStamp(x.req.GetLatestGenerationStamp()); g != 0 && !x.temporary() && x.stage != stageCreate && g < x.block.GenStamp {
		return dfs.Errorf(dfs.ClassIO, "The new generation stamp %d should be greater than the replica %s's generation stamp", g, x.block)
	}
	return nil
}

// open makes or opens the replica, and moves x.block to its new stamp. A recovery of the closing is done with that, and
// gives the replica.
func (x *write) open(ctx context.Context) (volume.Info, error) {
	set, newGS := x.d.set, dfs.GenStamp(x.req.GetLatestGenerationStamp())
	old := x.block.Block
	if newGS != 0 && !x.temporary() {
		x.block.GenStamp = newGS
	}
	spec := volume.Spec{
		Block: x.block.Block, Type: dfs.StorageType(x.req.GetStorageType()), Checksum: onDisk(x.sum),
		Replace: newGS != 0, Cancel: x.abort,
	}
	again := volume.Resume{
		Block: old, GenStamp: newGS, Len: int64(x.req.GetMinBytesRcvd()), Max: int64(x.req.GetMaxBytesRcvd()),
		Room: old.Len, Cancel: x.abort,
	}
	var err error
	switch {
	case x.temporary():
		x.w, err = set.CreateTemporary(ctx, spec)
	case x.stage == stageCreate:
		x.w, err = set.CreateRBW(ctx, spec)
	case x.stage == stageAppend:
		x.w, err = set.Append(ctx, again)
	case x.stage == stageAppendRecovery:
		x.w, err = set.RecoverAppend(ctx, again)
	case x.stage == stageStreamingRecovery:
		x.w, err = set.RecoverRBW(ctx, again)
	case x.stage == stageCloseRecovery:
		return set.RecoverClose(ctx, again)
	default:
		err = dfs.Errorf(dfs.ClassIO, "Unsupported stage %s while receiving block %s from %s", x.stage, x.block, x.up.addr)
	}
	if err != nil {
		return volume.Info{}, err
	}
	if !x.temporary() && x.stage != stageStreamingRecovery {
		x.d.receiving(x.w.Storage().ID(), x.w.Block())
	}
	return volume.Info{}, nil
}

// abort makes the receiver stop soon, wherever it is: somebody else needs the replica.
func (x *write) abort() {
	x.mu.Lock()
	x.aborted = true
	next := x.next
	x.mu.Unlock()
	x.cancel()
	x.up.Conn.Close()
	if next != nil {
		next.Close()
	}
}

// attach makes m the connection to the next node; false once the write was aborted.
func (x *write) attach(m *peer) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mirror, x.next = m, m.Conn
	return !x.aborted
}

// connect reaches the next node and passes the operation on. Where that fails a client hears at which node; a copying
// datanode does not care, the replica here is good without the others.
func (x *write) connect(ctx context.Context) error {
	if len(x.req.Targets) == 0 {
		return nil
	}
	next := datanodeOf(x.req.Targets[0].GetId())
	err := x.reach(ctx, next)
	if err == nil {
		return nil
	}
	x.closeMirror()
	if x.client == "" {
		x.d.log.Info("datanode: receiving a copy without the next node", "block", x.block, "next", next, "err", err)
		return nil
	}
	link := next.XferAddr()
	if x.badLink != "" {
		link = x.badLink
	}
	r := &hdfspb.BlockOpResponseProto{Status: hdfspb.Status_ERROR.Enum(), FirstBadLink: &link}
	_ = transfer.WriteResponse(x.up, r)
	return fmt.Errorf("pipeline to %s: %w", next, err)
}

// reach passes the operation on to the next node, and waits for its answer where a client does. A connection that was
// kept may have been closed at the other end, which shows by there being no answer: a new one is dialled then.
func (x *write) reach(ctx context.Context, next dfs.DatanodeID) error {
	req := shifted(x.req)
	if x.fromClient() {
		if m := x.d.takeKept(next); m != nil {
			err := x.ask(m, req)
			if !errors.Is(err, errUnanswered) || errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
			x.closeMirror()
		}
	}
	m, err := x.d.dial(ctx, next)
	if err != nil {
		return err
	}
	return x.ask(m, req)
}

// errUnanswered is in the chain of the error when a connection ended before there was an answer.
var errUnanswered = errors.New("no answer")

func (x *write) ask(m *peer, req *hdfspb.OpWriteBlockProto) error {
	if !x.attach(m) {
		return net.ErrClosed
	}
	m.extend(len(x.req.Targets) + 1)
	var answer hdfspb.BlockOpResponseProto
	err := transfer.WriteOp(m, transfer.OpWriteBlock, req)
	if err == nil && x.fromClient() {
		err = transfer.ReadMessage(m.r, &answer)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnanswered, err)
	}
	x.badLink = answer.GetFirstBadLink()
	return refusal(&answer)
}

// shifted makes the operation the one that the next node gets: it is the first of the targets now.
func shifted(r *hdfspb.OpWriteBlockProto) *hdfspb.OpWriteBlockProto {
	r.Targets = r.Targets[1:]
	r.StorageType, r.StorageId, r.Pinning = nil, nil, nil
	if len(r.TargetStorageTypes) > 0 {
		r.StorageType, r.TargetStorageTypes = &r.TargetStorageTypes[0], r.TargetStorageTypes[1:]
	}
	if len(r.TargetStorageIds) > 0 {
		r.StorageId, r.TargetStorageIds = &r.TargetStorageIds[0], r.TargetStorageIds[1:]
	}
	if len(r.TargetPinnings) > 0 {
		r.Pinning, r.TargetPinnings = &r.TargetPinnings[0], r.TargetPinnings[1:]
	}
	return r
}

func (x *write) closeMirror() {
	switch m := x.mirror; {
	case m == nil:
		return
	case x.whole && m.r.Buffered() == 0:
		x.d.keep(m)
	default:
		m.release()
	}
	x.mirror = nil
}
