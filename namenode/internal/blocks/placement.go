package blocks

import (
	"fmt"
	"net"
	"strconv"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// TargetRequest asks for storages for a block.
type TargetRequest struct {
	Replication int
	BlockSize   int64
	Writer      string   // the client's machine: a datanode's uuid, ip or host name; "": somewhere outside
	Excluded    []string // uuids of datanodes not to use
	Favored     []string // ip:port or host:port of datanodes to use first
	Flags       dfs.AddBlockFlag
	Existing    []Ref // storages that the block is on already: they count, and are not chosen
	Policy      uint8 // storage policy id; zero: HOT
}

// PlacementError says that a block could not be placed on MinReplication datanodes.
type PlacementError struct {
	Chosen, MinReplication int
	Running                int // live datanodes
	Excluded               int // datanodes that the client excluded, and those that were looked at in vain
}

func (e *PlacementError) Error() string {
	return fmt.Sprintf("could only be written to %d of the %d minReplication nodes. There are %d datanode(s) running and %d node(s) are excluded in this operation.",
		e.Chosen, e.MinReplication, e.Running, e.Excluded)
}

// For gives the error as addBlock sends it.
func (e *PlacementError) For(path string) *dfs.RemoteError {
	return dfs.Errorf(dfs.ClassIO, "File %s %s", path, e.Error())
}

// ChooseTargets chooses storages for a block, on different datanodes, in the order of the pipeline: the writer's own
// machine first, the second on another rack, the third beside the second, the rest at random. It may give fewer than
// asked for; fewer than MinReplication is a *PlacementError.
func (m *Manager) ChooseTargets(req TargetRequest) ([]Target, error) {
	outside := ""
	if req.Writer != "" {
		outside = m.rackOf(req.Writer)
	}
	m.mu.Lock()
	defer m.unlock()
	if req.Flags&dfs.AddBlockIgnoreLocality != 0 {
		req.Writer, outside = "", ""
	}
	writer := m.hostLocked(req.Writer)
	rack := outside
	if writer != nil {
		rack = writer.location
	}
	var c *chooser
	if writer != nil && req.Flags&(dfs.AddBlockNoLocalWrite|dfs.AddBlockNoLocalRack) != 0 {
		c = m.placeLocked(req, writer, rack, true)
	}
	if c == nil || len(c.chosen) < c.want {
		c = m.placeLocked(req, writer, rack, false)
	}
	if len(c.chosen) < m.o.MinReplication {
		return nil, &PlacementError{Chosen: len(c.chosen), MinReplication: m.o.MinReplication, Running: len(m.topo.nodes), Excluded: c.refused}
	}
	return c.pipeline(writer), nil
}

// placeLocked chooses storages, away from the writer where that is wanted.
func (m *Manager) placeLocked(req TargetRequest, writer *node, rack string, away bool) *chooser {
	c := &chooser{m: m, size: req.BlockSize, avoidStale: m.o.AvoidStale}
	pass := func() {
		c.exclude(req, writer, away)
		c.inOrder(writer, rack)
	}
	c.resume(req.Existing)
	c.limits(req.Replication)
	policy := policyOf(req.Policy)
	c.need = policy.types(c.want)
	for _, s := range c.chosen {
		if t := s.report.Type; c.need[t] > 0 {
			c.need[t]--
		}
	}
	c.exclude(req, writer, away)
	c.favor(req.Favored)
	c.inOrder(writer, rack)
	if len(c.chosen) < c.want && c.avoidStale {
		c.avoidStale = false
		pass()
	}
	if need, hope := policy.replace(c.need); len(c.chosen) < c.want && hope {
		c.need = need
		pass()
	}
	return c
}

// chooser is one placement under way. Datanodes that need not be looked at any more carry the manager's epoch.
type chooser struct {
	m          *Manager
	size       int64
	avoidStale bool
	want       int // storages in all, the existing ones included
	perRack    int // at most that many on one rack
	need       typeCounts
	chosen     []*storage
	existing   int // of them there before
	refused    int // datanodes excluded or looked at
}

// resume takes the storages that the block is on already for chosen.
func (c *chooser) resume(existing []Ref) {
	for _, ref := range existing {
		n := c.m.nodes[ref.UUID]
		if n == nil || len(n.storages) == 0 {
			continue
		}
		s := n.storage(ref.Storage)
		if s == nil {
			s = n.storages[0]
		}
		c.chosen = append(c.chosen, s)
	}
	c.existing = len(c.chosen)
}

// exclude begins a pass: it marks what is excluded or chosen and, when the block is to stay away from the writer, the
// writer or its rack.
func (c *chooser) exclude(req TargetRequest, writer *node, away bool) {
	c.m.epoch++
	c.refused = 0
	for _, uuid := range req.Excluded {
		if n := c.m.nodes[uuid]; n != nil {
			c.mark(n)
		}
	}
	for _, s := range c.chosen {
		c.mark(s.node)
	}
	if !away {
		return
	}
	c.mark(writer)
	if req.Flags&dfs.AddBlockNoLocalRack != 0 {
		for _, n := range c.m.topo.racks[writer.location] {
			c.mark(n)
		}
	}
}

func (c *chooser) mark(n *node) {
	if n.epoch != c.m.epoch {
		n.epoch = c.m.epoch
		c.refused++
	}
}

// limits sets how many storages there can be in all, and on one rack.
func (c *chooser) limits(replication int) {
	c.want = min(c.existing+replication, len(c.m.topo.nodes))
	c.perRack = c.want
	if racks := len(c.m.topo.racks); racks > 1 && c.want > 1 {
		c.perRack = (c.want-1)/racks + 2
		if c.perRack == c.want {
			c.perRack--
		}
	}
}

// favor tries the favored datanodes first.
func (c *chooser) favor(addrs []string) {
	for _, a := range addrs {
		if len(c.chosen) >= c.want {
			return
		}
		n := c.m.addrs[a]
		if n == nil {
			n = c.m.byHostPortLocked(a)
		}
		if n != nil && n.alive && n.epoch != c.m.epoch {
			c.try(n)
		}
	}
}

func (m *Manager) byHostPortLocked(addr string) *node {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil
	}
	for _, n := range m.topo.nodes {
		if n.reg.Host == host && strconv.Itoa(n.reg.XferPort) == port {
			return n
		}
	}
	return nil
}

// inOrder fills up the chosen by HDFS's default rules.
func (c *chooser) inOrder(writer *node, rack string) {
	for len(c.chosen) < c.want {
		ok := false
		switch k := len(c.chosen); {
		case k == 0 && writer != nil:
			ok = writer.epoch != c.m.epoch && c.try(writer) || c.near(writer.location)
		case k == 0:
			ok = c.near(rack)
		case k == 1:
			ok = c.far(c.chosen[0].node.location)
		case k == 2 && c.chosen[0].node.location == c.chosen[1].node.location:
			ok = c.far(c.chosen[0].node.location)
		case k == 2 && c.existing == 0:
			ok = c.near(c.chosen[1].node.location)
		case k == 2 && writer != nil:
			ok = c.near(writer.location)
		case k == 2:
			ok = c.near(c.chosen[0].node.location)
		default:
			ok = c.random(c.m.topo.nodes, "")
		}
		if !ok {
			return
		}
	}
}

// near chooses on the rack, else on the rack of another chosen one, else anywhere.
func (c *chooser) near(rack string) bool {
	if nodes := c.m.topo.racks[rack]; len(nodes) > 0 && c.random(nodes, "") {
		return true
	}
	for _, s := range c.chosen {
		if s.node.location != rack {
			if c.random(c.m.topo.racks[s.node.location], "") {
				return true
			}
			break
		}
	}
	return c.random(c.m.topo.nodes, "")
}

// far chooses off the rack, else on it.
func (c *chooser) far(rack string) bool {
	return c.random(c.m.topo.nodes, rack) || c.random(c.m.topo.racks[rack], "")
}

// random chooses any of nodes that is good and not on rack without. A few blind picks nearly always do; else all are
// gone through.
func (c *chooser) random(nodes []*node, without string) bool {
	usable := func(n *node) bool {
		return n.epoch != c.m.epoch && (without == "" || n.location != without)
	}
	rnd := c.m.o.Rand
	for range min(len(nodes), 8) {
		if n := nodes[rnd.IntN(len(nodes))]; usable(n) && c.try(n) {
			return true
		}
	}
	var left []*node
	for _, n := range nodes {
		if usable(n) {
			left = append(left, n)
		}
	}
	rnd.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	for _, n := range left {
		if c.try(n) {
			return true
		}
	}
	return false
}

// try chooses a storage of n if n is good: alive, not too busy, its rack not full, with room on a type still needed.
func (c *chooser) try(n *node) bool {
	c.mark(n)
	if !n.alive || c.avoidStale && n.stale || c.busy(n) {
		return false
	}
	onRack := 0
	for _, s := range c.chosen {
		if s.node.location == n.location {
			onRack++
		}
	}
	if onRack >= c.perRack {
		return false
	}
	for _, t := range [...]dfs.StorageType{
		dfs.StorageRAMDisk, dfs.StorageSSD, dfs.StorageDisk, dfs.StorageArchive, dfs.StorageProvided, dfs.StorageNVDIMM,
	} {
		if c.need[t] == 0 {
			continue
		}
		if s := c.m.roomLocked(n, t, c.size); s != nil {
			c.need[t]--
			c.chosen = append(c.chosen, s)
			return true
		}
	}
	return false
}

// busy reports whether n has far more transfers than the average datanode.
func (c *chooser) busy(n *node) bool {
	limit := c.m.o.LoadFactor * float64(c.m.topo.load) / float64(len(c.m.topo.nodes))
	return !c.m.o.IgnoreLoad && limit > 0 && float64(n.beat.XceiverCount) > limit
}

// roomLocked gives a storage of n of that type with room for size bytes beside what is on its way to n, or nil.
func (m *Manager) roomLocked(n *node, t dfs.StorageType, size int64) *storage {
	var room int64
	var pick *storage
	seen := 0
	for _, s := range n.storages {
		r := &s.report
		if r.Type != t || r.Failed || r.ReadOnly || r.Remaining < size {
			continue
		}
		room += r.Remaining
		if seen++; seen == 1 || m.o.Rand.IntN(seen) == 0 {
			pick = s
		}
	}
	if pick == nil || room-size*n.scheduled.of(t) < size {
		return nil
	}
	return pick
}

// pipeline gives the chosen in the order in which data is to flow: each time to the nearest that is left.
func (c *chooser) pipeline(writer *node) []Target {
	left := c.chosen[c.existing:]
	if len(left) == 0 {
		return nil
	}
	from := writer
	if from == nil {
		from = c.chosen[0].node
	}
	out := make([]Target, 0, len(left))
	for len(left) > 0 {
		best, near := 0, int(^uint(0)>>1)
		for i, s := range left {
			d := 0
			if s.node != from {
				d = distance(s.node.location, from.location)
			}
			if d < near {
				best, near = i, d
			}
		}
		left[0], left[best] = left[best], left[0]
		from = left[0].node
		out = append(out, left[0].target())
		left = left[1:]
	}
	return out
}
