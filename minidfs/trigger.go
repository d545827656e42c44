package minidfs

import "context"

// TriggerHeartbeats makes every running datanode send a heartbeat, obey its answer, and returns.
func (c *Cluster) TriggerHeartbeats(ctx context.Context) error {
	if err := c.own("TriggerHeartbeats"); err != nil {
		return err
	}
	return inParallel(c.DataNodes(), func(d *DataNode) error {
		if server, err := d.running(); err == nil {
			return server.TriggerHeartbeat(ctx)
		}
		return nil
	})
}

// TriggerBlockReports makes every running datanode report all its replicas.
func (c *Cluster) TriggerBlockReports(ctx context.Context) error {
	if err := c.own("TriggerBlockReports"); err != nil {
		return err
	}
	return inParallel(c.DataNodes(), func(d *DataNode) error {
		if server, err := d.running(); err == nil {
			return server.TriggerBlockReport(ctx)
		}
		return nil
	})
}

// TriggerMonitors makes the namenode look at leases, liveness and safe mode now.
func (c *Cluster) TriggerMonitors(ctx context.Context) error {
	if err := c.own("TriggerMonitors"); err != nil {
		return err
	}
	server, err := c.nameNode.running()
	if err != nil {
		return err
	}
	return server.TriggerMonitor(ctx)
}
