package minidfs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/internal/memnet"
	"github.com/minidfs/go-minidfs/namenode"
)

const (
	startTimeout = time.Minute // of a start, where the caller's context has no earlier end

	// How long Close waits for nodes to stop in good order before it kills them, in memory and on real disks: twice, for
	// datanodes and then namenodes.
	patience     = 400 * time.Millisecond
	diskPatience = 800 * time.Millisecond
)

// ErrClosed is in the chain of errors about a cluster that was closed before.
var ErrClosed = errors.New("the cluster is closed")

// Cluster is a running HDFS. Its methods may be called from any goroutine.
type Cluster struct {
	*core
	t      TB   // nil outside tests
	shared bool // with other tests: Close leaves the nodes alone

	views   sync.Mutex
	clients []*client.Client // closed with this Cluster
	admin   *client.Client   // one of them, for the cluster's own verbs; made on demand
	dir     string           // of Path, made on demand
	left    bool             // closed
}

// core is the machine, which several tests may share, each with a Cluster of its own.
type core struct {
	conf     *config
	id       string // tells this cluster from others in logs, labels and names
	log      *slog.Logger
	net      *memnet.Network
	dirs     *dirs
	addrs    []string          // of the namenodes
	members  []namenode.Member // of their group; none where there is one
	identity namenode.Identity // of a new file system with a group
	attached bool              // to an HDFS that is not ours
	done     chan struct{}
	faults   faults

	mu      sync.Mutex
	names   []*NameNode // in order of their names; none when attached, and while it boots
	data    []*DataNode // likewise
	next    int         // number of the next datanode: names are used once
	views   int         // how many directories were handed out
	confDir string
	closed  bool
	end     ending // what Close found; to be read once done is closed
}

// ending is how a cluster was closed.
type ending struct {
	err   error
	leaks []string
}

// New starts a cluster and returns once a write would succeed. It never reads the environment. The caller closes it.
func New(ctx context.Context, options ...Option) (*Cluster, error) {
	conf, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	return start(ctx, conf, nil)
}

// start starts a cluster. What it has begun it tears down when it fails.
func start(ctx context.Context, conf *config, t TB) (*Cluster, error) {
	if err := conf.complete(); err != nil {
		return nil, err
	}
	c := newCluster(conf, t)
	ctx, cancel := context.WithTimeout(ctx, startTimeout+conf.settings.namenode.SafeModeExtension)
	defer cancel()
	var err error
	labelled(ctx, c.id, func() { err = c.boot(ctx) })
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func newCluster(conf *config, t TB) *Cluster {
	return &Cluster{t: t, core: &core{
		conf: conf, id: strconv.FormatUint(randomSeed(), 36), log: conf.logger,
		net: memnet.New(memnet.Options{OwnIPs: conf.memory}), done: make(chan struct{}),
	}}
}

// complete draws what was left out.
func (c *config) complete() error {
	if !c.seedSet {
		c.seed = randomSeed()
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if c.settings.namenode.Superuser == "" {
		u, err := user.Current()
		if err != nil {
			return fmt.Errorf("minidfs: the operating system names no user; give Superuser(name): %w", err)
		}
		c.settings.namenode.Superuser = u.Username
	}
	return nil
}

// boot brings the nodes up, step by step; Close undoes whatever was done.
func (c *Cluster) boot(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("minidfs: nothing has started: %w", context.Cause(ctx))
	}
	var err error
	if c.dirs, err = openDirs(c.conf); err != nil {
		return err
	}
	if err := c.startNameNodes(ctx); err != nil {
		return err
	}
	if _, err := c.addDataNodes(ctx, c.conf.dataNodes); err != nil {
		return err
	}
	if err := c.awaitService(ctx); err != nil {
		return err
	}
	return c.load(ctx)
}

// AddDataNode starts one more datanode and returns when it can be written to.
func (c *Cluster) AddDataNode(ctx context.Context) (*DataNode, error) {
	if err := c.own("AddDataNode"); err != nil {
		return nil, err
	}
	var added []*DataNode
	var err error
	labelled(ctx, c.id, func() { added, err = c.addDataNodes(ctx, 1) })
	if err != nil {
		return nil, err
	}
	return added[0], nil
}

// addDataNodes starts further datanodes. When one fails they all stay, as nodes that do not run.
func (c *core) addDataNodes(ctx context.Context, count int) (added []*DataNode, err error) {
	c.mu.Lock()
	first, closed := c.next, c.closed
	c.next += count
	c.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("minidfs: no datanode is added: %w", ErrClosed)
	}
	for i := range count {
		d, derr := newDataNode(c, first+i)
		added, err = append(added, d), errors.Join(err, derr)
	}
	c.mu.Lock()
	c.data = append(c.data, added...)
	slices.SortFunc(c.data, func(a, b *DataNode) int { return a.index - b.index })
	closed = c.closed
	c.mu.Unlock()
	if closed {
		return nil, errors.Join(fmt.Errorf("minidfs: no datanode is added: %w", ErrClosed), inParallel(added, func(d *DataNode) error { return d.close() }))
	}
	if err != nil {
		return nil, err
	}
	return added, inParallel(added, func(d *DataNode) error { return d.Start(ctx) })
}

// inParallel calls f for each element at once and joins the errors.
func inParallel[T any](list []T, f func(T) error) error {
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, v := range list {
		all.Add(1)
		go func() {
			defer all.Done()
			errs[i] = f(v)
		}()
	}
	all.Wait()
	return errors.Join(errs...)
}

// URI is the file system's address: hdfs://host:port, or the logical name of several namenodes, hdfs://name, which other
// clients know from the site files of ConfDir.
func (c *Cluster) URI() string {
	if c.conf.grouped() {
		return "hdfs://" + c.service()
	}
	return "hdfs://" + c.addrs[0]
}

// service is the logical name of several namenodes.
func (c *core) service() string {
	if name := c.conf.nameService; name != "" {
		return name
	}
	return "minidfs-" + c.id
}

// Addrs are the namenodes, host:port each.
func (c *Cluster) Addrs() []string { return slices.Clone(c.addrs) }

// Superuser is the user that no permission check applies to.
func (c *Cluster) Superuser() string { return c.conf.settings.namenode.Superuser }

// Seed is what the cluster's random choices were drawn from; give it to Seed to have them again.
func (c *Cluster) Seed() uint64 { return c.conf.seed }

// NameNode is the namenode of that name: nn1. As with DataNode, another name ends the test.
func (c *Cluster) NameNode(id string) *NameNode {
	if err := c.own("NameNode"); err != nil {
		return &NameNode{node: &node{id: id, missing: err}}
	}
	var names []string
	for _, n := range c.nameNodes() {
		if n.id == id {
			return n
		}
		names = append(names, n.id)
	}
	err := fmt.Errorf("minidfs: there is no namenode %q, there is %s", id, strings.Join(names, ", "))
	c.fail("%v", err)
	return &NameNode{node: &node{id: id, missing: err}}
}

// DataNodes are all datanodes, running or not, in the order of their names.
func (c *Cluster) DataNodes() []*DataNode {
	if err := c.own("DataNodes"); err != nil {
		return nil
	}
	return c.nodes()
}

// nodes are the datanodes as of now.
func (c *core) nodes() []*DataNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.data)
}

// DataNode is the datanode of that name: dn1, dn2 and so on. A name that no node has ends the test, since what it is meant
// to break would stay whole; elsewhere the verbs of what DataNode gives then fail. DataNodes tells which there are.
func (c *Cluster) DataNode(id string) *DataNode {
	if err := c.own("DataNode"); err != nil {
		return &DataNode{node: &node{id: id, missing: err}}
	}
	if d := c.find(id); d != nil {
		return d
	}
	err := fmt.Errorf("minidfs: there is no datanode %q, there are: %s", id, strings.Join(c.dataNames(), ", "))
	c.fail("%v", err)
	return &DataNode{node: &node{id: id, missing: err}}
}

// find is the datanode of that name, or nil.
func (c *core) find(id string) *DataNode {
	for _, d := range c.nodes() {
		if d.id == id {
			return d
		}
	}
	return nil
}

// dataNames are those of all datanodes.
func (c *core) dataNames() []string {
	var names []string
	for _, d := range c.nodes() {
		names = append(names, d.id)
	}
	return names
}

// Close stops the cluster: clients first, then datanodes, then the namenode. Calls that wait for it return errors. A node
// that does not stop in good order, because its disk hangs say, is killed. Everything a temporary cluster wrote is removed.
// Close may be called more than once; every call returns when the cluster is down, and with the same result. What For has
// given closes its clients only.
func (c *Cluster) Close() error {
	err := c.closeClients()
	if c.shared {
		return err
	}
	return errors.Join(err, c.core.close())
}

func (c *Cluster) closeClients() error {
	c.views.Lock()
	c.left = true
	clients := c.clients
	c.clients = nil
	c.views.Unlock()
	return inParallel(clients, func(fs *client.Client) error { return fs.CloseCause(ErrClosed) })
}

func (c *core) close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	names, data, confDir := c.names, c.data, c.confDir
	c.mu.Unlock()
	if !first {
		<-c.done
		return c.end.err
	}
	defer close(c.done)
	var errs []error
	if !c.attached {
		errs = append(errs, c.stopNodes(names, data)) // what a fault holds ends with its node, and never happens
	}
	c.faults.clear()
	c.end.leaks = c.leaks(names, data)
	errs = append(errs, c.net.Close())
	for _, d := range data {
		errs = append(errs, d.close())
	}
	for _, n := range names {
		errs = append(errs, n.close())
	}
	if c.dirs != nil {
		errs = append(errs, c.dirs.close())
	}
	if confDir != "" {
		errs = append(errs, os.RemoveAll(confDir))
	}
	c.end.err = errors.Join(errs...)
	return c.end.err
}

func (c *core) stopNodes(names []*NameNode, data []*DataNode) error {
	limit := patience
	if c.conf.dir != "" && !c.conf.temporary {
		limit = diskPatience
	}
	return errors.Join(
		inParallel(data, func(d *DataNode) error { return d.stopWithin(limit) }),
		inParallel(names, func(n *NameNode) error { return n.stopWithin(limit) }),
	)
}

func (c *core) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// own refuses a verb that only works on a cluster of ours: in a test it skips the test.
func (c *Cluster) own(verb string) error {
	if !c.attached {
		return nil
	}
	if c.t != nil {
		c.t.Helper()
		c.t.Skipf("minidfs: %s needs a cluster of our own; this one is attached to %s", verb, strings.Join(c.addrs, ","))
	}
	return fmt.Errorf("minidfs: %s needs a cluster of our own; this one is attached to %s", verb, strings.Join(c.addrs, ","))
}

// fail ends the test; without one it logs.
func (c *Cluster) fail(format string, args ...any) {
	if c.t != nil {
		c.t.Helper()
		c.t.Fatalf(format, args...)
	}
	c.log.Error(fmt.Sprintf(format, args...))
}

// syncMode is when edits become durable: never on temporary folders, whose files go with the cluster, unless asked for.
func (c *config) syncMode() namenode.SyncMode {
	if !c.syncSet && c.temporary && !c.powerCuts {
		return namenode.SyncNone
	}
	return c.sync
}

// replication is the default replication of new files.
func (c *config) replication() int16 {
	if r := c.settings.replication; r > 0 {
		return r
	}
	return int16(min(3, max(1, c.dataNodes)))
}
