package datanode

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// hear takes what a namenode says of itself. One that claims to be active is obeyed from now on if its transaction id
// is greater than that of any claim before; an equal one may be an old active that does not know better.
func (d *DataNode) hear(a *actor, active bool, txid int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case active && d.active != a:
		if txid <= d.claim {
			a.log.Warn("datanode: a namenode claims to be active, a newer claim is known", "txid", txid, "known", d.claim)
			return
		}
		a.log.Info("datanode: obeying a namenode", "txid", txid)
		d.active, d.claim = a, txid
	case active:
		d.claim = max(d.claim, txid)
	case d.active == a:
		a.log.Info("datanode: the active namenode gave that up", "txid", txid)
		d.active = nil
	}
}

// forsake obeys a no longer.
func (d *DataNode) forsake(a *actor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.active == a {
		d.active = nil
	}
}

// obeyed gives the active namenode, nil if none is known.
func (d *DataNode) obeyed() *actor {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.active
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

func emptyToken() *hdfspb.TokenProto {
	return &hdfspb.TokenProto{Identifier: []byte{}, Password: []byte{}, Kind: ptr(""), Service: ptr("")}
}

// lost forgets a replica whose files are gone.
func (d *DataNode) lost(b dfs.Block) {
	info, ok := d.set.Replica(b.ID)
	if !ok || info.State != dfs.ReplicaFinalized {
		return
	}
	d.log.Warn("datanode: the files of a replica are gone", "block", info.Block, "path", info.Data)
	d.set.Invalidate(info.Block)
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

// volumeFailed tells the namenodes that a volume is gone. Beyond what is tolerated the datanode ends its service.
func (d *DataNode) volumeFailed(v *volume.Volume, err error) {
	failed, left := len(d.set.Failures()), len(d.set.Volumes())
	fatal := left == 0 || d.opt.FailedVolumesTolerated >= 0 && failed > d.opt.FailedVolumesTolerated
	if !fatal {
		d.reportError(codeDisk, "DataNode failed volumes:"+v.Dir()+": "+err.Error())
		for _, a := range d.actors {
			d.goDo(func() { a.nudge(false) })
		}
		return
	}
	d.log.Error("datanode: too many failed volumes, ending the service", "failed", failed, "tolerated", d.opt.FailedVolumesTolerated)
	d.goDo(func() { d.farewell("DataNode failed volumes:" + v.Dir() + ": " + err.Error()) })
}

// farewellTimeout is how long the namenodes have to hear that the service ends.
const farewellTimeout = 2 * time.Second

// farewell tells the namenodes that the disks are gone, and ends the service.
func (d *DataNode) farewell(message string) {
	ctx, cancel := context.WithTimeout(d.ctx, farewellTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, a := range d.actors {
		if a.registration() != nil {
			wg.Go(func() { _ = a.reportError(ctx, codeFatalDisk, message) })
		}
	}
	wg.Wait()
	if err := d.sever(); err != nil {
		d.log.Debug("datanode: closing connections", "err", err)
	}
}
