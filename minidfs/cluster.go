package minidfs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/internal/memnet"
	"github.com/minidfs/go-minidfs/namenode"
)

// startTimeout bounds the start of a cluster whose caller set no deadline.
const startTimeout = time.Minute

// Cluster is a running HDFS. Its methods may be called from any goroutine.
type Cluster struct {
	conf     *config
	id       string // tells this cluster from others in logs, labels and names
	log      *slog.Logger
	net      *memnet.Network
	nameNode *NameNode
	dirs     *dirs
	addrs    []string // of the namenodes
	attached bool     // to an HDFS that is not ours
	t        TB       // nil outside tests
	faults   faults

	mu      sync.Mutex
	data    []*DataNode // in order of their names
	clients []*client.Client
	fresh   string // directory of Path, made on demand
	confDir string
	closed  bool
}

// New starts a cluster and returns once a write would succeed. It never reads the environment. The caller closes it.
func New(ctx context.Context, options ...Option) (*Cluster, error) {
	conf, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	return start(ctx, conf, nil)
}

func start(ctx context.Context, conf *config, t TB) (*Cluster, error) {
	if err := conf.complete(); err != nil {
		return nil, err
	}
	c := &Cluster{conf: conf, id: strconv.FormatUint(conf.seed, 36), log: conf.logger, net: memnet.New(memnet.Options{}), t: t}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	labelled(ctx, c.id, func() { err = c.boot(ctx) })
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
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
	var err error
	if c.dirs, err = openDirs(c.conf); err != nil {
		return err
	}
	c.nameNode = newNameNode(c)
	if err := c.nameNode.Start(ctx); err != nil {
		return err
	}
	c.addrs = []string{c.nameNode.Addr()}
	if err := c.addDataNodes(ctx, c.conf.dataNodes); err != nil {
		return err
	}
	if err := c.awaitService(ctx); err != nil {
		return err
	}
	if c.conf.files == nil {
		return nil
	}
	fs := c.Client(c.Superuser())
	return loadTree(ctx, fs, c.conf.files, "/")
}

// AddDataNode starts one more datanode and returns when it can be written to.
func (c *Cluster) AddDataNode(ctx context.Context) (*DataNode, error) {
	if err := c.own("AddDataNode"); err != nil {
		return nil, err
	}
	var err error
	labelled(ctx, c.id, func() { err = c.addDataNodes(ctx, 1) })
	if err != nil {
		return nil, err
	}
	all := c.DataNodes()
	return all[len(all)-1], nil
}

func (c *Cluster) addDataNodes(ctx context.Context, count int) error {
	c.mu.Lock()
	from := len(c.data)
	var added []*DataNode
	for i := range count {
		added = append(added, newDataNode(c, from+i))
	}
	c.data = append(c.data, added...)
	c.mu.Unlock()
	return inParallel(added, func(d *DataNode) error { return d.Start(ctx) })
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

// URI is the file system's address, hdfs://host:port.
func (c *Cluster) URI() string { return "hdfs://" + c.addrs[0] }

// Addrs are the namenodes, host:port each.
func (c *Cluster) Addrs() []string { return append([]string(nil), c.addrs...) }

// Superuser is the user that no permission check applies to.
func (c *Cluster) Superuser() string { return c.conf.settings.namenode.Superuser }

// Seed is what the cluster's random choices were drawn from; give it to Seed to have them again.
func (c *Cluster) Seed() uint64 { return c.conf.seed }

// NameNode is the namenode of that name: nn1. It is nil for a name that no node has, and on an attached HDFS.
func (c *Cluster) NameNode(id string) *NameNode {
	if c.nameNode != nil && id == c.nameNode.id {
		return c.nameNode
	}
	return nil
}

// DataNodes are all datanodes, running or not, in the order of their names.
func (c *Cluster) DataNodes() []*DataNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*DataNode(nil), c.data...)
}

// DataNode is the datanode of that name: dn1, dn2 and so on. It is nil for a name that no node has.
func (c *Cluster) DataNode(id string) *DataNode {
	for _, d := range c.DataNodes() {
		if d.id == id {
			return d
		}
	}
	return nil
}

// Client gives a client for a user, closed with the cluster. Options come after the cluster's own settings.
func (c *Cluster) Client(user string, options ...func(*client.Options)) *client.Client {
	o := client.Options{Addrs: c.addrs, User: user, Dial: c.Dial, Logger: c.log.With("client", user)}
	for _, f := range options {
		f(&o)
	}
	fs, err := client.New(o)
	if err != nil {
		c.fail("minidfs: Client(%q): %v", user, err)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clients = append(c.clients, fs)
	return fs
}

// clientHost is the network host of programs outside the cluster.
const clientHost = "client"

// Dial opens a connection to a node of the cluster, in memory or not. Other Go clients take it as their dial function.
func (c *Cluster) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.host(clientHost, "").Dial(ctx, network, addr)
}

// On makes a client sit on a datanode: its first replicas go there. It needs MemNet or OwnAddresses, because otherwise
// all nodes share one address.
func (c *Cluster) On(datanode string) func(*client.Options) {
	return func(o *client.Options) {
		d := c.DataNode(datanode)
		if d == nil {
			c.fail("minidfs: On(%q): there is no such datanode", datanode)
			return
		}
		o.Dial = d.host.Dial
	}
}

// Path is name under a directory of this cluster's own, made when first asked for and open to every user, so that tests
// that share a cluster or a real HDFS do not meet.
func (c *Cluster) Path(name string) string {
	c.mu.Lock()
	dir := c.fresh
	c.mu.Unlock()
	if dir == "" {
		dir = "/tmp/minidfs-" + c.id
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		fs := c.Client(c.Superuser())
		err := fs.MkdirAll(ctx, dir, 0o777)
		if err == nil {
			err = fs.Chmod(ctx, dir, 0o777|os.ModeSticky)
		}
		if err != nil {
			c.fail("minidfs: Path(%q): %v", name, err)
		}
		c.mu.Lock()
		c.fresh = dir
		c.mu.Unlock()
	}
	return path.Join(dir, name)
}

// ConfDir is a folder with core-site.xml and hdfs-site.xml for other clients, removed by Close.
func (c *Cluster) ConfDir() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.confDir != "" {
		return c.confDir, nil
	}
	dir, err := os.MkdirTemp("", "minidfs-conf-")
	if err != nil {
		return "", err
	}
	if err := c.WriteConf(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	c.confDir = dir
	return dir, nil
}

// siteProperties are the contents of core-site.xml and hdfs-site.xml.
func (c *Cluster) siteProperties() (core, hdfs map[string]string) {
	core = map[string]string{"fs.defaultFS": c.URI()}
	hdfs = map[string]string{"dfs.client.use.datanode.hostname": "false"}
	for name, value := range c.conf.settings.clientSite {
		core[name] = value
	}
	if r := c.conf.replication(); r > 0 {
		hdfs["dfs.replication"] = strconv.Itoa(int(r))
	}
	if b := c.conf.settings.namenode.Defaults.BlockSize; b > 0 {
		hdfs["dfs.blocksize"] = strconv.FormatInt(b, 10)
	}
	return core, hdfs
}

// replication is the default replication of new files.
func (c *config) replication() int16 {
	if r := c.settings.replication; r > 0 {
		return r
	}
	return int16(min(3, max(1, c.dataNodes)))
}

// Close stops the cluster: clients first, then datanodes, then the namenode. Everything a temporary cluster wrote is
// removed. It may be called more than once.
func (c *Cluster) Close() error {
	c.mu.Lock()
	clients, data, closed, confDir := c.clients, c.data, c.closed, c.confDir
	c.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	c.faults.clear()
	errs := []error{
		inParallel(clients, (*client.Client).Close),
		inParallel(data, (*DataNode).Stop),
	}
	if c.nameNode != nil {
		errs = append(errs, c.nameNode.Stop())
	}
	errs = append(errs, c.net.Close())
	if c.dirs != nil {
		errs = append(errs, c.dirs.close())
	}
	if confDir != "" {
		errs = append(errs, os.RemoveAll(confDir))
	}
	return errors.Join(errs...)
}

// own refuses a verb that only works on a cluster of ours.
func (c *Cluster) own(verb string) error {
	if !c.attached {
		return nil
	}
	if c.t != nil {
		c.t.Helper()
		c.t.Skipf("minidfs: %s needs a cluster of our own; MINIDFS_URI names another", verb)
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

// rackTable is the rack of each address that a datanode can have.
func (c *Cluster) rackTable() map[string]string {
	racks := c.conf.racks
	if len(racks) == 0 {
		return nil
	}
	table := map[string]string{}
	for i := range max(c.conf.dataNodes, len(racks)) + spareRackEntries {
		ip := c.nodeIP(i)
		if ip == "" {
			ip = c.net.Host(fmt.Sprintf("dn%d", i+1)).IP()
		}
		table[ip] = racks[i%len(racks)]
	}
	return table
}

// spareRackEntries are for datanodes that are added later.
const spareRackEntries = 100
