package blocks

import (
	"slices"
	"strings"
)

// topology is the live datanodes by rack.
type topology struct {
	nodes []*node
	racks map[string][]*node
	load  int // transfers of all together
}

func (t *topology) add(n *node) {
	t.nodes = append(t.nodes, n)
	t.racks[n.location] = append(t.racks[n.location], n)
	t.load += n.beat.XceiverCount
}

func (t *topology) remove(n *node) {
	i := slices.Index(t.nodes, n)
	if i < 0 {
		return
	}
	t.nodes = slices.Delete(t.nodes, i, i+1)
	rack := t.racks[n.location]
	if i := slices.Index(rack, n); i >= 0 {
		rack = slices.Delete(rack, i, i+1)
	}
	if len(rack) == 0 {
		delete(t.racks, n.location)
	} else {
		t.racks[n.location] = rack
	}
	t.load -= n.beat.XceiverCount
}

// distance is the number of steps between two datanodes in different places of the tree of racks: 2 in one rack, 4 from
// one rack to another of the same level.
func distance(a, b string) int {
	if a == b {
		return 2
	}
	as, bs := strings.Split(strings.Trim(a, "/"), "/"), strings.Split(strings.Trim(b, "/"), "/")
	common := 0
	for common < len(as) && common < len(bs) && as[common] == bs[common] {
		common++
	}
	return len(as) + len(bs) - 2*common + 2
}
