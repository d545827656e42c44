package blocks

import (
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Liveness is how long ago a datanode was heard.
type Liveness uint8

// The states of liveness.
const (
	Live  Liveness = iota
	Stale          // alive, but used last
	Dead           // its replicas do not count
)

// DatanodeInfo is a datanode as others get to see it. It never changes: a heartbeat makes a new one.
type DatanodeInfo struct {
	Registration
	Location       string // rack
	Liveness       Liveness
	Capacity       int64
	DFSUsed        int64
	NonDFSUsed     int64
	Remaining      int64
	BlockPoolUsed  int64
	CacheCapacity  int64
	CacheUsed      int64
	XceiverCount   int
	Xmits          int
	FailedVolumes  int
	VolumeFailures VolumeFailures
	NumBlocks      int
	LastUpdate     time.Time
	LastReport     time.Time // zero: has not reported in full
	Storages       []StorageReport
}

// ReportKind chooses datanodes for a report, numbered as on the wire.
type ReportKind uint8

// The kinds of datanode reports. There is no decommissioning and no maintenance yet: these three lists are empty.
const (
	ReportAll ReportKind = iota + 1
	ReportLive
	ReportDead
	ReportDecommissioning
	ReportEnteringMaintenance
	ReportInMaintenance
)

// Datanodes lists the datanodes of a kind in the order of their first registration.
func (m *Manager) Datanodes(kind ReportKind) []*DatanodeInfo {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []*DatanodeInfo
	for _, n := range m.order {
		if kind == ReportAll || kind == ReportLive && n.alive || kind == ReportDead && !n.alive {
			out = append(out, n.describe())
		}
	}
	return out
}

// Datanode gives the datanode with that uuid, dead or alive, or nil.
func (m *Manager) Datanode(uuid string) *DatanodeInfo {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n := m.nodes[uuid]; n != nil {
		return n.describe()
	}
	return nil
}

// refresh makes the info that targets of n carry.
func (n *node) refresh() { n.info = n.describe() }

func (n *node) describe() *DatanodeInfo {
	d := &DatanodeInfo{
		Registration:  n.reg,
		Location:      n.location,
		CacheCapacity: n.beat.CacheCapacity, CacheUsed: n.beat.CacheUsed,
		XceiverCount: n.beat.XceiverCount, Xmits: n.beat.XmitsInProgress,
		FailedVolumes: n.beat.FailedVolumes, VolumeFailures: n.beat.VolumeFailures,
		LastUpdate: n.update, LastReport: n.report,
		Storages: make([]StorageReport, 0, len(n.storages)),
	}
	switch {
	case !n.alive:
		d.Liveness = Dead
	case n.stale:
		d.Liveness = Stale
	}
	for _, s := range n.storages {
		d.Storages = append(d.Storages, s.report)
		d.NumBlocks += len(s.blocks)
		d.Capacity += s.report.Capacity
		d.DFSUsed += s.report.DFSUsed
		d.NonDFSUsed += s.report.NonDFSUsed
		d.Remaining += s.report.Remaining
		d.BlockPoolUsed += s.report.BlockPoolUsed
	}
	return d
}

// Ref names a storage, as pipelines travel on the wire.
type Ref struct {
	UUID    string // of the datanode
	Storage string
}

// Target is a storage to write a block to or to read it from.
type Target struct {
	Node    *DatanodeInfo // do not change
	Storage string
	Type    dfs.StorageType
}

// Ref names the target.
func (t Target) Ref() Ref { return Ref{UUID: t.Node.UUID, Storage: t.Storage} }

// Refs names all targets.
func Refs(targets []Target) []Ref {
	refs := make([]Ref, len(targets))
	for i, t := range targets {
		refs[i] = t.Ref()
	}
	return refs
}

func (s *storage) target() Target {
	return Target{Node: s.node.info, Storage: s.report.ID, Type: s.report.Type}
}
