package datanode

import (
	"context"
	"errors"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// tellAll makes a call to every namenode, in the background. A standby refuses, which is no matter.
func (d *DataNode) tellAll(what string, call func(*actor) error) {
	for _, a := range d.actors {
		if a.registration() == nil {
			continue
		}
		d.goDo(func() {
			if err := call(a); err != nil && !errors.Is(err, dfs.ClassStandby) && d.ctx.Err() == nil {
				a.log.Info("datanode: a namenode did not take a message", "method", what, "err", err)
			}
		})
	}
}

// reportBad tells the namenodes that the replica here is corrupt.
func (d *DataNode) reportBad(b dfs.Block) {
	info, ok := d.set.Replica(b.ID)
	if !ok {
		return
	}
	self := &hdfspb.DatanodeInfoProto{Id: datanodeProto(d.id)}
	st := hdfspb.StorageTypeProto_DISK
	for _, v := range d.set.Volumes() {
		if v.ID() == info.Storage {
			st = hdfspb.StorageTypeProto(v.Type())
		}
	}
	d.reportBadAt(info.Block, self, info.Storage, st)
}

// reportRemoteBad tells the namenodes that the replica at another datanode, which a copy came from, is corrupt.
func (d *DataNode) reportRemoteBad(b dfs.Block, at *hdfspb.DatanodeInfoProto) {
	d.reportBadAt(b, at, "", hdfspb.StorageTypeProto_DISK)
}

func (d *DataNode) reportBadAt(b dfs.Block, at *hdfspb.DatanodeInfoProto, storage string, st hdfspb.StorageTypeProto) {
	d.log.Warn("datanode: reporting a corrupt replica", "block", b, "at", at.GetId().GetIpAddr(), "port", at.GetId().GetXferPort())
	req := &hdfspb.DatanodeReportBadBlocksRequestProto{Blocks: []*hdfspb.LocatedBlockProto{{
		B: extendedProto(d.poolID(), b), Offset: ptr(uint64(0)), Locs: []*hdfspb.DatanodeInfoProto{at}, Corrupt: ptr(false),
		BlockToken: emptyToken(), StorageIDs: []string{storage}, StorageTypes: []hdfspb.StorageTypeProto{st},
	}}}
	d.tellAll("reportBadBlocks", func(a *actor) error {
		return a.call(d.ctx, "reportBadBlocks", req, &hdfspb.DatanodeReportBadBlocksResponseProto{})
	})
}

func emptyToken() *hdfspb.TokenProto {
	return &hdfspb.TokenProto{Identifier: []byte{}, Password: []byte{}, Kind: ptr(""), Service: ptr("")}
}

// The codes of an error report.
const (
	codeDisk      = uint32(hdfspb.ErrorReportRequestProto_DISK_ERROR)
	codeInvalid   = uint32(hdfspb.ErrorReportRequestProto_INVALID_BLOCK)
	codeFatalDisk = uint32(hdfspb.ErrorReportRequestProto_FATAL_DISK_ERROR)
)

func (d *DataNode) reportError(code uint32, message string) {
	d.tellAll("errorReport", func(a *actor) error { return a.reportError(d.ctx, code, message) })
}

func (a *actor) reportError(ctx context.Context, code uint32, message string) error {
	req := &hdfspb.ErrorReportRequestProto{Registartion: a.registration(), ErrorCode: &code, Msg: &message}
	return a.call(ctx, "errorReport", req, &hdfspb.ErrorReportResponseProto{})
}

// commit reports the outcome of a block recovery to the namenode that is obeyed.
func (d *DataNode) commit(ctx context.Context, req *hdfspb.CommitBlockSynchronizationRequestProto) error {
	a := d.obeyed()
	if a == nil {
		return dfs.Errorf(dfs.ClassIO, "Block pool %s has not recognized an active NN", d.poolID())
	}
	return a.call(ctx, "commitBlockSynchronization", req, &hdfspb.CommitBlockSynchronizationResponseProto{})
}
