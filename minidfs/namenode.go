package minidfs

import (
	"context"
	"fmt"

	"github.com/minidfs/go-minidfs/namenode"
)

// NameNode is a handle of a namenode, running or not.
type NameNode struct{ *node }

func newNameNode(c *core) (*NameNode, error) {
	n, err := newNode(c, "nn1", c.ipOf(-1), []string{"nn1"}, 1, c.conf.port)
	for _, p := range n.ports {
		p.eager = c.conf.elsewhere
	}
	return &NameNode{n}, err
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
