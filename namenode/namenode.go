package namenode

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
)

// NameNode is a running namenode. Its methods may be called from any goroutine.
type NameNode struct {
	o         Options
	log       *slog.Logger
	addr      net.Addr
	identity  editlog.Identity
	ns        *namespace.Namespace
	blocks    *blocks.Manager
	journal   editlog.Journal
	group     editlog.Group // the journal, where it is shared; else nil
	server    *rpc.Server
	leases    *leases
	params    getDefaults
	token     *hdfspb.TokenProto // of every block
	datanodes *datanodeInfos

	categories map[methodName]category

	cancel         context.CancelFunc
	background     sync.WaitGroup     // the monitor, and follow
	trigger        chan chan struct{} // asks the monitor for a tick, answered when done
	part           atomic.Pointer[part]
	loading        atomic.Bool   // a standby that has not caught up yet
	moved          chan struct{} // the state has moved while loading
	stopOnce       sync.Once
	stopErr        error
	failed         atomic.Bool // the journal has failed: nothing is served any more
	restoreStorage atomic.Bool // what restoreFailedStorage was told
	held           atomic.Bool // the monitor does not tick by itself
}

// New opens the journal in o.Dir, replays it, and serves; with o.Raft it joins the group and is a standby until it leads.
// It returns once calls are answered; the namenode may be in safe mode until datanodes have reported. The listeners are
// closed when New fails.
func New(ctx context.Context, o Options) (*NameNode, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	opener := openLocal
	if o.Raft != nil {
		opener = openRaft
	}
	n, err := open(ctx, o, opener)
	if err != nil {
		o.Listener.Close()
		return nil, fmt.Errorf("namenode %s: %w", o.ID, err)
	}
	return n, nil
}

// journalOpener opens a journal over sm. A new one gets the identity, an old one has its own.
type journalOpener func(ctx context.Context, sm editlog.StateMachine, o *Options, identity editlog.Identity) (editlog.Journal, editlog.Identity, error)

func openLocal(ctx context.Context, sm editlog.StateMachine, o *Options, identity editlog.Identity) (editlog.Journal, editlog.Identity, error) {
	j, err := editlog.OpenLocal(ctx, sm, editlog.LocalOptions{
		FS: o.FS, Dir: o.Dir,
		Identity:      identity,
		Steady:        o.Steady,
		Sync:          o.Sync,
		CheckpointOps: int64(o.CheckpointOps),
		Logger:        o.Logger,
	})
	if err != nil {
		return nil, editlog.Identity{}, err
	}
	return j, j.Identity(), nil
}

func open(ctx context.Context, o Options, openJournal journalOpener) (*NameNode, error) {
	random := rand.New(rand.NewPCG(uint64(o.Seed), 0))
	n := &NameNode{
		o:         o,
		log:       o.Logger,
		addr:      o.Listener.Addr(),
		blocks:    newBlocks(&o, random),
		leases:    newLeases(),
		token:     noToken(),
		datanodes: newDatanodeInfos(),
		trigger:   make(chan chan struct{}),
		moved:     make(chan struct{}, 1),

		categories: categories(),
	}
	n.params = n.serverDefaults()
	n.ns = namespace.New(namespace.Options{Observer: observer{n.blocks}})
	n.loading.Store(true)
	n.assume(&part{})
	journal, identity, err := openJournal(ctx, machine{n.ns, n.stateMoved}, &o, newIdentity(random, time.Now()))
	if err != nil {
		return nil, err
	}
	n.journal, n.identity = journal, identity
	n.group, _ = journal.(editlog.Group)
	if n.group == nil {
		if err := n.beginTerm(ctx, 0); err != nil {
			journal.Kill()
			return nil, err
		}
		n.activate(0, o.ID)
	}

	n.server, err = rpc.NewServer(rpc.ServerOptions{Logger: o.Logger, Hook: n.intercept}, n.protocols()...)
	if err != nil {
		journal.Kill()
		return nil, err
	}
	background, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.background.Add(1)
	go n.runMonitor(background)
	if n.group != nil {
		n.background.Add(1)
		go n.follow(background)
	}
	n.server.Serve(o.Listener)
	return n, nil
}

// Addr is where the namenode listens.
func (n *NameNode) Addr() net.Addr { return n.addr }

// Protocols lists what the namenode serves, for tests that compare it with the documentation.
func (n *NameNode) Protocols() []rpc.Protocol { return n.server.Protocols() }

// Close stops serving and makes every edit durable. It ends every goroutine and connection of the namenode.
func (n *NameNode) Close() error {
	return n.stop(n.journal.Close)
}

// Kill stops as a killed process does: connections break, and nothing is written any more once it has returned.
func (n *NameNode) Kill() {
	n.stop(func() error { n.journal.Kill(); return nil })
}

// stop ends the server first: it cancels the handlers that wait for the journal, and lets nobody in any more.
func (n *NameNode) stop(journal func() error) error {
	n.stopOnce.Do(func() {
		n.cancel()
		err := n.server.Close()
		n.background.Wait()
		if jerr := journal(); jerr != nil {
			err = jerr
		}
		n.stopErr = err
	})
	return n.stopErr
}
