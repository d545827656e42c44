package datanode

import (
	"context"
	"errors"
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// copyTargets is where a replica goes: to the first, which passes it on to the others.
type copyTargets struct {
	nodes    []*hdfspb.DatanodeInfoProto
	types    []hdfspb.StorageTypeProto
	storages []string
}

// copyTo sends what is visible of a replica to another datanode. With a client's name the target answers once it has
// all; without one nobody answers, and the namenode hears from the target.
func (d *DataNode) copyTo(ctx context.Context, b dfs.ExtendedBlock, st stage, client string, to copyTargets) error {
	if len(to.nodes) == 0 {
		return nil
	}
	next := datanodeOf(to.nodes[0].GetId())
	p, err := d.dial(ctx, next)
	if err != nil {
		return fmt.Errorf("to %s: %w", next, err)
	}
	defer p.release()
	p.extend(len(to.nodes))
	s, err := d.newSender(p, transfer.OpTransferBlock, b, client, 0, b.Len, true)
	if err != nil {
		d.fault(b.Block, err)
		return err
	}
	defer s.close()
	req := &hdfspb.OpWriteBlockProto{
		Header: &hdfspb.ClientOperationHeaderProto{
			BaseHeader: &hdfspb.BaseHeaderProto{Block: extendedProto(b.Pool, b.Block), Token: emptyToken()}, ClientName: &client,
		},
		Targets: to.nodes, Source: &hdfspb.DatanodeInfoProto{Id: datanodeProto(d.id)}, Stage: &st,
		PipelineSize: ptr(uint32(0)), MinBytesRcvd: ptr(uint64(0)), MaxBytesRcvd: ptr(uint64(0)), LatestGenerationStamp: ptr(uint64(0)),
		RequestedChecksum: s.sums.Proto(), TargetStorageTypes: to.types, TargetStorageIds: to.storages,
	}
	if err := transfer.WriteOp(p, transfer.OpWriteBlock, shifted(req)); err != nil {
		return fmt.Errorf("to %s: %w", next, err)
	}
	w := d.writer(p)
	defer d.putWriter(w)
	err = s.send(w)
	d.fault(b.Block, err)
	if client == "" {
		if err != nil {
			err = fmt.Errorf("to %s: %w", next, err)
		}
		return err
	}
	if err != nil && !p.closeWrite() {
		return fmt.Errorf("to %s: %w", next, err)
	}
	var answer hdfspb.BlockOpResponseProto
	if rerr := transfer.ReadMessage(p.r, &answer); rerr != nil || err != nil { // after a failure it may say why
		return fmt.Errorf("to %s: %w", next, errors.Join(err, rerr, refusal(&answer)))
	}
	if err := refusal(&answer); err != nil {
		return fmt.Errorf("to %s: %w", next, err)
	}
	return nil
}

// refusal gives what an answer says where that is not success.
func refusal(r *hdfspb.BlockOpResponseProto) error {
	if r.GetStatus() == hdfspb.Status_SUCCESS {
		return nil
	}
	return fmt.Errorf("answered %s, first bad link %q, message %q", r.GetStatus(), r.GetFirstBadLink(), r.GetMessage())
}

// transferBlock answers TRANSFER_BLOCK: a client that rebuilds its pipeline wants the replica here copied to the new
// node.
func (d *DataNode) transferBlock(p *peer) error {
	req := &hdfspb.OpTransferBlockProto{}
	b, err := d.begin(p, transfer.OpTransferBlock, req, func() (*hdfspb.BaseHeaderProto, string) {
		return req.GetHeader().GetBaseHeader(), req.GetHeader().GetClientName()
	})
	if err != nil {
		return err
	}
	err = d.transferReplica(b, req)
	if err != nil {
		p.fail(err)
		return err
	}
	return p.answer(hdfspb.Status_SUCCESS, "")
}

func (d *DataNode) transferReplica(b dfs.ExtendedBlock, req *hdfspb.OpTransferBlockProto) error {
	info, ok := d.set.Replica(b.ID)
	var st stage
	switch {
	case !ok:
		return dfs.Errorf(dfs.ClassIO, "%s not found in datanode.", b)
	case info.GenStamp < b.GenStamp:
		return dfs.Errorf(dfs.ClassIO, "%d = storedGS < b.getGenerationStamp(), b=%s", info.GenStamp, b)
	case info.State == dfs.ReplicaRBW:
		st = stageTransferRBW
	case info.State == dfs.ReplicaFinalized:
		st = stageTransferFinalized
	default:
		return dfs.Errorf(dfs.ClassIO, "%s is neither a RBW nor a Finalized, r=%s", b, info.State)
	}
	b.Block = dfs.Block{ID: info.ID, GenStamp: info.GenStamp, Len: info.Visible}
	d.addXmits(1)
	defer d.addXmits(-1)
	return d.copyTo(d.ctx, b, st, req.GetHeader().GetClientName(), copyTargets{req.Targets, req.TargetStorageTypes, req.TargetStorageIds})
}

// copyBlock answers COPY_BLOCK: another datanode, or a balancer's target, fetches the replica.
func (d *DataNode) copyBlock(p *peer) error {
	req := &hdfspb.OpCopyBlockProto{}
	b, err := d.begin(p, transfer.OpCopyBlock, req, func() (*hdfspb.BaseHeaderProto, string) { return req.GetHeader(), "" })
	if err != nil {
		return err
	}
	s, err := d.newSender(p, transfer.OpCopyBlock, b, "", 0, -1, true)
	if err != nil {
		d.fault(b.Block, err)
		p.fail(err)
		return err
	}
	defer s.close()
	w := d.writer(p)
	defer d.putWriter(w)
	ok := &hdfspb.BlockOpResponseProto{
		Status:             hdfspb.Status_SUCCESS.Enum(),
		ReadOpChecksumInfo: &hdfspb.ReadOpChecksumInfoProto{Checksum: s.sums.Proto(), ChunkOffset: ptr(uint64(0))},
	}
	if err := transfer.WriteResponse(w, ok); err != nil {
		return err
	}
	if err := s.send(w); err != nil {
		d.fault(b.Block, err)
		return err
	}
	_, err = p.Write([]byte{0, 'd'}) // says that the resources here are free again
	if err != nil && gone(err) && !errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return err
}
