package minidfs

// HoldsPorts reports whether the nodes' ports are kept from other programs while nothing listens there.
func (c *Cluster) HoldsPorts() bool { return c.nameNodes()[0].ports[0].held != nil }

// Written counts the bytes that a node has written to its disks.
func (c *Cluster) Written(id string) int64 {
	var total int64
	disks := c.nameNodes()[0].disks
	if d := c.find(id); d != nil {
		disks = d.disks
	}
	for _, d := range disks {
		total += d.Counts().BytesWritten
	}
	return total
}

// Syncs counts the syncs of all datanodes' disks.
func (c *Cluster) Syncs() int64 {
	var total int64
	for _, d := range c.nodes() {
		for _, disk := range d.disks {
			total += disk.Counts().Syncs
		}
	}
	return total
}

// Folder is where a node's first volume is.
func (c *Cluster) Folder(id string) string {
	if d := c.find(id); d != nil {
		return d.dirs[0]
	}
	return c.nameNodes()[0].dirs[0]
}

// Stored counts the replicas on all datanodes that run.
func (c *Cluster) Stored() int {
	n := 0
	for _, d := range c.nodes() {
		if server := d.server(); server != nil {
			n += len(server.Replicas())
		}
	}
	return n
}

// Heartbeats counts those that a namenode has answered in this life.
func (d *DataNode) Heartbeats() int64 { return d.server().Counts().Heartbeats }
