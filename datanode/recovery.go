package datanode

import (
	"context"
	"errors"
	"fmt"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

// candidate is a replica that takes part in the recovery of its block.
type candidate struct {
	node  dfs.DatanodeID
	block dfs.Block
	state dfs.ReplicaState
}

// outcome is what a recovery makes of the candidates.
type outcome struct {
	length int64
	part   []candidate
}

// recoverBlock brings the replicas of a block to one length and stamp, as the namenode asks the first of their datanodes
// to: it stops their writers and asks for their states, chooses a length, sets it everywhere, and reports.
func (d *DataNode) recoverBlock(ctx context.Context, r *hdfspb.RecoveringBlockProto) error {
	b := blockOf(r.GetBlock().GetB())
	id := dfs.GenStamp(r.GetNewGenStamp())
	list, err := d.candidates(ctx, r, b.Block, id)
	if errors.Is(err, errOtherRecovery) {
		d.log.Info("datanode: leaving a block to a newer recovery", "block", b, "recovery id", id, "err", err)
		return nil
	}
	if err != nil {
		return err
	}
	if len(list) == 0 { // nobody has a byte of it
		return d.commit(ctx, &hdfspb.CommitBlockSynchronizationRequestProto{
			Block: extendedProto(b.Pool, b.Block), NewGenStamp: ptr(uint64(id)), NewLength: ptr(uint64(0)), CloseFile: ptr(true), DeleteBlock: ptr(true),
		})
	}
	out, err := choose(list)
	if err != nil {
		return fmt.Errorf("block=%s: %w", b, err)
	}
	copyTo := dfs.BlockID(0)
	if t := r.GetTruncateBlock(); t != nil {
		out.length = int64(t.GetNumBytes())
		copyTo = dfs.BlockID(t.GetBlockId())
	}
	req := &hdfspb.CommitBlockSynchronizationRequestProto{
		Block: extendedProto(b.Pool, b.Block), NewGenStamp: ptr(uint64(id)), NewLength: ptr(uint64(out.length)), CloseFile: ptr(true), DeleteBlock: ptr(false),
	}
	var failed error
	for _, c := range out.part {
		storage, err := d.setLength(ctx, c, b.Pool, id, out.length, copyTo)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", c.node, err))
			continue
		}
		req.NewTaragets = append(req.NewTaragets, datanodeProto(c.node))
		req.NewTargetStorages = append(req.NewTargetStorages, storage)
	}
	if len(req.NewTaragets) == 0 {
		return fmt.Errorf("datanode: cannot recover %s, the following datanodes failed: %w", b, failed)
	}
	if failed != nil {
		d.log.Warn("datanode: a recovery goes on without some replicas", "block", b, "err", failed)
	}
	return d.commit(ctx, req)
}

// errOtherRecovery ends a recovery quietly: one with a greater id is under way.
var errOtherRecovery = errors.New("another recovery is under way")

// candidates asks every datanode that may have the block, and gives the replicas that count: those with bytes, not
// older than the block, in state RWR or better.
func (d *DataNode) candidates(ctx context.Context, r *hdfspb.RecoveringBlockProto, b dfs.Block, id dfs.GenStamp) ([]candidate, error) {
	var list []candidate
	var failed error
	errs, seen := 0, 0
	locs := r.GetBlock().GetLocs()
	for _, loc := range locs {
		c, found, err := d.initRecovery(ctx, datanodeOf(loc.GetId()), r, b, id)
		switch {
		case errors.Is(err, dfs.ClassRecoveryInProgress):
			return nil, fmt.Errorf("%w: %w", errOtherRecovery, err)
		case err != nil:
			errs++
			failed = errors.Join(failed, fmt.Errorf("%s: %w", c.node, err))
		case !found || c.block.GenStamp < b.GenStamp || c.block.Len == 0:
		case c.state > dfs.ReplicaRWR:
			seen++
		default:
			seen++
			list = append(list, c)
		}
	}
	if len(locs) == 0 {
		return nil, fmt.Errorf("datanode: the namenode names no datanode that has %s", b)
	}
	if errs == len(locs) {
		return nil, fmt.Errorf("datanode: all datanodes failed: block=%s: %w", b, failed)
	}
	if seen > 0 && len(list) == 0 {
		return nil, fmt.Errorf("datanode: found %d replica(s) for block %s, none in state RWR or better", seen, b)
	}
	if failed != nil {
		d.log.Info("datanode: a recovery goes on without some datanodes", "block", b, "err", failed)
	}
	return list, nil
}

// choose decides the length: that of the finalized replicas, which must agree, else the shortest in the best state.
func choose(list []candidate) (outcome, error) {
	best, finalized := dfs.ReplicaRWR, int64(-1)
	for _, c := range list {
		best = min(best, c.state)
		if c.state != dfs.ReplicaFinalized {
			continue
		}
		if finalized >= 0 && finalized != c.block.Len {
			return outcome{}, fmt.Errorf("datanode: finalized replicas differ: %s of %s has %d bytes, another one %d", c.block, c.node, c.block.Len, finalized)
		}
		finalized = c.block.Len
	}
	out := outcome{length: finalized}
	for _, c := range list {
		switch {
		case best == dfs.ReplicaFinalized:
			if c.state == dfs.ReplicaFinalized || c.state == dfs.ReplicaRBW && c.block.Len == finalized {
				out.part = append(out.part, c)
			}
		case c.state == best:
			if out.length < 0 || c.block.Len < out.length {
				out.length = c.block.Len
			}
			out.part = append(out.part, c)
		}
	}
	return out, nil
}

// initRecovery stops the writing at one datanode, and gives its replica.
func (d *DataNode) initRecovery(ctx context.Context, node dfs.DatanodeID, r *hdfspb.RecoveringBlockProto, b dfs.Block, id dfs.GenStamp) (candidate, bool, error) {
	if node.UUID == d.id.UUID {
		info, found, err := d.set.InitRecovery(ctx, b, id)
		return candidate{d.id, info.Block, info.Original}, found, err
	}
	var answer hdfspb.InitReplicaRecoveryResponseProto
	err := d.callDatanode(ctx, node, func(ctx context.Context, c *rpc.Client) error {
		return c.Call(ctx, "initReplicaRecovery", &hdfspb.InitReplicaRecoveryRequestProto{Block: r}, &answer)
	})
	return candidate{node, plainOf(answer.GetBlock()), dfs.ReplicaState(answer.GetState())}, answer.GetReplicaFound(), err
}

// setLength ends the recovery at one datanode and gives the storage that holds the replica.
func (d *DataNode) setLength(ctx context.Context, c candidate, pool string, id dfs.GenStamp, n int64, copyTo dfs.BlockID) (string, error) {
	if c.node.UUID == d.id.UUID {
		return d.updateReplica(ctx, c.block, id, n, copyTo)
	}
	if copyTo == 0 {
		copyTo = c.block.ID
	}
	req := &hdfspb.UpdateReplicaUnderRecoveryRequestProto{
		Block: extendedProto(pool, c.block), RecoveryId: ptr(uint64(id)), NewLength: ptr(uint64(n)), NewBlockId: ptr(uint64(copyTo)),
	}
	var answer hdfspb.UpdateReplicaUnderRecoveryResponseProto
	err := d.callDatanode(ctx, c.node, func(ctx context.Context, c *rpc.Client) error {
		return c.Call(ctx, "updateReplicaUnderRecovery", req, &answer)
	})
	return answer.GetStorageUuid(), err
}

// callDatanode makes one call to another datanode, over a connection of its own.
func (d *DataNode) callDatanode(ctx context.Context, to dfs.DatanodeID, call func(context.Context, *rpc.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.opt.ReadTimeout)
	defer cancel()
	c := rpc.NewClient(to.IPCAddr(), rpc.ClientOptions{Dial: d.opt.Dial, User: "hdfs", Protocol: interDatanodeProtocol, Version: 1, Logger: d.log})
	err := call(ctx, c)
	return errors.Join(err, c.Close())
}
