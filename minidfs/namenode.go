package minidfs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/minidfs/go-minidfs/namenode"
)

// The ports of a namenode: the one that clients know, and that of the group, where there is one. Those in memory, where
// every node has an address of its own, are HDFS's: of its namenodes, and of its journal nodes.
const (
	clientPort, clientPortInMemory = 0, 8020
	groupPort, groupPortInMemory   = 1, 8485
)

// groupFolder is where a member of a group keeps its log, in the node's own folder.
const groupFolder = "raft"

// NameNode is a handle of a namenode, running or not.
type NameNode struct {
	*node
	stores *namenode.Stores // of its part in the group; nil where it is alone
}

func newNameNode(c *core, index int) (*NameNode, error) {
	id := "nn" + strconv.Itoa(index+1)
	ports, want := 1, c.conf.port
	if c.conf.grouped() {
		ports = 2
	}
	if want != 0 {
		want += index
	}
	n, err := newNode(c, id, c.ipOf(-1), []string{id}, ports, want)
	nn := &NameNode{node: n}
	if err != nil {
		return nn, err
	}
	n.ports[clientPort].eager = c.conf.elsewhere
	if c.conf.memory {
		n.ports[clientPort].number.Store(clientPortInMemory)
		if c.conf.grouped() {
			n.ports[groupPort].number.Store(groupPortInMemory)
		}
	}
	switch {
	case !c.conf.grouped():
	case c.conf.dir == "" && !c.conf.temporary:
		nn.stores = namenode.NewMemoryStores()
	default:
		nn.stores, err = namenode.OpenStores(filepath.Join(n.dirs[0], groupFolder), c.conf.syncMode() != namenode.SyncNone)
	}
	return nn, err
}

// startNameNodes makes the namenodes and brings them up. Of several the first one is active, or who has most of the log.
func (c *core) startNameNodes(ctx context.Context) error {
	for i := range c.conf.nameNodes {
		n, err := newNameNode(c, i)
		c.mu.Lock()
		c.names = append(c.names, n)
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
	if !c.conf.grouped() {
		if err := c.names[0].Start(ctx); err != nil {
			return err
		}
		c.addrs = []string{c.names[0].Addr()}
		return nil
	}
	for _, n := range c.names {
		c.addrs = append(c.addrs, n.Addr())
		c.members = append(c.members, namenode.Member{ID: n.id, Addr: n.addr(groupPort), Voter: true})
	}
	if !c.dirs.old {
		c.identity = namenode.NewIdentity(c.random("cluster", 0, 0).Int64())
	}
	if err := inParallel(c.names, func(n *NameNode) error { return n.Start(ctx) }); err != nil {
		return err
	}
	c.kick(func(*NameNode) bool { return true })
	_, err := c.awaitActive(ctx)
	return err
}

// nameNodes are the namenodes, running or not.
func (c *core) nameNodes() []*NameNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names)
}

// nodeNames are those of all namenodes and datanodes.
func (c *core) nodeNames() []string {
	names := c.dataNames()
	for _, n := range c.nameNodes() {
		names = append(names, n.id)
	}
	return names
}

// Start brings the node up, on the disk and the ports that it had. It returns when calls are answered; WaitActive waits for
// the end of safe mode.
func (n *NameNode) Start(ctx context.Context) error {
	return n.begin(ctx, func(ctx context.Context) (server, error) {
		l, err := n.listen(clientPort)
		if err != nil {
			return nil, err
		}
		o := n.c.conf.settings.namenode
		o.ID, o.FS, o.Dir, o.Listener = n.id, n.disks[0], n.dirs[0], l
		o.Steady = n.disks[0].Steady
		o.Logger = n.c.log
		o.Hook = n.c.faults.call(n.id)
		o.Failed = n.failed
		o.Sync = n.c.conf.syncMode()
		o.Racks = n.c.rackOf
		o.Seed = n.c.random(n.id, n.lives, 0).Int64()
		o.Defaults.Replication = n.c.conf.replication()
		if n.stores != nil {
			group, err := n.listen(groupPort)
			if err != nil {
				return nil, errors.Join(err, l.Close())
			}
			o.Raft = &namenode.RaftOptions{
				ID: n.id, Addr: n.addr(groupPort), Listener: group, Dial: n.host.Dial, Stores: n.stores,
				Members: n.c.members, Identity: n.c.identity,
			}
		}
		server, err := namenode.New(ctx, o)
		if err != nil {
			return nil, err
		}
		return server, nil
	})
}

// failed hears that the namenode cannot go on. One that is being killed has lost its disk to whoever kills it.
func (n *NameNode) failed(err error) {
	n.mu.Lock()
	own := n.ending == 0
	n.mu.Unlock()
	if f := n.c.conf.failed; f != nil && own {
		f(fmt.Errorf("minidfs: %s answers no more calls: %w", n.id, err))
	}
}

// server is the running namenode; nil while it does not run, or is paused.
func (n *NameNode) server() *namenode.NameNode {
	server, _ := n.current().(*namenode.NameNode)
	return server
}

// noActive says why there is no active namenode.
func (c *core) noActive() error {
	if c.isClosed() {
		return ErrClosed
	}
	var down []string
	for _, n := range c.nameNodes() {
		if n.server() == nil {
			down = append(down, n.id)
		}
	}
	switch len(down) {
	case 0:
		return errors.New("no namenode is active")
	case 1:
		return fmt.Errorf("%s does not run", down[0])
	}
	return fmt.Errorf("%s do not run", strings.Join(down, ", "))
}
