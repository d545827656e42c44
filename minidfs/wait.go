package minidfs

import (
	"context"
	"fmt"
	"time"
)

// WaitActive returns once the namenode serves and is out of safe mode. It makes the datanodes report at once.
func (c *Cluster) WaitActive(ctx context.Context) error {
	if err := c.own("WaitActive"); err != nil {
		return err
	}
	server := c.nameNode.server()
	if server == nil {
		return fmt.Errorf("minidfs: WaitActive: %s does not run", c.nameNode.id)
	}
	for server.InSafeMode() {
		// a datanode that the namenode has told to register, or that waits before it tries again, refuses: once more then
		err := c.heartbeats(ctx)
		if err == nil {
			break
		}
		select {
		case <-time.After(heartbeatRetry):
		case <-ctx.Done():
			return fmt.Errorf("minidfs: the cluster has started, but does not serve yet: %w: %w", context.Cause(ctx), err)
		}
	}
	if err := server.WaitActive(ctx); err != nil {
		return fmt.Errorf("minidfs: the cluster has started, but does not serve yet: %w", err)
	}
	return nil
}

// heartbeatRetry is how soon WaitActive asks datanodes again that could not report.
const heartbeatRetry = 5 * time.Millisecond
