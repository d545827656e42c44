package datanode

import (
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// order is a command, and the reign in which it was given; see allegiance.
type order struct {
	reign uint64
	cmd   *hdfspb.DatanodeCommandProto
}

// enqueue leaves a command to be carried out. It never waits.
func (a *actor) enqueue(o order) {
	select {
	case a.todo <- o:
	default:
		a.log.Warn("datanode: too many commands wait, leaving one out", "type", o.cmd.GetCmdType())
	}
}

// command carries out what the namenode wants, one command after the other. Those that it gave when it was not active, or
// before another one was, are dropped.
func (a *actor) command() {
	for {
		select {
		case <-a.d.ctx.Done():
			return
		case o := <-a.todo:
			valid := a.d.during(o.reign, func() { a.obey(o.cmd) })
			if !valid && o.cmd.GetCmdType() != hdfspb.DatanodeCommandProto_KeyUpdateCommand {
				a.log.Info("datanode: ignoring a command of a namenode that is not active", "type", o.cmd.GetCmdType())
			}
		}
	}
}

// obey carries a command out, without waiting: what takes long goes on in the background.
func (a *actor) obey(c *hdfspb.DatanodeCommandProto) {
	d := a.d
	switch c.GetCmdType() {
	case hdfspb.DatanodeCommandProto_BlockCommand:
		a.block(c.GetBlkCmd())
	case hdfspb.DatanodeCommandProto_BlockRecoveryCommand:
		blocks := c.GetRecoveryCmd().GetBlocks()
		d.goDo(func() {
			d.count.busy.Add(1)
			defer d.count.busy.Add(-1)
			for _, b := range blocks {
				if err := d.recoverBlock(d.ctx, b); err != nil && d.ctx.Err() == nil {
					d.log.Warn("datanode: block recovery failed", "block", blockOf(b.GetBlock().GetB()), "recovery id", b.GetNewGenStamp(), "err", err)
				}
			}
		})
	case hdfspb.DatanodeCommandProto_BalancerBandwidthCommand:
		if n := int64(c.GetBalancerCmd().GetBandwidth()); n > 0 {
			d.mu.Lock()
			d.bandwidth = n
			d.mu.Unlock()
		}
	case hdfspb.DatanodeCommandProto_FinalizeCommand, hdfspb.DatanodeCommandProto_KeyUpdateCommand,
		hdfspb.DatanodeCommandProto_NullDatanodeCommand, hdfspb.DatanodeCommandProto_BlockIdCommand:
		// nothing to be done: no upgrade is under way, tokens are off, nothing is cached
	default:
		a.log.Warn("datanode: unknown command", "type", c.GetCmdType())
	}
}

func (a *actor) block(c *hdfspb.BlockCommandProto) {
	d := a.d
	if pool := d.poolID(); c.GetBlockPoolId() != pool {
		a.log.Warn("datanode: a command for another block pool", "pool", c.GetBlockPoolId(), "own", pool)
		return
	}
	switch c.GetAction() {
	case hdfspb.BlockCommandProto_INVALIDATE:
		blocks := make([]dfs.Block, len(c.Blocks))
		for i, b := range c.Blocks {
			blocks[i] = plainOf(b)
		}
		for _, err := range d.set.Invalidate(blocks...) {
			a.log.Info("datanode: invalidate", "err", err)
		}
	case hdfspb.BlockCommandProto_TRANSFER:
		for i, b := range c.Blocks {
			if i >= len(c.Targets) {
				break
			}
			t := copyTargets{nodes: c.Targets[i].GetDatanodes()}
			if i < len(c.TargetStorageTypes) {
				t.types = c.TargetStorageTypes[i].GetStorageTypes()
			}
			if i < len(c.TargetStorageUuids) {
				t.storages = c.TargetStorageUuids[i].GetStorageUuids()
			}
			d.replicate(plainOf(b), t)
		}
	default:
		a.log.Warn("datanode: refusing a command", "action", c.GetAction())
	}
}

// replicate copies a replica to other datanodes, in the background.
func (d *DataNode) replicate(b dfs.Block, to copyTargets) {
	info, ok := d.set.Replica(b.ID)
	switch {
	case !ok || info.State != dfs.ReplicaFinalized || info.GenStamp != b.GenStamp:
		d.reportError(codeInvalid, fmt.Sprintf("Can't send invalid block %s", b))
		return
	case info.Len < b.Len:
		d.log.Warn("datanode: a replica is shorter than its block", "replica", info.Block, "has", info.Len, "want", b.Len)
		d.reportBad(b)
		return
	}
	d.addXmits(1)
	started := d.goDo(func() {
		defer d.addXmits(-1)
		if err := d.copyTo(d.ctx, dfs.ExtendedBlock{Pool: d.poolID(), Block: info.Block}, stageCreate, "", to); err != nil && d.ctx.Err() == nil {
			d.log.Warn("datanode: could not copy a replica", "block", info.Block, "err", err)
		}
	})
	if !started {
		d.addXmits(-1)
	}
}

func (d *DataNode) addXmits(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.xmits += n
}
