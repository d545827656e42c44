package minidfs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/minidfs/go-minidfs/namenode"
)

const (
	activePoll  = 200 * time.Microsecond // how often it is asked who is active: no namenode announces it
	kickTimeout = time.Second            // for a successor to take over; then the group's own election is due
)

// Leader is the active namenode; nil while there is none.
func (c *Cluster) Leader() *NameNode {
	if err := c.own("Leader"); err != nil {
		return nil
	}
	return c.leader()
}

// WaitLeader gives the active namenode once there is one.
func (c *Cluster) WaitLeader(ctx context.Context) (*NameNode, error) {
	if err := c.own("WaitLeader"); err != nil {
		return nil, err
	}
	return c.awaitActive(ctx)
}

// Failover makes another namenode the active one, in good order, and gives it: the standby that has most of the log.
func (c *Cluster) Failover(ctx context.Context) (*NameNode, error) {
	if err := c.own("Failover"); err != nil {
		return nil, err
	}
	return c.transfer(ctx, "")
}

// TransferLeadership makes a certain namenode the active one, as `hdfs haadmin -failover` does.
func (c *Cluster) TransferLeadership(ctx context.Context, to string) error {
	if err := c.own("TransferLeadership"); err != nil {
		return err
	}
	n := c.NameNode(to)
	if n.missing != nil {
		return n.missing
	}
	_, err := c.transfer(ctx, n.id)
	return err
}

func (c *core) transfer(ctx context.Context, to string) (*NameNode, error) {
	if !c.conf.grouped() {
		return nil, errors.New("minidfs: there is one namenode, and no other to be active: start the cluster with NameNodes(3)")
	}
	from, err := c.awaitActive(ctx)
	if err != nil || from.id == to {
		return from, err
	}
	server := from.server()
	if server == nil {
		return nil, fmt.Errorf("minidfs: no failover: %w", c.noActive())
	}
	if err := server.Group().Transfer(ctx, to); err != nil {
		return nil, fmt.Errorf("minidfs: %s does not hand over: %w", from.id, err)
	}
	for {
		n, err := c.awaitActive(ctx)
		if err != nil || n != from {
			return n, err
		}
		if err := pause(ctx, activePoll); err != nil {
			return nil, fmt.Errorf("minidfs: %s has handed over and is active still: %w", from.id, err)
		}
	}
}

// leader is the active namenode; nil where there is none. Of two that claim to be active, one of which has been deposed
// and cannot hear of it, it is the later one.
func (c *core) leader() (active *NameNode) {
	newest := uint64(0)
	for _, n := range c.nameNodes() {
		server := n.server()
		if server == nil {
			continue
		}
		if state, term := server.Role(); state == "active" && (active == nil || term > newest) {
			active, newest = n, term
		}
	}
	return active
}

// active is the server of the active namenode; nil where there is none.
func (c *core) active() *namenode.NameNode {
	if n := c.leader(); n != nil {
		return n.server()
	}
	return nil
}

// awaitActive waits for an active namenode.
func (c *core) awaitActive(ctx context.Context) (*NameNode, error) {
	for {
		if n := c.leader(); n != nil {
			return n, nil
		}
		if c.isClosed() {
			return nil, fmt.Errorf("minidfs: %w", ErrClosed)
		}
		if err := pause(ctx, activePoll); err != nil {
			return nil, fmt.Errorf("minidfs: %w: %w", c.noActive(), err)
		}
	}
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop ends the node in good order: what it has acknowledged is on its disks. An active one of several has another one
// take over first.
func (n *NameNode) Stop() error {
	if n.missing == nil && n.stores != nil && n.c.leader() == n && !n.c.isClosed() {
		ctx, cancel := context.WithTimeout(context.Background(), kickTimeout)
		defer cancel()
		if _, err := n.c.transfer(ctx, ""); err != nil {
			n.c.log.Info("minidfs: nobody takes over from a namenode that is stopped", "node", n.id, "err", err)
		}
	}
	return n.succeeded(n.node.Stop)
}

// Kill ends the node as SIGKILL does: connections break, what was written to its disks stays, and once Kill has returned
// nothing more is written or sent. Where it was active another one takes over.
func (n *NameNode) Kill() error { return n.succeeded(n.node.Kill) }

// PowerLoss is Kill, and what was not synced to the disks is lost or torn. The report has a line for each file that lost
// something.
func (n *NameNode) PowerLoss() (report []string, err error) {
	if n.stores != nil && n.c.dirs.root != "" {
		return nil, fmt.Errorf("minidfs: power loss of %s: what its part of the group's log has not synced to a real folder cannot be taken back: leave Dir and TempDir out", n.id)
	}
	err = n.succeeded(func() error {
		report, err = n.node.PowerLoss()
		if err == nil && n.stores != nil {
			err = n.stores.PowerLoss()
		}
		return err
	})
	return report, err
}

// Pause stops the node as SIGSTOP does: nothing enters or leaves it, its disks stand still, no connection breaks. Where it
// was active another one takes over; by itself the paused one finds out after Resume.
func (n *NameNode) Pause() error { return n.succeeded(n.node.Pause) }

// succeeded does something that takes the node away, and has another one take over from it.
func (n *NameNode) succeeded(take func() error) error {
	if n.missing != nil || n.stores == nil {
		return take()
	}
	led := n.c.leader() == n
	err := take()
	if led {
		n.c.kick(func(other *NameNode) bool { return other != n })
	}
	return err
}

// kick has the namenode stand for election that has most of the log among those that may, until one of them leads. Without
// a majority there is no use in it. The group would elect somebody by itself, in seconds: elections on a busy machine are
// to be rare.
func (c *core) kick(may func(*NameNode) bool) {
	ctx, cancel := context.WithTimeout(context.Background(), kickTimeout)
	defer cancel()
	for {
		best, up := c.successor(may)
		if up <= len(c.members)/2 {
			return
		}
		err := best.elect(ctx)
		if err == nil || c.leads(may) {
			return
		}
		if pause(ctx, activePoll) != nil {
			c.log.Info("minidfs: a namenode does not take over at once", "node", best.id, "err", err)
			return
		}
	}
}

// successor is the namenode with most of the log among those that may, and says how many these are.
func (c *core) successor(may func(*NameNode) bool) (best *NameNode, up int) {
	var most namenode.Progress
	for _, n := range c.nameNodes() {
		server := n.server()
		if server == nil || !may(n) {
			continue
		}
		up++
		if p := server.Group().Progress(); best == nil || p.Term > most.Term || p.Term == most.Term && p.Last > most.Last {
			best, most = n, p
		}
	}
	return best, up
}

// leads tells whether one of those that may leads already.
func (c *core) leads(may func(*NameNode) bool) bool {
	for _, n := range c.nameNodes() {
		if server := n.server(); server != nil && may(n) && server.Group().Role().Leads {
			return true
		}
	}
	return false
}

// elect makes the node the leader of the group.
func (n *NameNode) elect(ctx context.Context) error {
	server := n.server()
	if server == nil {
		return fmt.Errorf("minidfs: %s does not run", n.id)
	}
	if err := server.Group().Elect(ctx); err != nil {
		return fmt.Errorf("minidfs: %s is not elected: %w", n.id, err)
	}
	return nil
}
