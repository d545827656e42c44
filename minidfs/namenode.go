package minidfs

import (
	"context"
	"fmt"
	"sync"

	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/memnet"
	"github.com/minidfs/go-minidfs/namenode"
)

// NameNode is a handle of a namenode, running or not.
type NameNode struct {
	id   string
	c    *Cluster
	host *memnet.Host
	disk *faultfs.FS
	dir  string

	mu     sync.Mutex
	server *namenode.NameNode // nil: stopped
	port   int                // kept across restarts
	paused []*faultfs.Fault
	lives  uint64
}

func newNameNode(c *Cluster) *NameNode {
	return &NameNode{id: "nn1", c: c, host: c.host("nn1", loopback), port: c.conf.port}
}

// ID is the node's stable name.
func (n *NameNode) ID() string { return n.id }

// Addr is host:port, the same across restarts.
func (n *NameNode) Addr() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.c.conf.memory {
		return fmt.Sprintf("%s:%d", n.host.IP(), n.port)
	}
	return fmt.Sprintf("%s:%d", loopback, n.port)
}

// Start brings the node up, on the disk and the port that it had. It returns when calls are answered.
func (n *NameNode) Start(ctx context.Context) error {
	if err := n.c.own("NameNode.Start"); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server != nil {
		return fmt.Errorf("minidfs: %s runs already", n.id)
	}
	if n.disk == nil {
		disk, dir, err := n.c.dirs.disk(n.id)
		if err != nil {
			return err
		}
		n.disk, n.dir = disk, dir
	}
	n.disk.Thaw()
	ip := loopback
	if n.c.conf.memory {
		ip = ""
	}
	l, err := listen(n.host, ip, n.port)
	if err != nil {
		return fmt.Errorf("minidfs: %w", err)
	}
	o := n.c.conf.settings.namenode
	o.ID, o.FS, o.Dir, o.Listener = n.id, n.disk, n.dir, l
	o.Logger = n.c.log
	o.Hook = n.c.faults.call(n.id)
	o.Sync = n.c.conf.syncMode()
	o.Racks = n.c.rackTable()
	o.Seed = int64(n.c.conf.seed + n.lives)
	o.Defaults.Replication = n.c.conf.replication()
	port := portOf(l)
	labelled(ctx, n.c.id, func() { n.server, err = namenode.New(ctx, o) })
	if err != nil {
		n.server = nil
		return fmt.Errorf("minidfs: %w", err)
	}
	n.port = port
	n.lives++
	return nil
}

// Stop ends the node in good order: every edit is durable.
func (n *NameNode) Stop() error {
	server := n.take()
	if server == nil {
		return nil
	}
	return server.Close()
}

// Kill ends the node as SIGKILL does: connections break, what was written to its disk stays, nothing more is written.
func (n *NameNode) Kill() error {
	if err := n.c.own("NameNode.Kill"); err != nil {
		return err
	}
	if server := n.take(); server != nil {
		n.c.kill(n.id, []*faultfs.FS{n.disk}, server.Kill)
	}
	return nil
}

// PowerLoss is Kill, and what was not synced to the disk is lost or torn. The report names the files that lost bytes.
func (n *NameNode) PowerLoss() (report []string, err error) {
	if err := n.Kill(); err != nil {
		return nil, err
	}
	return n.c.cutPower(n.disk, 0, n.lives)
}

// take gives the server up: the caller ends it.
func (n *NameNode) take() *namenode.NameNode {
	n.mu.Lock()
	defer n.mu.Unlock()
	server := n.server
	n.server = nil
	n.resumeLocked()
	return server
}

// Pause stops the node as SIGSTOP does: nothing enters or leaves it, no connection breaks. Resume ends it.
func (n *NameNode) Pause() error {
	if err := n.c.own("NameNode.Pause"); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil {
		return fmt.Errorf("minidfs: %s does not run", n.id)
	}
	if n.paused == nil {
		n.paused = n.c.pause(n.id, []*faultfs.FS{n.disk})
	}
	return nil
}

// Resume ends a Pause.
func (n *NameNode) Resume() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.resumeLocked()
	return nil
}

func (n *NameNode) resumeLocked() {
	n.c.resume(n.id, n.paused)
	n.paused = nil
}

// running is the server, or an error that says it does not run.
func (n *NameNode) running() (*namenode.NameNode, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.server == nil {
		return nil, fmt.Errorf("minidfs: %s does not run", n.id)
	}
	return n.server, nil
}
