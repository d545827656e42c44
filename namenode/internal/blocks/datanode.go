package blocks

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Registration is who a datanode says it is.
type Registration struct {
	dfs.DatanodeID
	SoftwareVersion string
}

// node is a datanode that has registered at least once. It stays known when it is dead.
type node struct {
	reg       Registration
	location  string // rack
	alive     bool
	stale     bool
	greeted   bool // has sent a heartbeat since it registered
	storages  []*storage
	deletions deletions
	recover   []*block  // recoveries that it is to lead, not yet sent
	scheduled scheduled // blocks on their way to it
	lease     reportLease
	beat      Heartbeat // the last, without its Reports
	update    time.Time // of the last registration or heartbeat
	report    time.Time // of the last full report
	info      *DatanodeInfo
	epoch     uint64 // of the last placement that needs not look at it any more
}

func (n *node) storage(id string) *storage {
	for _, s := range n.storages {
		if s.report.ID == id {
			return s
		}
	}
	return nil
}

// NotRegisteredError says that a report came from a datanode that has to register first: it is unknown, was declared
// dead, or has another address now.
type NotRegisteredError struct {
	Node dfs.DatanodeID
	What string // what it sent
}

func (e *NotRegisteredError) Error() string {
	return fmt.Sprintf("%s from unregistered or dead datanode %s (%s): it must register first", e.What, e.Node, e.Node.UUID)
}

// Register takes in a datanode. One with another uuid at the same address is replaced for good; one with a known uuid
// at another address has moved and keeps its replicas. The answer is r as it is known from now on.
func (m *Manager) Register(r Registration, now time.Time) (Registration, error) {
	if r.UUID == "" {
		return r, dfs.Errorf(dfs.ClassIO, "registration of %s has no datanode uuid: give the datanode one before it registers", r.DatanodeID)
	}
	location := m.rackOf(r.XferAddr(), r.IP, r.Host)
	m.mu.Lock()
	defer m.unlock()
	if old := m.addrs[r.XferAddr()]; old != nil && old.reg.UUID != r.UUID {
		m.noteLocked(slog.LevelInfo, "datanode replaced", "addr", r.XferAddr(), "old", old.reg.UUID, "new", r.UUID)
		m.wipeLocked(old)
	}
	n := m.nodes[r.UUID]
	if n == nil {
		n = &node{}
		m.nodes[r.UUID] = n
		m.order = append(m.order, n)
	} else {
		m.topo.remove(n)
		delete(m.addrs, n.reg.XferAddr())
	}
	n.reg, n.location = r, location
	n.alive, n.stale, n.greeted, n.update = true, false, false, now
	m.addrs[r.XferAddr()] = n
	m.topo.add(n)
	n.refresh()
	m.noteLocked(slog.LevelInfo, "datanode registered", "datanode", r.XferAddr(), "uuid", r.UUID, "rack", location)
	m.checkSafeModeLocked(now)
	return r, nil
}

// wipeLocked forgets n altogether.
func (m *Manager) wipeLocked(n *node) {
	m.buryLocked(n)
	delete(m.nodes, n.reg.UUID)
	delete(m.addrs, n.reg.XferAddr())
	m.order = slices.DeleteFunc(m.order, func(o *node) bool { return o == n })
}

// senderLocked finds the live datanode that r speaks for.
func (m *Manager) senderLocked(r Registration, what string) (*node, error) {
	n := m.nodes[r.UUID]
	if n == nil || !n.alive || n.reg.IP != r.IP || n.reg.XferPort != r.XferPort {
		return nil, &NotRegisteredError{Node: r.DatanodeID, What: what}
	}
	return n, nil
}

// rackOf asks the Racks function for the first of names that it knows.
func (m *Manager) rackOf(names ...string) string {
	if m.o.Racks != nil {
		for _, h := range names {
			if h == "" {
				continue
			}
			if rack := m.o.Racks(h); rack != "" {
				return rack
			}
		}
	}
	return m.o.DefaultLocation
}

// hostLocked finds the live datanode on a machine: by its uuid, or by its address or host name where no other live
// datanode has that one too. Many datanodes on 127.0.0.1 do not make a client from there a neighbour of any.
func (m *Manager) hostLocked(who string) *node {
	if who == "" {
		return nil
	}
	if n := m.nodes[who]; n != nil && n.alive {
		return n
	}
	if on := m.topo.hosts[who]; len(on) == 1 {
		return on[0]
	}
	return nil
}
