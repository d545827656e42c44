package datanode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

const (
	datanodeProtocol = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"
	softwareVersion  = "3.4.1"
	layoutVersion    = -57

	callTimeout  = 2 * time.Minute
	minBackoff   = 50 * time.Millisecond
	maxBackoff   = time.Second
	takesBuffers = 1 // the capability of a namenode to take block lists as buffers

	maxCommands = 1 << 10 // commands that wait; beyond that a heartbeat's are left for the namenode to repeat
	maxPending  = 1 << 16 // replicas that a namenode has not heard of; beyond that it gets a full report in their place
	maxWords    = 1 << 10 // messages that wait; beyond that new ones are left out
)

// actor speaks with one namenode. Three goroutines: beat registers and sends heartbeats, report sends block reports of both
// kinds, command does what the namenode wants.
type actor struct {
	d     *DataNode
	addr  string
	log   *slog.Logger
	rpc   *rpc.Client
	asks  chan ask        // to beat: a heartbeat is wanted
	fulls chan ask        // to beat: a full report is wanted
	dirty chan struct{}   // to report: pending has something to be sent now
	jobs  chan fullReport // to report
	ended chan ask        // to beat: the full report is no longer under way; what it was for, where it is to be sent again
	todo  chan order      // to command
	busy  bool            // beat's: a full report is under way, and a second lease would cancel its own

	mu      sync.Mutex
	reg     *hdfspb.DatanodeRegistrationProto // nil before the first registration
	longs   bool                              // the namenode wants block lists as plain numbers
	pending pending                           // what the next incremental report says
	words   []message                         // what it is to be told besides
	due     time.Time                         // of the next full report
	behind  bool                              // it has missed changes: a full report is due
	stopped error                             // why this namenode is no longer served
}

// ask makes beat send a heartbeat now, and a full report where full is set.
type ask struct {
	full  bool
	again bool // the namenode has refused one for its lease
	done  chan error
}

// fullReport is a full report that a namenode has given a lease for.
type fullReport struct {
	lease uint64
	ask   ask // done is nil where nobody waits
}

func newActor(d *DataNode, addr string) *actor {
	log := d.log.With("namenode", addr)
	return &actor{
		d: d, addr: addr, log: log,
		rpc: rpc.NewClient(addr, rpc.ClientOptions{
			Dial: d.opt.Dial, User: "hdfs", Protocol: datanodeProtocol, Version: 1, ConnectTimeout: 20 * time.Second, Logger: d.log,
		}),
		asks: make(chan ask), fulls: make(chan ask), dirty: make(chan struct{}, 1), jobs: make(chan fullReport, 1),
		ended: make(chan ask, 1), todo: make(chan order, maxCommands),
	}
}

// call makes a call to the namenode. One that has no answer in all its time ends the connection, as in Hadoop.
func (a *actor) call(ctx context.Context, method string, req, resp proto.Message) error {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	began := time.Now()
	err := a.rpc.Call(limited, method, req, resp)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		a.rpc.Cut(began)
	}
	return err
}

// registration gives what every call carries, nil before there is one.
func (a *actor) registration() *hdfspb.DatanodeRegistrationProto {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reg
}

// beat registers and sends heartbeats until the datanode ends or the namenode sends it away.
func (a *actor) beat() {
	defer a.rpc.Close()
	backoff := minBackoff
	var k ask // what the namenode has answered by asking for a registration goes out again afterwards
	for a.d.ctx.Err() == nil {
		err := a.register(a.d.ctx)
		if err == nil {
			backoff = minBackoff
			err = a.heartbeats(&k)
		}
		if err != nil && k.done != nil {
			k.done <- err
			k = ask{}
		}
		switch {
		case a.d.ctx.Err() != nil:
			return
		case final(err):
			a.log.Error("datanode: no longer serving a namenode", "err", err)
			a.mu.Lock()
			a.stopped, a.pending, a.words = err, pending{}, nil
			a.mu.Unlock()
			a.d.forsake(a)
			a.refuse(a.d.ctx.Done(), err)
			return
		case err != nil:
			a.log.Info("datanode: cannot register", "err", err, "retry", backoff)
			a.refuse(time.After(backoff), fmt.Errorf("datanode: not registered with %s: %w", a.addr, err))
			backoff = min(2*backoff, maxBackoff)
		}
	}
}

// door is where asks are taken: those for a full report while none is under way.
func (a *actor) door(full bool) chan<- ask {
	if full {
		return a.fulls
	}
	return a.asks
}

// nudge asks for a heartbeat soon, and does not wait for its result.
func (a *actor) nudge(full bool) {
	select {
	case a.door(full) <- ask{full: full, done: make(chan error, 1)}:
	case <-a.d.ctx.Done():
	}
}

// refuse answers asks with err until end.
func (a *actor) refuse(end any, err error) {
	var timer <-chan time.Time
	var done <-chan struct{}
	switch c := end.(type) {
	case <-chan time.Time:
		timer = c
	case <-chan struct{}:
		done = c
	}
	for {
		select {
		case k := <-a.asks:
			k.done <- err
		case k := <-a.fulls:
			k.done <- err
		case k := <-a.ended:
			a.busy = false
			if k.done != nil {
				k.done <- err
			}
		case <-timer:
			return
		case <-done:
			return
		case <-a.d.ctx.Done():
			return
		}
	}
}

// final tells the errors after which a namenode is not asked again.
func final(err error) bool {
	for _, e := range []error{dfs.ClassUnregisteredNode, dfs.ClassDisallowedDatanode, dfs.ClassIncorrectVersion, volume.ErrWrongPool} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// register learns which file system the namenode serves, and registers.
func (a *actor) register(ctx context.Context) error {
	var version hdfspb.VersionResponseProto
	if err := a.call(ctx, "versionRequest", &hdfspb.VersionRequestProto{}, &version); err != nil {
		return err
	}
	info := version.GetInfo()
	storage := info.GetStorageInfo()
	err := a.d.set.Join(volume.Pool{
		ID: info.GetBlockPoolID(), ClusterID: storage.GetClusterID(), NamespaceID: storage.GetNamespceID(), CTime: storage.GetCTime(),
	})
	if err != nil {
		return err
	}
	layout := int32(layoutVersion)
	reg := &hdfspb.DatanodeRegistrationProto{
		DatanodeID: datanodeProto(a.d.id),
		StorageInfo: &hdfspb.StorageInfoProto{
			LayoutVersion: ptr(uint32(layout)), NamespceID: ptr(storage.GetNamespceID()), ClusterID: ptr(storage.GetClusterID()), CTime: ptr(storage.GetCTime()),
		},
		Keys: &hdfspb.ExportedBlockKeysProto{
			IsBlockTokenEnabled: ptr(false), KeyUpdateInterval: ptr(uint64(0)), TokenLifeTime: ptr(uint64(0)),
			CurrentKey: &hdfspb.BlockKeyProto{KeyId: ptr(uint32(0)), ExpiryDate: ptr(uint64(0))},
		},
		SoftwareVersion: ptr(softwareVersion),
	}
	var answer hdfspb.RegisterDatanodeResponseProto
	if err := a.call(ctx, "registerDatanode", &hdfspb.RegisterDatanodeRequestProto{Registration: reg}, &answer); err != nil {
		return err
	}
	if id := answer.GetRegistration().GetDatanodeID(); id.GetDatanodeUuid() != a.d.id.UUID {
		return fmt.Errorf("datanode: registered as %s, the namenode answers %q", a.d.id.UUID, id.GetDatanodeUuid())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reg, a.longs = answer.GetRegistration(), info.GetCapabilities()&takesBuffers == 0
	a.due = time.Now()
	a.log.Info("datanode: registered", "uuid", a.d.id.UUID, "pool", info.GetBlockPoolID())
	return nil
}

// errRegister ends heartbeats when the namenode wants a registration.
var errRegister = errors.New("datanode: the namenode asks for a registration")

// heartbeats sends heartbeats until one tells to register again (nil) or that the namenode wants no more. The first is for
// k, where somebody waits; an ask that ends it is left there.
func (a *actor) heartbeats(k *ask) error {
	next := time.NewTimer(0)
	defer next.Stop()
	backoff := minBackoff
	for {
		if k.done == nil {
			fulls := a.fulls
			if a.busy {
				fulls = nil // they wait
			}
			select {
			case <-a.d.ctx.Done():
				return a.d.ctx.Err()
			case *k = <-a.ended:
				a.busy = false
				if k.done == nil {
					continue
				}
			case *k = <-a.asks:
			case *k = <-fulls:
			case <-next.C:
			}
		}
		began := time.Now()
		err := a.heartbeat(k)
		if errors.Is(err, errRegister) {
			return nil
		}
		if k.done != nil {
			k.done <- err
		}
		*k = ask{}
		pause := a.d.opt.HeartbeatInterval - time.Since(began)
		switch {
		case final(err):
			return err
		case err != nil && a.d.ctx.Err() == nil:
			a.log.Info("datanode: heartbeat failed", "err", err, "retry", min(backoff, max(pause, 0)))
			pause = min(backoff, pause)
			backoff = min(2*backoff, maxBackoff)
		default:
			backoff = minBackoff
		}
		next.Reset(max(pause, 0))
	}
}

// heartbeat sends one and takes what the answer brings. A full report that k asks for is handed on, and k with it.
func (a *actor) heartbeat(k *ask) error {
	now := time.Now()
	a.mu.Lock()
	if k.full {
		a.due = now
	}
	due := !a.busy && (a.behind || !a.due.After(now))
	reg := a.reg
	a.mu.Unlock()
	req := a.d.heartbeatRequest()
	req.Registration, req.RequestFullBlockReportLease = reg, &due
	var answer hdfspb.HeartbeatResponseProto
	if err := a.call(a.d.ctx, "sendHeartbeat", req, &answer); err != nil {
		return err
	}
	a.d.count.heartbeats.Add(1)
	status := answer.GetHaStatus()
	reign := a.d.hear(a, status.GetState() == hdfspb.NNHAStatusHeartbeatProto_ACTIVE, int64(status.GetTxid()))
	again := false
	for _, c := range answer.Cmds {
		if c.GetCmdType() == hdfspb.DatanodeCommandProto_RegisterCommand {
			again = true
			continue
		}
		a.enqueue(order{reign, c})
	}
	if again {
		return errRegister
	}
	if lease := answer.GetFullBlockReportLeaseId(); due && lease != 0 {
		a.busy = true
		a.jobs <- fullReport{lease, *k} // has room: none is under way
		*k = ask{}
	} else if k.full {
		return fmt.Errorf("datanode: %s has given no lease for a full block report", a.addr)
	}
	a.flush()
	return nil
}

// heartbeatRequest says how the datanode is.
func (d *DataNode) heartbeatRequest() *hdfspb.HeartbeatRequestProto {
	d.mu.Lock()
	xmits := d.xmits
	d.mu.Unlock()
	req := &hdfspb.HeartbeatRequestProto{
		XmitsInProgress: ptr(uint32(xmits)), XceiverCount: ptr(uint32(d.count.xceivers.Load() - d.count.kept.Load() + d.count.busy.Load())), FailedVolumes: ptr(uint32(0)),
		CacheCapacity: ptr(uint64(0)), CacheUsed: ptr(uint64(0)),
	}
	for _, u := range d.set.Usage() {
		req.Reports = append(req.Reports, &hdfspb.StorageReportProto{
			StorageUuid: ptr(u.Volume.ID()), Storage: storageProto(u.Volume), Failed: ptr(false),
			Capacity: ptr(uint64(u.Capacity)), DfsUsed: ptr(uint64(u.Used)), BlockPoolUsed: ptr(uint64(u.Used)), Remaining: ptr(uint64(u.Room)),
			NonDfsUsed: ptr(uint64(u.Other)),
		})
	}
	failures := d.set.Failures()
	if len(failures) == 0 {
		return req
	}
	req.FailedVolumes = ptr(uint32(len(failures)))
	sum := &hdfspb.VolumeFailureSummaryProto{LastVolumeFailureDate: ptr(uint64(0)), EstimatedCapacityLostTotal: ptr(uint64(0))}
	for _, f := range failures {
		sum.FailedStorageLocations = append(sum.FailedStorageLocations, f.Dir)
		sum.LastVolumeFailureDate = ptr(max(sum.GetLastVolumeFailureDate(), uint64(f.When.UnixMilli())))
		sum.EstimatedCapacityLostTotal = ptr(sum.GetEstimatedCapacityLostTotal() + uint64(f.Capacity))
	}
	req.VolumeFailureSummary = sum
	return req
}
