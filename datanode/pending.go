package datanode

import (
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// change is one line of an incremental report.
type change struct {
	storage string
	block   dfs.Block
	status  hdfspb.ReceivedDeletedBlockInfoProto_BlockStatus
	hint    string // uuid of the datanode whose replica may go
}

// pending is the changes that a namenode has not heard of, in order; of one block in one storage the last one only.
type pending struct {
	list  []change
	index map[pendingKey]int // into list
}

// minHoles is how many gaps a list may have at least.
const minHoles = 64

type pendingKey struct {
	storage string
	id      dfs.BlockID
}

// add notes a change. An older one of the same replica makes way.
func (p *pending) add(c change) {
	k := pendingKey{c.storage, c.block.ID}
	if p.index == nil {
		p.index = make(map[pendingKey]int)
	}
	if i, ok := p.index[k]; ok {
		p.list[i] = change{}
	}
	p.index[k] = len(p.list)
	p.list = append(p.list, c)
	if len(p.list) > 2*len(p.index)+minHoles {
		p.putBack(nil) // closes the gaps
	}
}

// take empties p.
func (p *pending) take() []change {
	list := p.list
	*p = pending{}
	return list
}

// putBack returns changes that could not be sent, before the newer ones.
func (p *pending) putBack(old []change) {
	newer := p.take()
	for _, c := range append(old, newer...) {
		if c.storage != "" {
			p.add(c)
		}
	}
}

func (p *pending) empty() bool { return len(p.list) == 0 }

// len is the number of replicas that have changed.
func (p *pending) len() int { return len(p.index) }
