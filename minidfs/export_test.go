package minidfs

// HoldsPorts reports whether the nodes' ports are kept from other programs while nothing listens there.
func (c *Cluster) HoldsPorts() bool { return c.nameNode.ports[0].held != nil }

// Written counts the bytes that a node has written to its disks.
func (c *Cluster) Written(id string) int64 {
	var total int64
	disks := c.nameNode.disks
	if d := c.DataNode(id); d != nil {
		disks = d.disks
	}
	for _, d := range disks {
		total += d.Counts().BytesWritten
	}
	return total
}
