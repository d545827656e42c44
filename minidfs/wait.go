package minidfs

import (
	"context"
	"fmt"
	"time"

	"github.com/minidfs/go-minidfs/datanode"
	"github.com/minidfs/go-minidfs/namenode"
)

// WaitActive returns once the namenode has the block reports of all datanodes that run and is out of safe mode. It makes
// the datanodes report at once.
func (c *Cluster) WaitActive(ctx context.Context) error {
	if err := c.own("WaitActive"); err != nil {
		return err
	}
	server := c.nameNode.server()
	if server == nil {
		return fmt.Errorf("minidfs: WaitActive: %s does not run", c.nameNode.id)
	}
	for {
		err := c.eachDataNode(func(d *datanode.DataNode) error { return d.TriggerBlockReport(ctx) })
		if err == nil {
			return c.awaitService(ctx, server)
		}
		select { // the namenode has told a datanode to register, say: once more then
		case <-time.After(reportRetry):
		case <-ctx.Done():
			return fmt.Errorf("minidfs: datanodes cannot report: %w: %w", context.Cause(ctx), err)
		}
	}
}

// reportRetry is how soon WaitActive asks datanodes again that could not report.
const reportRetry = 5 * time.Millisecond

func (c *core) awaitService(ctx context.Context, server *namenode.NameNode) error {
	if err := server.WaitActive(ctx); err != nil {
		return fmt.Errorf("minidfs: the cluster has started, but does not serve yet: %w", err)
	}
	return nil
}
