package datanode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// splitThreshold is the number of blocks from which each storage has a call of its own in a full report.
const splitThreshold = 1_000_000

// bufferSize is how much of a block list goes into one piece.
const bufferSize = 64 << 10

// receiving, received and deleted tell all namenodes what has become of a replica: received at once, the others with the
// next heartbeat.
func (d *DataNode) receiving(storage string, b dfs.Block) {
	d.note(change{storage, b, hdfspb.ReceivedDeletedBlockInfoProto_RECEIVING, ""})
}

func (d *DataNode) received(storage string, b dfs.Block, hint string) {
	d.note(change{storage, b, hdfspb.ReceivedDeletedBlockInfoProto_RECEIVED, hint})
}

func (d *DataNode) replicaDeleted(storage string, b dfs.Block) {
	d.note(change{storage, b, hdfspb.ReceivedDeletedBlockInfoProto_DELETED, ""})
}

// note leaves the change for every namenode's own report, and waits for none of them.
func (d *DataNode) note(c change) {
	for _, a := range d.actors {
		a.note(c)
		if c.status == hdfspb.ReceivedDeletedBlockInfoProto_RECEIVED {
			a.flush()
		}
	}
}

func (a *actor) note(c change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped != nil {
		return
	}
	a.pending.add(c)
	if a.pending.len() > maxPending {
		a.log.Warn("datanode: too much is new to a namenode that does not listen, it gets a full report later", "replicas", a.pending.len())
		a.pending, a.behind = pending{}, true
	}
}

// flush makes report send what is pending.
func (a *actor) flush() {
	a.mu.Lock()
	empty := a.pending.empty() && len(a.words) == 0
	a.mu.Unlock()
	if empty {
		return
	}
	select {
	case a.dirty <- struct{}{}:
	default:
	}
}

// report sends block reports, one at a time: what a full report leaves out must not be news that an incremental one
// brought meanwhile.
func (a *actor) report() {
	for {
		select {
		case <-a.d.ctx.Done():
			return
		case <-a.dirty:
			a.speak(a.d.ctx)
			a.logFailure("incremental", a.incremental(a.d.ctx))
		case j := <-a.jobs:
			err := a.incremental(a.d.ctx)
			if err == nil {
				err = a.full(a.d.ctx, j.lease)
			}
			a.logFailure("full", err)
			a.end(j.ask, err)
		}
	}
}

// end tells beat that the full report for k is over. One that was refused for its lease (the namenode has started anew,
// say) goes back with it for another, once. It never waits: there is one report at a time.
func (a *actor) end(k ask, err error) {
	if errors.Is(err, dfs.ClassInvalidReportLease) && !k.again {
		k.full, k.again = true, true
		if k.done == nil {
			k.done = make(chan error, 1) // nobody reads it
		}
		a.ended <- k
		return
	}
	a.ended <- ask{}
	if k.done != nil {
		k.done <- err
	}
}

func (a *actor) logFailure(kind string, err error) {
	if err != nil && a.d.ctx.Err() == nil {
		a.log.Info("datanode: block report failed, it goes out again", "kind", kind, "err", err)
	}
}

// incremental sends what is pending; what cannot be sent stays pending until the next heartbeat. Where the call was sent and
// not answered in time, it may be carried out later, after newer ones: a full report sets that right.
func (a *actor) incremental(ctx context.Context) error {
	a.mu.Lock()
	reg := a.reg
	if reg == nil || a.pending.empty() {
		a.mu.Unlock()
		return nil
	}
	changes := a.pending.take()
	a.mu.Unlock()
	req := &hdfspb.BlockReceivedAndDeletedRequestProto{Registration: reg, BlockPoolId: ptr(a.d.poolID())}
	req.Blocks = byStorage(changes, a.d.set.Volumes())
	err := a.call(ctx, "blockReceivedAndDeleted", req, &hdfspb.BlockReceivedAndDeletedResponseProto{})
	if err != nil {
		a.mu.Lock()
		a.pending.putBack(changes)
		a.behind = a.behind || errors.Is(err, context.DeadlineExceeded)
		a.mu.Unlock()
		return err
	}
	a.d.count.incremental.Add(1)
	return nil
}

// byStorage groups changes; those of storages that are gone are of no interest.
func byStorage(changes []change, vols []*volume.Volume) []*hdfspb.StorageReceivedDeletedBlocksProto {
	var out []*hdfspb.StorageReceivedDeletedBlocksProto
	for _, v := range vols {
		var list []*hdfspb.ReceivedDeletedBlockInfoProto
		for _, c := range changes {
			if c.storage != v.ID() {
				continue
			}
			i := &hdfspb.ReceivedDeletedBlockInfoProto{Block: plainProto(c.block), Status: c.status.Enum()}
			if c.hint != "" {
				i.DeleteHint = ptr(c.hint)
			}
			list = append(list, i)
		}
		if list != nil {
			out = append(out, &hdfspb.StorageReceivedDeletedBlocksProto{StorageUuid: ptr(v.ID()), Storage: storageProto(v), Blocks: list})
		}
	}
	return out
}

// full sends a full report: in one call, or in one for each storage where there are very many blocks.
func (a *actor) full(ctx context.Context, lease uint64) (err error) {
	a.mu.Lock()
	longs, behind := a.longs, a.behind
	a.behind = false // before what is reported is looked at
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if err != nil {
			a.behind = a.behind || behind
		} else {
			a.due = time.Now().Add(a.d.opt.BlockReportInterval)
		}
	}()
	reign := a.d.reign(a) // before the call: its answer may bring a command
	byVolume := a.d.set.Reports()
	total := 0
	var reports []*hdfspb.StorageBlockReportProto
	for _, v := range a.d.set.Volumes() {
		list := byVolume[v]
		total += len(list)
		r := &hdfspb.StorageBlockReportProto{Storage: storageProto(v)}
		if longs {
			r.Blocks = encodeLongs(list)
		} else {
			r.NumberOfBlocks, r.BlocksBuffers = ptr(uint64(len(list))), encodeReports(list)
		}
		reports = append(reports, r)
	}
	calls := [][]*hdfspb.StorageBlockReportProto{reports}
	if total >= splitThreshold {
		calls = nil
		for i := range reports {
			calls = append(calls, reports[i:i+1])
		}
	}
	id := time.Now().UnixNano()
	for i, part := range calls {
		req := &hdfspb.BlockReportRequestProto{
			Registration: a.registration(), BlockPoolId: ptr(a.d.poolID()), Reports: part,
			Context: &hdfspb.BlockReportContextProto{TotalRpcs: ptr(int32(len(calls))), CurRpc: ptr(int32(i)), Id: &id, LeaseId: &lease},
		}
		var answer hdfspb.BlockReportResponseProto
		if err := a.call(ctx, "blockReport", req, &answer); err != nil {
			return err
		}
		if answer.Cmd != nil {
			a.enqueue(order{reign, answer.Cmd})
		}
	}
	a.d.count.full.Add(1)
	return nil
}

// encodeReports makes the list of replicas as it travels: four varints for each, the id in zig-zag, cut into pieces.
func encodeReports(list []volume.Report) [][]byte {
	var all []byte
	for _, r := range list {
		all = protowire.AppendVarint(all, protowire.EncodeZigZag(int64(r.ID)))
		all = protowire.AppendVarint(all, uint64(r.Len))
		all = protowire.AppendVarint(all, uint64(r.GenStamp))
		all = protowire.AppendVarint(all, uint64(r.State))
	}
	var out [][]byte
	for len(all) > bufferSize {
		out = append(out, all[:bufferSize:bufferSize])
		all = all[bufferSize:]
	}
	if len(all) > 0 {
		out = append(out, all)
	}
	return out
}

// encodeLongs makes the list of replicas as older namenodes take it: two counts, the finalized ones, a mark, the others.
func encodeLongs(list []volume.Report) []uint64 {
	done, open := []uint64{0, 0}, []uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64}
	for _, r := range list {
		entry := []uint64{uint64(r.ID), uint64(r.Len), uint64(r.GenStamp)}
		if r.State == dfs.ReplicaFinalized {
			done[0]++
			done = append(done, entry...)
		} else {
			done[1]++
			open = append(append(open, entry...), uint64(r.State))
		}
	}
	return append(done, open...)
}

func (d *DataNode) poolID() string {
	p, _ := d.set.Pool()
	return p.ID
}

// TriggerHeartbeat sends a heartbeat now and waits for the answer: to every namenode, or to those at the addresses. They are
// asked at the same time; one that is silent costs the time until ctx ends, and delays none of the others.
func (d *DataNode) TriggerHeartbeat(ctx context.Context, namenodes ...string) error {
	return d.ask(ctx, false, namenodes)
}

// TriggerBlockReport sends a full block report now and waits for the answer: to every namenode, or to those at the addresses,
// as TriggerHeartbeat does.
func (d *DataNode) TriggerBlockReport(ctx context.Context, namenodes ...string) error {
	return d.ask(ctx, true, namenodes)
}

func (d *DataNode) ask(ctx context.Context, full bool, addrs []string) error {
	errs := make([]error, len(d.actors))
	var wg sync.WaitGroup
	for i, a := range d.actors {
		if len(addrs) == 0 || slices.Contains(addrs, a.addr) {
			wg.Go(func() { errs[i] = a.ask(ctx, full) })
		}
	}
	wg.Wait()
	if d.ctx.Err() != nil {
		return errEnded
	}
	return errors.Join(errs...)
}

// ask has beat send a heartbeat, or a full report, and waits for its result.
func (a *actor) ask(ctx context.Context, full bool) error {
	k := ask{full: full, done: make(chan error, 1)}
	select {
	case a.door(full) <- k:
	case <-a.d.ctx.Done():
		return errEnded
	case <-ctx.Done():
		return fmt.Errorf("datanode: %s: %w", a.addr, ctx.Err())
	}
	select {
	case err := <-k.done:
		return err
	case <-a.d.ctx.Done():
		return errEnded
	case <-ctx.Done():
		return fmt.Errorf("datanode: %s: %w", a.addr, ctx.Err())
	}
}

var errEnded = errors.New("datanode: has ended")

// TriggerIncrementalReport sends every namenode what it has not heard of, as soon as a report under way is done.
func (d *DataNode) TriggerIncrementalReport() {
	for _, a := range d.actors {
		a.flush()
	}
}
