package blocks

// Stats are the sums that getFsStats and its like tell.
type Stats struct {
	Capacity, Used, Remaining, BlockPoolUsed, NonDFSUsed int64 // bytes on live datanodes

	Blocks          int // complete ones
	Safe            int // of them with MinReplication live replicas
	LowRedundancy   int // with fewer live replicas than asked for; the missing ones too, which getReplicatedBlockStats leaves out
	LastReplica     int // of them with one live replica: the first to copy
	Missing         int // with no live replica
	MissingOne      int // of them in files with replication 1
	Corrupt         int // with a corrupt replica
	InFuture        int // reported, of ids that were never handed out
	Pending         int // complete ones that wait for the reports of replicas just written
	PendingDeletion int // replicas to delete, not sent yet

	Live, Stale, Dead int // datanodes
	Xceivers          int
}

// Stats gives the present sums. Until start-up safe mode is over nobody knows what is missing: these are zero then.
func (m *Manager) Stats() Stats {
	m.mu.RLock()
	defer m.mu.RUnlock()
	st := Stats{
		Blocks:          m.tally.of(markComplete),
		Safe:            m.tally.of(markSafe),
		Corrupt:         m.tally.of(markCorrupt),
		Pending:         len(m.closing),
		PendingDeletion: m.tally.deletions,
		Xceivers:        m.topo.load,
	}
	if !m.safe.startingUp() {
		st.LowRedundancy = m.tally.of(markUnder)
		st.LastReplica = m.tally.of(markLast)
		st.Missing = m.tally.of(markMissing)
		st.MissingOne = m.tally.of(markMissingOne)
	}
	for id := range m.early {
		if id > m.lastID {
			st.InFuture++
		}
	}
	for _, n := range m.order {
		if !n.alive {
			st.Dead++
			continue
		}
		st.Live++
		if n.stale {
			st.Stale++
		}
		for _, s := range n.storages {
			if s.report.Failed {
				continue
			}
			st.Capacity += s.report.Capacity
			st.Used += s.report.DFSUsed
			st.Remaining += s.report.Remaining
			st.BlockPoolUsed += s.report.BlockPoolUsed
			st.NonDFSUsed += s.report.NonDFSUsed
		}
	}
	return st
}
