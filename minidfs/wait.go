package minidfs

import (
	"context"
	"fmt"
)

// awaitService returns once the namenode has left safe mode: every datanode has reported by then.
func (c *Cluster) awaitService(ctx context.Context) error {
	server, err := c.nameNode.running()
	if err != nil {
		return err
	}
	if err := server.WaitActive(ctx); err != nil {
		return fmt.Errorf("minidfs: the cluster has started, but does not serve yet: %w", err)
	}
	return nil
}

// WaitActive returns once the namenode serves and is out of safe mode.
func (c *Cluster) WaitActive(ctx context.Context) error {
	if err := c.own("WaitActive"); err != nil {
		return err
	}
	return c.awaitService(ctx)
}
