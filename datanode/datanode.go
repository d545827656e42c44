package datanode

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/datanode/internal/volume"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

// DataNode keeps replicas, serves them, and does what its namenodes want.
type DataNode struct {
	opt    Options
	log    *slog.Logger
	id     dfs.DatanodeID
	set    *volume.Set
	ipc    *rpc.Server
	began  time.Time
	ctx    context.Context // of everything that runs; ends with Close and Kill
	cancel context.CancelFunc
	work   sync.WaitGroup // every goroutine but those of ipc and set
	actors []*actor       // one for each namenode

	count   counters
	packets sync.Pool // of *transfer.PacketReader
	buffers sync.Pool // of *transfer.PacketBuffer
	readers sync.Pool // of *bufio.Reader
	writers sync.Pool // of *bufio.Writer

	allegiance allegiance

	mu        sync.Mutex
	closed    bool
	peers     map[net.Conn]struct{} // connections of the data protocol, both ways
	kept      map[string][]*peer    // those of them to other datanodes that wait for their next block, by address
	xmits     int                   // copies being sent
	bandwidth int64                 // for balancing, bytes a second
}

// defaultBandwidth is what balancing may use until a namenode says otherwise.
const defaultBandwidth = 100 << 20

// New opens the volumes, starts the servers and one actor for each namenode. ctx bounds the start only.
func New(ctx context.Context, o Options) (*DataNode, error) {
	d, err := start(ctx, o)
	if err != nil {
		for _, l := range []net.Listener{o.XferListener, o.IPCListener} {
			if l != nil {
				l.Close()
			}
		}
		return nil, err
	}
	return d, nil
}

func start(ctx context.Context, o Options) (*DataNode, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rng, err := newRand(o.Seed)
	if err != nil {
		return nil, err
	}
	d := &DataNode{
		opt: o, log: o.Logger, began: time.Now(), allegiance: allegiance{claim: -1}, bandwidth: defaultBandwidth,
		peers: make(map[net.Conn]struct{}), kept: make(map[string][]*peer),
	}
	cfg := volume.Options{
		UUID: o.UUID, Rand: rng, Logger: o.Logger, SyncOnClose: o.SyncOnClose, Tolerated: o.FailedVolumesTolerated,
		Deleted: d.replicaDeleted, Failed: d.volumeFailed,
	}
	for _, v := range o.Volumes {
		cfg.Volumes = append(cfg.Volumes, v.config())
	}
	if d.set, err = volume.Open(cfg); err != nil {
		return nil, err
	}
	if d.id, err = identity(o, d.set.UUID()); err != nil {
		return nil, err
	}
	if d.ipc, err = rpc.NewServer(rpc.ServerOptions{Logger: o.Logger, Hook: o.RPCHook}, d.protocols()...); err != nil {
		return nil, err
	}
	d.ctx, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, addr := range o.NameNodes {
		d.actors = append(d.actors, newActor(d, addr))
	}
	d.ipc.Serve(o.IPCListener)
	d.goDo(func() { d.accept(o.XferListener) })
	for _, a := range d.actors {
		d.goDo(a.beat)
		d.goDo(a.report)
		d.goDo(a.command)
	}
	return d, nil
}

func newRand(seed uint64) (*rand.Rand, error) {
	if seed != 0 {
		return rand.New(rand.NewPCG(seed, 0)), nil
	}
	var b [16]byte
	if _, err := crand.Read(b[:]); err != nil {
		return nil, fmt.Errorf("datanode: cannot make a seed: %w", err)
	}
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:]))), nil
}

// identity is who the datanode says it is: where it listens.
func identity(o Options, uuid string) (dfs.DatanodeID, error) {
	xfer, ok := o.XferListener.Addr().(*net.TCPAddr)
	ipc, ok2 := o.IPCListener.Addr().(*net.TCPAddr)
	if !ok || !ok2 {
		return dfs.DatanodeID{}, fmt.Errorf("datanode: listeners must have TCP addresses: have %v, %v", o.XferListener.Addr(), o.IPCListener.Addr())
	}
	id := dfs.DatanodeID{UUID: uuid, IP: xfer.IP.String(), Host: o.Host, XferPort: xfer.Port, IPCPort: ipc.Port}
	if id.Host == "" {
		id.Host = id.IP
	}
	return id, nil
}

// ID says who the datanode is and where it listens.
func (d *DataNode) ID() dfs.DatanodeID { return d.id }

// goDo runs f in a goroutine that Close waits for. It reports whether it did: after Close it does not.
func (d *DataNode) goDo(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.work.Add(1)
	go func() {
		defer d.work.Done()
		f()
	}()
	return true
}

// Close ends the service in order: replicas that are to be deleted are, connections are cut. It is idempotent, and
// waits for everything.
func (d *DataNode) Close() error {
	d.end()
	return d.set.Close()
}

// Kill is the end of a process that dies: connections are cut, nothing more is written.
func (d *DataNode) Kill() {
	d.set.Kill()
	d.end()
}

// end cuts every connection and waits for every goroutine.
func (d *DataNode) end() {
	err := errors.Join(d.sever(), d.ipc.Close())
	d.work.Wait()
	if err != nil {
		d.log.Debug("datanode: closing connections", "err", err)
	}
}

// sever ends the service: everything that runs comes to an end, end waits for it.
func (d *DataNode) sever() error {
	d.mu.Lock()
	d.closed = true
	conns := make([]net.Conn, 0, len(d.peers))
	for c := range d.peers {
		conns = append(conns, c)
	}
	d.stopKeptLocked()
	d.mu.Unlock()
	d.cancel()
	err := errors.Join(d.opt.XferListener.Close(), d.opt.IPCListener.Close())
	for _, c := range conns {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Done is closed when the datanode has ended or has given itself up.
func (d *DataNode) Done() <-chan struct{} { return d.ctx.Done() }
