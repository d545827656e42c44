package blocks

import (
	"slices"
	"strings"
)

// topology is the live datanodes by rack.
type topology struct {
	nodes []*node
	racks map[string][]*node
	hosts map[string][]*node // by ip and by host name
	load  int                // transfers of all together
}

func (t *topology) add(n *node) {
	t.nodes = append(t.nodes, n)
	join(t.racks, n.location, n)
	for _, h := range n.machine() {
		join(t.hosts, h, n)
	}
	t.load += n.beat.XceiverCount
}

func (t *topology) remove(n *node) {
	i := slices.Index(t.nodes, n)
	if i < 0 {
		return
	}
	t.nodes = slices.Delete(t.nodes, i, i+1)
	leave(t.racks, n.location, n)
	for _, h := range n.machine() {
		leave(t.hosts, h, n)
	}
	t.load -= n.beat.XceiverCount
}

// machine gives the names of the machine that n runs on.
func (n *node) machine() []string {
	if n.reg.Host == "" || n.reg.Host == n.reg.IP {
		return []string{n.reg.IP}
	}
	return []string{n.reg.IP, n.reg.Host}
}

func join(groups map[string][]*node, name string, n *node) { groups[name] = append(groups[name], n) }

func leave(groups map[string][]*node, name string, n *node) {
	group := groups[name]
	if i := slices.Index(group, n); i >= 0 {
		group = slices.Delete(group, i, i+1)
	}
	if len(group) == 0 {
		delete(groups, name)
	} else {
		groups[name] = group
	}
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
