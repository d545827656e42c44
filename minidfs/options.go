package minidfs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/minidfs/go-minidfs/namenode"
)

// Option shapes a cluster. Options are applied in order; contradictions are errors of New and Start.
type Option func(*config) error

// config is what the options add up to.
type config struct {
	powerCuts    bool
	ownAddresses bool
	nameNodes    int
	nameService  string
	dataNodes    int
	volumes      int
	racks        []string
	capacity     int64
	dir          string
	kept         bool // dir outlives the cluster
	temporary    bool // a folder below dir goes with the cluster
	port         int
	memory       bool // in-memory network
	elsewhere    bool // clients are in other processes
	files        fs.FS
	sync         namenode.SyncMode
	syncSet      bool
	seed         uint64
	seedSet      bool
	logger       *slog.Logger
	failed       func(error)
	noCheck      string

	settings settings
}

func newConfig(options []Option) (*config, error) {
	c := &config{nameNodes: 1, dataNodes: 3, volumes: 1}
	c.settings.namenode.Groups = map[string][]string{}
	c.settings.given = map[string]string{}
	for _, o := range options {
		if err := o(c); err != nil {
			return nil, err
		}
	}
	return c, c.check()
}

// check finds what no single option can see.
func (c *config) check() error {
	l, d := c.settings.namenode.Limits, c.settings.namenode.Defaults
	least, most := max(l.MinReplication, 1), cmp.Or(l.MaxReplication, 512)
	block, chunk := cmp.Or(d.BlockSize, 128<<20), int64(cmp.Or(d.BytesPerChecksum, 512))
	switch r := c.replication(); {
	case c.dataNodes == 0 && c.settings.replication > 0:
		return fmt.Errorf("minidfs: dfs.replication=%d is wanted of a cluster without datanodes: add datanodes, or leave the replication out", r)
	case least > most:
		return fmt.Errorf("minidfs: dfs.namenode.replication.min=%d is above dfs.replication.max=%d", least, most)
	case int(least) > max(c.dataNodes, 1):
		return fmt.Errorf("minidfs: dfs.namenode.replication.min=%d can never be met by %d datanodes", least, c.dataNodes)
	case r < least || r > most:
		return fmt.Errorf("minidfs: dfs.replication=%d is not between dfs.namenode.replication.min=%d and dfs.replication.max=%d: no file could be made without naming another", r, least, most)
	case block%chunk != 0:
		return fmt.Errorf("minidfs: dfs.bytes-per-checksum=%d does not divide dfs.blocksize=%d: clients write no such file", chunk, block)
	case c.settings.namenode.SafeModeDatanodes > c.dataNodes:
		return fmt.Errorf("minidfs: dfs.namenode.safemode.min.datanodes=%d can never be met by %d datanodes", c.settings.namenode.SafeModeDatanodes, c.dataNodes)
	case c.memory && c.port != 0:
		return errors.New("minidfs: Port and MemNet contradict each other: an in-memory network has no ports of the machine")
	case c.nameService != "" && !c.grouped():
		return errors.New("minidfs: NameService names several namenodes, and there is one: give NameNodes(3), or leave the name out")
	case c.memory && c.elsewhere:
		return errors.New("minidfs: OtherProcesses and MemNet contradict each other: no other process reaches a network in memory")
	case c.kept && c.temporary:
		return errors.New("minidfs: Dir and TempDir contradict each other: data are either kept or removed")
	case len(c.racks) > c.dataNodes && c.dataNodes > 0:
		return fmt.Errorf("minidfs: %d racks for %d datanodes: name at most one a datanode", len(c.racks), c.dataNodes)
	case c.capacity < 0:
		return fmt.Errorf("minidfs: a capacity of %d bytes makes no sense", c.capacity)
	case c.files != nil && c.dataNodes == 0:
		return errors.New("minidfs: Files needs datanodes to hold them")
	}
	return nil
}

// shapes reports whether the options ask for something that an HDFS which runs already may not have. How many datanodes it
// has, and where they keep their data, is its own affair.
func (c *config) shapes() bool {
	return c.grouped() || c.memory || c.port != 0 || c.kept || c.ownAddresses || c.powerCuts || c.capacity > 0 || len(c.racks) > 0 ||
		len(c.settings.given) > 0 || len(c.settings.namenode.Groups) > 0
}

// NameNodes sets how many namenodes the cluster has: 1 when left out, 3 or 5 to be highly available. Several keep one
// edit log together: one of them is active, and when it is lost another one takes over with everything that was
// acknowledged. In memory, and on temporary folders, so do their logs.
func NameNodes(n int) Option {
	return func(c *config) error {
		if n != 1 && n != 3 && n != 5 {
			return fmt.Errorf("minidfs: NameNodes(%d): a group has 3 or 5 namenodes, of which 1 or 2 may fail; 1 is alone", n)
		}
		c.nameNodes = n
		return nil
	}
}

// NameService is the logical name of a file system with several namenodes: URI gives hdfs://name, and the site files of
// WriteConf and ConfDir explain it. When left out a name is made up.
func NameService(name string) Option {
	return func(c *config) error {
		if name == "" || strings.ContainsAny(name, ":/, .") {
			return fmt.Errorf("minidfs: NameService(%q): give a plain word", name)
		}
		c.nameService = name
		return nil
	}
}

// grouped tells whether several namenodes share a journal.
func (c *config) grouped() bool { return c.nameNodes > 1 }

// DataNodes sets how many datanodes the cluster starts with: 3 when left out, 0 for a namenode alone.
func DataNodes(n int) Option {
	return func(c *config) error {
		if n < 0 || n > 1000 {
			return fmt.Errorf("minidfs: DataNodes(%d): from 0 to 1000 are possible", n)
		}
		c.dataNodes = n
		return nil
	}
}

// Volumes sets how many volumes each datanode has: 1 when left out.
func Volumes(n int) Option {
	return func(c *config) error {
		if n < 1 || n > 100 {
			return fmt.Errorf("minidfs: Volumes(%d): from 1 to 100 are possible", n)
		}
		c.volumes = n
		return nil
	}
}

// Racks places the datanodes on racks, dn1 on the first and so on, starting over when there are fewer racks than
// datanodes.
func Racks(racks ...string) Option {
	return func(c *config) error {
		for _, r := range racks {
			if !strings.HasPrefix(r, "/") || len(r) < 2 || strings.HasSuffix(r, "/") {
				return fmt.Errorf("minidfs: rack %q: write it like /rack1", r)
			}
		}
		c.racks = racks
		return nil
	}
}

// Capacity sets the size in bytes that each volume claims to have; it costs nothing until it is written. When left out a
// volume has 1 TiB, and in a folder that is kept (Dir) what the disk has.
func Capacity(bytes int64) Option {
	return func(c *config) error { c.capacity = bytes; return nil }
}

// Dir keeps the cluster's data in a folder of the real file system, where it survives Close, and a killed process.
// Without it everything is in memory.
func Dir(dir string) Option {
	return func(c *config) error {
		if dir == "" {
			return errors.New(`minidfs: Dir(""): name a folder`)
		}
		c.dir, c.kept = dir, true
		return nil
	}
}

// TempDir keeps the cluster's data in a folder of its own under dir (the system's for temporary files when empty),
// removed by Close. Nothing in it is synced, as nobody could come back to it, unless PowerCuts or Sync ask for it.
func TempDir(dir string) Option {
	return func(c *config) error { c.dir, c.temporary = dir, true; return nil }
}

// Port fixes the namenode's port; without it the system picks a free one.
func Port(port int) Option {
	return func(c *config) error {
		if port < 0 || port > 65535 {
			return fmt.Errorf("minidfs: Port(%d): from 0 to 65535 are possible", port)
		}
		c.port = port
		return nil
	}
}

// MemNet runs the cluster on a network in memory: no sockets, so that it works inside testing/synctest. Clients reach
// it through Cluster.Client and Cluster.Dial.
func MemNet() Option {
	return func(c *config) error { c.memory = true; return nil }
}

// OtherProcesses says that the clients are other programs on this machine, as those of `minidfs serve` are. The namenode then
// looks for a client's next call for some microseconds before it sleeps (see DESIGN.md, section 8), which saves a client with
// one call at a time a quarter to a half of what a call takes; one in the cluster's own process it would make slower.
func OtherProcesses() Option {
	return func(c *config) error { c.elsewhere = true; return nil }
}

// OwnAddresses gives each datanode an address of its own, 127.0.1.1 and up, so that racks, writers and readers can tell
// them apart on real sockets too. The operating system must let programs listen there, as Linux does.
func OwnAddresses() Option {
	return func(c *config) error { c.ownAddresses = true; return nil }
}

// PowerCuts makes PowerLoss possible on a cluster with Dir or TempDir, where it has to be prepared for: what is not
// synced is remembered, which costs memory and time. Clusters in memory need no such option.
func PowerCuts() Option {
	return func(c *config) error { c.powerCuts = true; return nil }
}

// Conf sets one of HDFS's own configuration keys; HonouredKeys lists those that a cluster knows.
func Conf(key, value string) Option {
	return func(c *config) error { return c.settings.apply(key, value) }
}

// Superuser names the user that no check applies to: the OS user when left out.
func Superuser(name string) Option {
	return func(c *config) error {
		if name == "" {
			return errors.New(`minidfs: Superuser(""): name a user`)
		}
		c.settings.namenode.Superuser = name
		return nil
	}
}

// User gives a user groups, the first being the primary one. A user that no option names has no group.
func User(name string, groups ...string) Option {
	return func(c *config) error {
		if name == "" {
			return errors.New(`minidfs: User(""): name a user`)
		}
		c.settings.namenode.Groups[name] = groups
		return nil
	}
}

// Files copies a tree into the cluster before Start or New returns: a test's into Path(""), on a cluster of its own as on
// an HDFS that runs already, a program's into the root.
func Files(tree fs.FS) Option {
	return func(c *config) error { c.files = tree; return nil }
}

// OnFailure has f called when a namenode can serve no more because its journal could not be written; the error says why.
// f must be quick, and leave it to somebody else to close the cluster. A namenode that is killed has not failed.
func OnFailure(f func(error)) Option {
	return func(c *config) error { c.failed = f; return nil }
}

// Sync chooses when edits become durable: namenode.SyncGroup when left out with Dir, and in memory.
func Sync(mode namenode.SyncMode) Option {
	return func(c *config) error { c.sync, c.syncSet = mode, true; return nil }
}

// Seed fixes the cluster's random choices. Without it each cluster draws one; a failing test prints it.
func Seed(seed uint64) Option {
	return func(c *config) error { c.seed, c.seedSet = seed, true; return nil }
}

// Logger takes the logs of every node. Start sends them to the test's log by itself.
func Logger(l *slog.Logger) Option {
	return func(c *config) error { c.logger = l; return nil }
}

// NoCheck leaves out the consistency check that Start runs when the test ends.
func NoCheck(reason string) Option {
	return func(c *config) error {
		if reason == "" {
			return errors.New("minidfs: NoCheck wants a reason")
		}
		c.noCheck = reason
		return nil
	}
}
