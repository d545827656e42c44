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
	return c.eachDataNode(func(d *datanode.DataNode) error { return d.TriggerHeartbeat(ctx) })
}

// TriggerBlockReports makes every running datanode report all its replicas.
func (c *Cluster) TriggerBlockReports(ctx context.Context) error {
	if err := c.own("TriggerBlockReports"); err != nil {
		return err
	}
	return c.eachDataNode(func(d *datanode.DataNode) error { return d.TriggerBlockReport(ctx) })
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
