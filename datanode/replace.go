package datanode

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// replaceBlock answers REPLACE_BLOCK: a balancer wants a replica fetched from another datanode, or moved to another of the
// storages here. The balancer hears twice a minute that it is still going on.
func (d *DataNode) replaceBlock(p *peer) error {
	req := &hdfspb.OpReplaceBlockProto{}
	b, err := d.begin(p, transfer.OpReplaceBlock, req, func() (*hdfspb.BaseHeaderProto, string) { return req.GetHeader(), "" })
	if err != nil {
		return err
	}
	stop := d.progress(p)
	if req.GetSource().GetId().GetDatanodeUuid() == d.id.UUID {
		err = d.moveHere(b.Block, req)
	} else {
		err = d.fetch(b, req)
	}
	stop()
	if err != nil {
		p.fail(fmt.Errorf("opReplaceBlock %s received exception %w", b, err))
		return err
	}
	return p.answer(hdfspb.Status_SUCCESS, "")
}

// progress sends IN_PROGRESS again and again until it is stopped.
func (d *DataNode) progress(p *peer) (stop func()) {
	ctx, cancel := context.WithCancel(d.ctx)
	var wg sync.WaitGroup
	wg.Add(1)
	started := d.goDo(func() {
		defer wg.Done()
		tick := time.NewTicker(d.opt.ReadTimeout / 2)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if p.answer(hdfspb.Status_IN_PROGRESS, "") != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	if !started {
		wg.Done()
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// moveHere moves a replica to a storage of another type.
func (d *DataNode) moveHere(b dfs.Block, req *hdfspb.OpReplaceBlockProto) error {
	old, ok := d.set.Replica(b.ID)
	info, err := d.set.MoveTo(d.ctx, b, dfs.StorageType(req.GetStorageType()))
	if err != nil || !ok {
		return err
	}
	if old.Storage != info.Storage {
		d.replicaDeleted(old.Storage, info.Block)
		d.received(info.Storage, info.Block, req.GetDelHint())
	}
	return nil
}

// fetch copies a replica from another datanode by COPY_BLOCK.
func (d *DataNode) fetch(b dfs.ExtendedBlock, req *hdfspb.OpReplaceBlockProto) error {
	from := datanodeOf(req.GetSource().GetId())
	src, err := d.dial(d.ctx, from)
	if err != nil {
		return fmt.Errorf("from %s: %w", from, err)
	}
	defer src.release()
	op := &hdfspb.OpCopyBlockProto{Header: &hdfspb.BaseHeaderProto{Block: req.GetHeader().GetBlock(), Token: emptyToken()}}
	if err := transfer.WriteOp(src, transfer.OpCopyBlock, op); err != nil {
		return fmt.Errorf("from %s: %w", from, err)
	}
	var ok hdfspb.BlockOpResponseProto
	if err := transfer.ReadMessage(src.r, &ok); err != nil {
		return fmt.Errorf("from %s: %w", from, err)
	}
	if err := refusal(&ok); err != nil {
		return fmt.Errorf("from %s: %w", from, err)
	}
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	x := &write{d: d, up: src, cancel: cancel, stage: stageCreate, block: b, delHint: req.GetDelHint(), req: &hdfspb.OpWriteBlockProto{
		StorageType: req.GetStorageType().Enum(), RequestedChecksum: ok.GetReadOpChecksumInfo().GetChecksum(),
		Source: req.GetSource(), Stage: stageCreate.Enum(),
	}}
	if err := x.check(); err != nil {
		return err
	}
	if _, err := x.open(ctx); err != nil {
		return err
	}
	defer x.w.Close()
	if err := x.receive(); err != nil {
		return fmt.Errorf("from %s: %w", from, err)
	}
	var free [2]byte // the source's resources are free again; it is no matter if that is not said
	_, _ = src.r.Read(free[:])
	return nil
}
