package datanode

import "context"

// Check compares what the datanode knows of its replicas with the files on its volumes. It changes nothing; what it
// returns is a bug of ours, or damage.
func (d *DataNode) Check(ctx context.Context) error { return d.set.Audit(ctx) }
