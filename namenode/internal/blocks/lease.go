package blocks

import (
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// reportLease lets a datanode send a full report. It holds for its whole time, so that a report may come in pieces and
// be repeated, until the datanode asks for another.
type reportLease struct {
	id      uint64
	expires time.Time
}

func (m *Manager) grantLeaseLocked(n *node, now time.Time) uint64 {
	m.lastLease++
	if m.lastLease == 0 {
		m.lastLease = 1
	}
	n.lease = reportLease{id: m.lastLease, expires: now.Add(m.o.ReportLeaseTTL)}
	return n.lease.id
}

// check refuses a report under any other lease than the one that is in force; without one (0) it may come at any time.
func (l reportLease) check(ctx ReportContext, now time.Time) error {
	if ctx.LeaseID == 0 || ctx.LeaseID == l.id && now.Before(l.expires) {
		return nil
	}
	return dfs.Errorf(dfs.ClassInvalidReportLease, "Block report 0x%x was rejected as lease 0x%x is invalid", uint64(ctx.ID), ctx.LeaseID)
}
