package blocks

import (
	"log/slog"
	"time"
)

// checkLivenessLocked finds datanodes that have not been heard for long.
func (m *Manager) checkLivenessLocked(now time.Time) {
	for _, n := range m.order {
		if !n.alive {
			continue
		}
		silent := now.Sub(n.update)
		if silent > m.o.DeadAfter {
			m.noteLocked(slog.LevelWarn, "datanode lost", "datanode", n.reg.XferAddr(), "uuid", n.reg.UUID, "silent", silent)
			m.buryLocked(n)
		} else if stale := silent >= m.o.StaleAfter; stale != n.stale {
			n.stale = stale
			n.refresh()
		}
	}
}

// buryLocked declares n dead: what it holds does not count. Its storages' sizes stay for reports.
func (m *Manager) buryLocked(n *node) {
	if !n.alive {
		return
	}
	m.topo.remove(n)
	n.alive, n.stale = false, false
	for _, s := range n.storages {
		m.clearStorageLocked(s)
	}
	m.tally.deletions -= n.deletions.clear()
	n.recover, n.lease, n.scheduled = nil, reportLease{}, scheduled{}
	n.beat.XceiverCount, n.beat.XmitsInProgress = 0, 0
	n.refresh()
}

// ErrorCode is what kind of trouble a datanode reports, numbered as on the wire.
type ErrorCode uint32

// The error codes.
const (
	ErrorNotify ErrorCode = iota
	ErrorDisk
	ErrorInvalidBlock
	ErrorFatalDisk // the datanode goes down
)

// ErrorReport takes in that a datanode is in trouble. After ErrorFatalDisk it counts as dead.
func (m *Manager) ErrorReport(r Registration, code ErrorCode, message string) error {
	m.mu.Lock()
	defer m.unlock()
	n, err := m.senderLocked(r, "error report")
	if err != nil {
		return err
	}
	m.noteLocked(slog.LevelWarn, "datanode reports an error", "datanode", n.reg.XferAddr(), "code", code, "message", message)
	if code == ErrorFatalDisk {
		m.buryLocked(n)
	}
	return nil
}
