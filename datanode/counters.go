package datanode

import (
	"sync/atomic"

	"github.com/minidfs/go-minidfs/internal/transfer"
)

// Counts is what a datanode did since it began.
type Counts struct {
	BytesWritten       int64 // received in packets
	BytesMirrored      int64 // passed on to the next node
	BytesRead          int64 // sent to readers and as copies
	PacketsIn          int64
	PacketsOut         int64
	BlocksFinalized    int64
	Xceivers           int64 // connections of the data protocol that are open
	Ops                map[transfer.Op]int64
	Heartbeats         int64 // answered by a namenode
	FullReports        int64
	IncrementalReports int64
}

type counters struct {
	written, mirrored, read       atomic.Int64
	packetsIn, packetsOut         atomic.Int64
	finalized, xceivers           atomic.Int64
	heartbeats, full, incremental atomic.Int64
	busy                          atomic.Int64 // clients' writes and block recoveries, which a heartbeat counts twice: HDFS has a thread more for each
	kept                          atomic.Int64 // connections that wait for another block: no load
	ops                           [256]atomic.Int64
}

// Counts gives the counters as of now.
func (d *DataNode) Counts() Counts {
	c := &d.count
	out := Counts{
		BytesWritten: c.written.Load(), BytesMirrored: c.mirrored.Load(), BytesRead: c.read.Load(),
		PacketsIn: c.packetsIn.Load(), PacketsOut: c.packetsOut.Load(),
		BlocksFinalized: c.finalized.Load(), Xceivers: c.xceivers.Load(),
		Heartbeats: c.heartbeats.Load(), FullReports: c.full.Load(), IncrementalReports: c.incremental.Load(),
		Ops: make(map[transfer.Op]int64),
	}
	for i := range c.ops {
		if n := c.ops[i].Load(); n > 0 {
			out.Ops[transfer.Op(i)] = n
		}
	}
	return out
}
