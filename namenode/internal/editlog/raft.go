package editlog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Raft is a Journal that the members of a Group keep together, each in its Stores.
type Raft struct {
	queue
	opts     RaftOptions
	sm       StateMachine
	identity Identity
	disk     *raftDisk
	net      *raftNet
	trans    *groupTransport
	raft     *raft.Raft
	fences   fences
	probes   probes

	slots   chan struct{}  // one for each entry in flight
	sent    chan *inflight // entries whose fate is open
	overdue chan struct{}  // it is time for a checkpoint
	closing chan struct{}  // closed by Close
	stop    chan struct{}  // closed when nothing goes on any more
	batched chan struct{}  // closed when no entry is made any more
	judged  chan struct{}  // closed when all of them are answered
	done    chan struct{}  // closed when the journal has ended
	closes  sync.Once      // closing
	ends    sync.Once      // stop, and what follows
	workers sync.WaitGroup // whoever else waits for raft
	halted  atomic.Bool    // nothing is applied any more
	since   sinceImage     // of the goroutine that applies

	// guarded by mu of the queue
	role    Role
	changed chan struct{} // closed when role changes
	over    error         // why the journal is at its end
	failed  error         // why it has failed
	leaving bool          // Close was called
	opened  bool          // all of it is running
	number  uint64        // of the last entry made here
	pending map[uint64]*inflight
	counts  counters
	edited  uint64 // index of the last entry with ops that was applied
	imaged  uint64 // of the newest image
}

var _ Group = (*Raft)(nil)

// OpenRaft makes a member of a group out of stores and a listener, which it closes, also when it fails. It brings sm,
// which must be in its first state, to the newest image; the log follows when a leader says how much of it holds. Stores
// that belong to another member or file system are refused, and such as have lost something (*DamagedError).
func OpenRaft(ctx context.Context, sm StateMachine, o RaftOptions) (*Raft, error) {
	o, err := o.withDefaults()
	if err != nil {
		if o.Listener != nil {
			_ = o.Listener.Close()
		}
		return nil, err
	}
	r := &Raft{
		queue: queue{maxBatch: maxGroupBatch, wake: make(chan struct{}, 1), ended: ErrNotLeader},
		opts:  o, sm: sm,
		slots:   make(chan struct{}, entriesInFlight),
		sent:    make(chan *inflight, entriesInFlight),
		overdue: make(chan struct{}, 1),
		closing: make(chan struct{}),
		stop:    make(chan struct{}),
		batched: make(chan struct{}),
		judged:  make(chan struct{}),
		done:    make(chan struct{}),
		changed: make(chan struct{}),
		pending: make(map[uint64]*inflight),
	}
	r.fences.wake = make(chan struct{}, 1)
	r.probes.to = make(map[raft.ServerAddress]*probe)
	r.counts.kinds = make(map[string]*KindStats)
	if err := r.open(ctx); err != nil {
		if r.disk != nil {
			_ = r.disk.letGo()
		}
		_ = o.Listener.Close()
		var damage *DamagedError // raft drops the chain
		if errors.As(r.failed, &damage) {
			err = damage
		}
		return nil, err
	}
	r.raft.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.RaftState, raft.LeaderObservation:
			r.observe()
		}
		return false
	}))
	r.observe()
	go r.batchAll()
	go r.judgeAll()
	r.workers.Go(r.fenceAll)
	r.workers.Go(r.checkpointOverdue)
	r.net.start()
	r.mu.Lock()
	r.opened = true
	err = r.over // of the stores, while they were opened
	r.mu.Unlock()
	if err != nil {
		r.end()
		return nil, err
	}
	return r, nil
}

// open opens the stores and starts raft on them.
func (r *Raft) open(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &r.opts
	if r.disk, err = o.Stores.take(o.Sync.syncsFirst(), r.fail); err != nil {
		return err
	}
	if r.identity, err = r.disk.identify(o.ID, o.Identity); err != nil {
		return err
	}
	r.net = newRaftNet(*o, r.identity.sum())
	r.net.serve = func(kind byte, c net.Conn) {
		if kind == helloWish {
			r.serveWish(c)
		} else {
			r.serveProbes(c)
		}
	}
	r.trans = &groupTransport{
		NetworkTransport: raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
			Stream: r.net, MaxPool: 3, Timeout: transportTimeout, Logger: raftLogger{to: o.Logger}, MsgpackUseNewTimeFormat: true,
		}),
		pipelines: make(map[*groupPipeline]struct{}),
	}
	if err = r.start(); err != nil {
		r.trans.CloseStreams()
		_ = r.trans.Close()
		r.net.running.Wait()
	}
	return err
}

// start makes the group, if it is new, and runs raft.
func (r *Raft) start() error {
	o := &r.opts
	config := o.config()
	old, err := raft.HasExistingState(r.disk, r.disk, r.disk)
	if err != nil {
		return fmt.Errorf("editlog: cannot read %s: %w", o.Stores.name, err)
	}
	if !old && len(o.Members) > 0 {
		members, err := o.configuration()
		if err == nil {
			err = raft.BootstrapCluster(config, r.disk, r.disk, r.disk, r.trans, members)
		}
		if err != nil {
			return err
		}
	}
	if r.raft, err = raft.NewRaft(config, (*groupMachine)(r), r.disk, r.disk, r.disk, r.trans); err != nil {
		return fmt.Errorf("editlog: cannot start on %s: %w", o.Stores.name, err)
	}
	r.mu.Lock()
	r.counts.TxID = r.sm.TxID()
	r.mu.Unlock()
	return nil
}

// Keys of the stable store that are not raft's.
const (
	identityKey = "minidfs.identity"
	memberKey   = "minidfs.member"
)

// identify refuses stores of somebody else, and signs empty ones.
func (d *raftDisk) identify(id string, want Identity) (Identity, error) {
	text, err := d.Get([]byte(identityKey))
	if errors.Is(err, errNotFound) {
		return want, d.sign(id, want)
	}
	if err != nil {
		return Identity{}, err
	}
	have, err := parseVersion(text)
	if err != nil {
		return have, fmt.Errorf("editlog: cannot use %s: %w", d.stores.name, err)
	}
	if want != (Identity{}) && want != have {
		return have, fmt.Errorf("editlog: %s belong to the file system %s, namespace %d, not to %s, namespace %d; give other stores, or empty ones",
			d.stores.name, have.ClusterID, have.NamespaceID, want.ClusterID, want.NamespaceID)
	}
	member, err := d.Get([]byte(memberKey))
	if err != nil {
		return have, err
	}
	if string(member) != id {
		return have, fmt.Errorf("editlog: %s belong to member %q, not to %q; give each member its own stores", d.stores.name, member, id)
	}
	return have, nil
}

// sign writes into empty stores whose they are.
func (d *raftDisk) sign(id string, fresh Identity) error {
	if err := fresh.check(); err != nil {
		return err
	}
	if fresh == (Identity{}) {
		return fmt.Errorf("editlog: %s are empty; give RaftOptions.Identity, that of the file system", d.stores.name)
	}
	old, err := raft.HasExistingState(d, d, d)
	if err != nil {
		return err
	}
	if old {
		return &DamagedError{File: d.stores.name, Reason: "there is a log, but nothing says whose"}
	}
	if err := d.Set([]byte(memberKey), []byte(id)); err != nil {
		return err
	}
	if err := d.Set([]byte(identityKey), formatVersion(fresh)); err != nil {
		return err
	}
	return d.flush()
}

// Identity is that of the file system.
func (r *Raft) Identity() Identity { return r.identity }

// Stats counts what was done since the member was opened: also what was applied without being appended here.
func (r *Raft) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.counts.copy()
	s.Syncs = r.disk.synced.Load()
	s.SyncTime = time.Duration(r.disk.syncTime.Load())
	return s
}
