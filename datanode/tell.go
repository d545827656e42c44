package datanode

import (
	"context"
	"errors"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// message is a call to a namenode that nobody waits for.
type message struct {
	method string
	call   func(context.Context, *actor) error
}

// tellAll leaves a message for every namenode. Each gets it from its own report goroutine, before the next report.
func (d *DataNode) tellAll(m message) {
	for _, a := range d.actors {
		a.tell(m)
		a.flush()
	}
}

func (a *actor) tell(m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stopped != nil:
	case len(a.words) == maxWords:
		a.log.Warn("datanode: too many messages wait for a namenode, leaving one out", "method", m.method)
	default:
		a.words = append(a.words, m)
	}
}

// speak sends the messages. One that the namenode refuses is gone: a standby always does. The others wait for the next
// heartbeat when the namenode cannot be reached.
func (a *actor) speak(ctx context.Context) {
	for a.registration() != nil {
		a.mu.Lock()
		if len(a.words) == 0 {
			a.mu.Unlock()
			return
		}
		m := a.words[0]
		a.mu.Unlock()
		err := m.call(ctx, a)
		var refused *dfs.RemoteError
		if err != nil && ctx.Err() == nil && !errors.Is(err, dfs.ClassStandby) {
			a.log.Info("datanode: a namenode did not take a message", "method", m.method, "err", err)
		}
		if err != nil && !errors.As(err, &refused) {
			return
		}
		a.mu.Lock()
		if len(a.words) > 0 { // not stopped meanwhile
			a.words = a.words[1:]
		}
		a.mu.Unlock()
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
	d.tellAll(message{"reportBadBlocks", func(ctx context.Context, a *actor) error {
		return a.call(ctx, "reportBadBlocks", req, &hdfspb.DatanodeReportBadBlocksResponseProto{})
	}})
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

func (d *DataNode) reportError(code uint32, text string) {
	d.tellAll(message{"errorReport", func(ctx context.Context, a *actor) error { return a.reportError(ctx, code, text) }})
}

func (a *actor) reportError(ctx context.Context, code uint32, text string) error {
	req := &hdfspb.ErrorReportRequestProto{Registartion: a.registration(), ErrorCode: &code, Msg: &text}
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
