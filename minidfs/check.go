package minidfs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/datanode"
	"github.com/minidfs/go-minidfs/namenode"
)

const (
	checkTimeout = 2 * time.Second       // of Check
	checkPause   = 20 * time.Millisecond // before it looks again at what does not fit: news may be on their way
)

// Check compares what the parts of the cluster believe: the namespace with its indexes and leases, the namespace with the
// block map, the block map with the replicas that datanodes have, and these with their disks. It changes nothing and heals
// nothing. Nodes that are stopped or paused are left out; a block without any replica is excused once a node was killed,
// paused or lost power, while a node is down, and after the namenode came back. It takes 2 seconds at most.
func (c *Cluster) Check() error {
	if c.attached {
		return nil
	}
	if c.isClosed() {
		return fmt.Errorf("minidfs: Check: %w", ErrClosed)
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	for {
		err := c.compare(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(checkPause):
		case <-ctx.Done():
			return err
		}
	}
}

func (c *core) compare(ctx context.Context) error {
	errs := []error{c.eachDataNode(func(d *datanode.DataNode) error { return d.Check(ctx) })}
	for _, n := range c.nameNodes() {
		if server := n.server(); server != nil {
			errs = append(errs, server.Check(), c.compareReplicas(n, server))
		}
	}
	errs = append(errs, c.compareNameNodes())
	return errors.Join(errs...)
}

// compareNameNodes wants the same state of all namenodes. Where none is active, a majority is missing, and each may have
// got as far as it has.
func (c *core) compareNameNodes() error {
	leader := c.leader()
	if leader == nil || !c.conf.grouped() {
		return nil
	}
	var errs []error
	txid, digest := leader.server().Digest()
	for _, n := range c.nameNodes() {
		server := n.server()
		if server == nil || n == leader {
			continue
		}
		switch has, of := server.Digest(); {
		case has != txid:
			errs = append(errs, fmt.Errorf("minidfs: %s is at txid %d, %s at %d", n.id, has, leader.id, txid))
		case of != digest:
			errs = append(errs, fmt.Errorf("minidfs: %s and %s have different states at txid %d", n.id, leader.id, txid))
		}
	}
	return errors.Join(errs...)
}

// compareReplicas looks on the datanodes for the replicas that a namenode counts on.
func (c *core) compareReplicas(n *NameNode, server *namenode.NameNode) error {
	counted := server.Replicas() // first, so that what is deleted meanwhile is not missed
	have := map[string]map[client.Block]bool{}
	names := map[string]string{}
	excused := len(n.damage()) > 0 || n.restarted()
	for _, d := range c.nodes() {
		server := d.server()
		if server == nil || len(d.damage()) > 0 {
			excused = true
		}
		if server == nil {
			continue
		}
		id := server.ID().UUID
		names[id], have[id] = d.id, map[client.Block]bool{}
		for _, r := range server.Replicas() {
			have[id][r.Block] = true
		}
	}
	var errs []error
	for _, r := range counted {
		if blocks := have[r.Datanode]; blocks != nil && !blocks[r.Block] {
			errs = append(errs, fmt.Errorf("minidfs: %s counts on %s at %s, which does not have it", n.id, r.Block, names[r.Datanode]))
		}
	}
	if missing := server.Unreadable(); len(missing) > 0 && !excused {
		errs = append(errs, fmt.Errorf("minidfs: no datanode has a good replica of the blocks %v, and nothing was done to any", missing[:min(len(missing), 20)]))
	}
	return errors.Join(errs...)
}
