package datanode

import (
	"slices"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// maxKept bounds the connections to one datanode that wait for their next block.
const maxKept = 16

// keep puts a connection aside over which a block went in good order: the next block for that datanode can go the same
// way. It is closed when none comes, before the other end gives it up.
func (d *DataNode) keep(p *peer) {
	p.setTimeouts(d.opt.ReadTimeout, d.opt.WriteTimeout)
	d.mu.Lock()
	full := d.closed || len(d.kept[p.addr]) >= maxKept
	if !full {
		d.kept[p.addr] = append(d.kept[p.addr], p)
		p.expiry = time.AfterFunc(d.opt.KeepAlive/2, func() { d.expire(p) })
	}
	d.mu.Unlock()
	if full {
		p.release()
	}
}

// takeKept gives the connection to a datanode that was put aside last, nil for none.
func (d *DataNode) takeKept(to dfs.DatanodeID) *peer {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.kept[to.XferAddr()]
	if len(list) == 0 || d.closed {
		return nil
	}
	p := list[len(list)-1]
	d.dropKeptLocked(p)
	p.expiry.Stop()
	return p
}

// expire closes a connection that is still aside.
func (d *DataNode) expire(p *peer) {
	d.mu.Lock()
	found := !d.closed && d.dropKeptLocked(p)
	d.mu.Unlock()
	if found {
		p.release()
	}
}

// dropKeptLocked takes a connection out of those that wait, and reports whether it was one.
func (d *DataNode) dropKeptLocked(p *peer) bool {
	list := d.kept[p.addr]
	i := slices.Index(list, p)
	if i < 0 {
		return false
	}
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(d.kept, p.addr)
	} else {
		d.kept[p.addr] = list
	}
	return true
}

// stopKeptLocked ends the waiting; the connections are closed with all others.
func (d *DataNode) stopKeptLocked() {
	for _, list := range d.kept {
		for _, p := range list {
			p.expiry.Stop()
		}
	}
	d.kept = make(map[string][]*peer)
}
