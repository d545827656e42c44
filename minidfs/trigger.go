package minidfs

import (
	"context"
	"fmt"

	"github.com/minidfs/go-minidfs/datanode"
)

// TriggerHeartbeats makes every running datanode send a heartbeat, and returns when all are answered.
func (c *Cluster) TriggerHeartbeats(ctx context.Context) error {
	if err := c.own("TriggerHeartbeats"); err != nil {
		return err
	}
	return c.eachDataNode(func(d *datanode.DataNode) error { return d.TriggerHeartbeat(ctx, c.reachable()...) })
}

// TriggerBlockReports makes every running datanode report all its replicas.
func (c *Cluster) TriggerBlockReports(ctx context.Context) error {
	if err := c.own("TriggerBlockReports"); err != nil {
		return err
	}
	return c.eachDataNode(func(d *datanode.DataNode) error { return d.TriggerBlockReport(ctx, c.reachable()...) })
}

// reachable are the addresses of the namenodes that run and are not paused.
func (c *core) reachable() []string {
	var addrs []string
	for _, n := range c.nameNodes() {
		if n.server() != nil {
			addrs = append(addrs, n.Addr())
		}
	}
	return addrs
}

// eachDataNode calls f for every datanode that runs, at once.
func (c *core) eachDataNode(f func(*datanode.DataNode) error) error {
	return inParallel(c.nodes(), func(d *DataNode) error {
		server := d.server()
		if server == nil {
			return nil
		}
		if err := f(server); err != nil {
			return fmt.Errorf("minidfs: %s: %w", d.id, err)
		}
		return nil
	})
}

// TriggerMonitors makes the namenode look at leases, liveness and safe mode now.
func (c *Cluster) TriggerMonitors(ctx context.Context) error {
	if err := c.own("TriggerMonitors"); err != nil {
		return err
	}
	server := c.active()
	if server == nil {
		return fmt.Errorf("minidfs: TriggerMonitors: %w", c.noActive())
	}
	return server.TriggerMonitor(ctx)
}
