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
	server    *rpc.Server
	leases    *leases
	started   time.Time
	params    getDefaults
	token     *hdfspb.TokenProto // of every block
	datanodes *datanodeInfos

	cancel         context.CancelFunc
	monitor        sync.WaitGroup
	trigger        chan chan struct{} // asks the monitor for a tick, answered when done
	stopOnce       sync.Once
	stopErr        error
	failed         atomic.Bool // the journal has failed: nothing is served any more
	restoreStorage atomic.Bool // what restoreFailedStorage was told
	held           atomic.Bool // the monitor does not tick by itself
}

// New opens the journal in o.Dir, replays it, and serves. It returns once calls are answered; the namenode may be in
// safe mode until datanodes have reported. The listener is closed when New fails.
func New(ctx context.Context, o Options) (*NameNode, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	n, err := open(ctx, o)
	if err != nil {
		o.Listener.Close()
		return nil, fmt.Errorf("namenode %s: %w", o.ID, err)
	}
	return n, nil
}

func open(ctx context.Context, o Options) (*NameNode, error) {
	random := rand.New(rand.NewPCG(uint64(o.Seed), 0))
	n := &NameNode{
		o:         o,
		log:       o.Logger,
		addr:      o.Listener.Addr(),
		blocks:    newBlocks(&o, random),
		leases:    newLeases(),
		started:   time.Now(),
		token:     noToken(),
		datanodes: newDatanodeInfos(),
		trigger:   make(chan chan struct{}),
	}
	n.params = n.serverDefaults()
	n.ns = namespace.New(namespace.Options{Observer: observer{n.blocks}})
	journal, err := editlog.OpenLocal(ctx, machine{n.ns}, editlog.LocalOptions{
		FS: o.FS, Dir: o.Dir,
		Identity:      newIdentity(random, n.started),
		Steady:        o.Steady,
		Sync:          o.Sync,
		CheckpointOps: int64(o.CheckpointOps),
		Logger:        o.Logger,
	})
	if err != nil {
		return nil, err
	}
	n.journal = journal
	n.identity = journal.Identity()
	if err := n.activate(ctx); err != nil {
		journal.Kill()
		return nil, err
	}

	n.server, err = rpc.NewServer(rpc.ServerOptions{Logger: o.Logger, Hook: n.intercept}, n.protocols()...)
	if err != nil {
		journal.Kill()
		return nil, err
	}
	monitorContext, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.monitor.Add(1)
	go n.runMonitor(monitorContext)
	n.server.Serve(o.Listener)
	return n, nil
}

// activate makes this namenode the one that serves: it journals a new segment and, where the configuration differs
// from the state, new parameters. All leases count as renewed now.
func (n *NameNode) activate(ctx context.Context) error {
	if _, err := n.edit(ctx, nil, internalOp(&namespace.StartSegment{})); err != nil {
		return err
	}
	if want := n.wantedParams(); n.ns.Params() != want {
		if _, err := n.edit(ctx, nil, internalOp(&namespace.SetParams{Params: want})); err != nil {
			return err
		}
	}
	now := time.Now()
	for lease := range n.ns.Leases() {
		n.leases.renew(lease.Holder, now)
	}
	n.blocks.SetLastBlockID(n.ns.LastBlockID())
	n.blocks.SetActive(true, n.ns.TxID())
	n.blocks.Loaded(now)
	return nil
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
		n.monitor.Wait()
		if jerr := journal(); jerr != nil {
			err = jerr
		}
		n.stopErr = err
	})
	return n.stopErr
}
