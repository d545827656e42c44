package minidfs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/minidfs/go-minidfs/namenode"
)

// memoryPorts are the ports of a namenode in memory, HDFS's own.
var memoryPorts = [...]int{8020}

// NameNode is a handle of a namenode, running or not.
type NameNode struct{ *node }

func newNameNode(c *core) (*NameNode, error) {
	n, err := newNode(c, "nn1", c.ipOf(-1), []string{"nn1"}, 1, c.conf.port)
	for i, p := range n.ports {
		p.eager = c.conf.elsewhere
		if c.conf.memory { // where every node has an address of its own
			p.number.Store(int32(memoryPorts[i]))
		}
	}
	return &NameNode{n}, err
}

// startNameNodes makes the namenodes and brings them up.
func (c *core) startNameNodes(ctx context.Context) error {
	n, err := newNameNode(c)
	c.mu.Lock()
	c.names = append(c.names, n)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	c.addrs = []string{n.Addr()}
	return n.Start(ctx)
}

// nameNodes are the namenodes, running or not.
func (c *core) nameNodes() []*NameNode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names)
}

// active is the namenode that serves; nil where none does.
func (c *core) active() *namenode.NameNode {
	for _, n := range c.nameNodes() {
		if server := n.server(); server != nil {
			return server
		}
	}
	return nil
}

// noActive says why active gives nothing.
func (c *core) noActive() error {
	if c.isClosed() {
		return ErrClosed
	}
	var ids []string
	for _, n := range c.nameNodes() {
		ids = append(ids, n.id)
	}
	return fmt.Errorf("%s does not run", strings.Join(ids, ", "))
}

// nodeNames are those of all namenodes and datanodes.
func (c *core) nodeNames() []string {
	names := c.dataNames()
	for _, n := range c.nameNodes() {
		names = append(names, n.id)
	}
	return names
}

// Start brings the node up, on the disk and the port that it had. It returns when calls are answered; WaitActive waits for
// the end of safe mode.
func (n *NameNode) Start(ctx context.Context) error {
	return n.begin(ctx, func(ctx context.Context) (server, error) {
		l, err := n.listen(0)
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
