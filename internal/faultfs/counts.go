package faultfs

import "sync/atomic"

// Counts is what a disk did and holds.
type Counts struct {
	OpenFiles    int64 // handles not yet closed, of directories too
	Opened       int64 // handles ever opened
	BytesRead    int64
	BytesWritten int64
	Syncs        int64
	Memory       int64 // bytes of memory in files, images of synced bytes included; spare buffers are not
}

// counts are the counters behind Counts.
type counts struct {
	opened, read, written, syncs atomic.Int64
}

func (c *counts) load() Counts {
	return Counts{
		Opened:       c.opened.Load(),
		BytesRead:    c.read.Load(),
		BytesWritten: c.written.Load(),
		Syncs:        c.syncs.Load(),
	}
}

// Counts returns the counters as of now.
func (d *Disk) Counts() Counts {
	c := d.counts.load()
	c.Memory = d.pool.held()
	d.mu.RLock()
	c.OpenFiles = d.gate.open.Load()
	d.mu.RUnlock()
	return c
}
