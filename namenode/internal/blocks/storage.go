package blocks

import "github.com/minidfs/go-minidfs/internal/dfs"

// Storage is one volume of a datanode, as its reports name it.
type Storage struct {
	ID       string
	Type     dfs.StorageType // zero: as it was, DISK at first
	ReadOnly bool            // shared read-only: never written to
}

// StorageReport is a Storage with its sizes in bytes, as of a heartbeat.
type StorageReport struct {
	Storage
	Failed        bool
	Capacity      int64
	DFSUsed       int64
	NonDFSUsed    int64
	Remaining     int64
	BlockPoolUsed int64
	Mount         string
}

// storage is a volume and the blocks that it holds.
type storage struct {
	node   *node
	report StorageReport
	blocks []*block // each has a replica whose pos points back here
	round  uint8    // counts full reports, so that replicas a report leaves out can be told
	listed int      // blocks whose replica the last full report named, or that came later
	heard  bool     // a heartbeat named it since this namenode became active
	fresh  bool     // and it has then reported in full: its list is to be trusted
}

// link adds b, of which r is the replica here.
func (s *storage) link(b *block, r *replica) {
	r.pos, r.round = uint32(len(s.blocks)), s.round
	s.blocks = append(s.blocks, b)
	s.listed++
}

// list notes that the present full report names r.
func (s *storage) list(r *replica) {
	if r.round != s.round {
		r.round = s.round
		s.listed++
	}
}

// storageLocked returns n's storage of that id, made on demand: any kind of report may be the first to name it.
func (m *Manager) storageLocked(n *node, st Storage) *storage {
	s := n.storage(st.ID)
	if s != nil && st.Type == 0 {
		return s
	}
	if st.Type == 0 {
		st.Type = dfs.StorageDisk
	}
	if s != nil {
		s.report.Storage = st
		return s
	}
	s = &storage{node: n, report: StorageReport{Storage: st}}
	n.storages = append(n.storages, s)
	return s
}

// clearStorageLocked forgets all replicas of s.
func (m *Manager) clearStorageLocked(s *storage) {
	for len(s.blocks) > 0 {
		b := s.blocks[len(s.blocks)-1]
		m.dropReplicaLocked(b, b.at(s.node))
		m.settleLocked(b)
	}
	s.blocks, s.listed, s.fresh = nil, 0, false
	m.forgetEarlyLocked(s)
}

// updateStoragesLocked takes in the storages of a heartbeat. One that is not named any more is forgotten when it is
// empty, or when volumes have failed or the datanode has started anew: then it is gone with all that it held.
func (m *Manager) updateStoragesLocked(n *node, reports []StorageReport, lost bool) {
	if len(reports) == 0 {
		return
	}
	named := make(map[string]bool, len(reports))
	for _, rep := range reports {
		named[rep.ID] = true
		s := m.storageLocked(n, rep.Storage)
		rep.Storage = s.report.Storage
		s.report, s.heard = rep, true
		if rep.Failed {
			m.clearStorageLocked(s)
		}
	}
	kept := n.storages[:0]
	for _, s := range n.storages {
		if !named[s.report.ID] {
			if lost || len(s.blocks) == 0 {
				m.clearStorageLocked(s)
				continue
			}
		}
		kept = append(kept, s)
	}
	clear(n.storages[len(kept):])
	n.storages = kept
}
