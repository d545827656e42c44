package datanode

import (
	"context"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
)

// lost forgets a replica whose files are gone.
func (d *DataNode) lost(b dfs.Block) {
	info, ok := d.set.Replica(b.ID)
	if !ok || info.State != dfs.ReplicaFinalized {
		return
	}
	d.log.Warn("datanode: the files of a replica are gone", "block", info.Block, "path", info.Data)
	d.set.Invalidate(info.Block)
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
