package minidfs

import (
	"errors"
)

// Check compares what the parts of the cluster believe: the namespace with its leases, the blocks with the files, and
// each running datanode's replica map with its disks. It changes nothing. Stopped and paused nodes are left out.
func (c *Cluster) Check() error {
	if c.attached {
		return nil
	}
	var errs []error
	if server, err := c.nameNode.running(); err == nil && !c.nameNode.isPaused() {
		errs = append(errs, server.Check())
	}
	return errors.Join(errs...)
}

func (n *NameNode) isPaused() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused != nil
}

func (d *DataNode) isPaused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.paused != nil
}
