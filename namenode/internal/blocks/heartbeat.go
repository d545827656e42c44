package blocks

import (
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Heartbeat is what a datanode says about itself every few seconds.
type Heartbeat struct {
	Reports         []StorageReport
	XmitsInProgress int
	XceiverCount    int
	FailedVolumes   int
	CacheCapacity   int64
	CacheUsed       int64
	VolumeFailures  VolumeFailures
	WantReportLease bool // it would like to send a full report
}

// VolumeFailures sums up the volumes that a datanode has lost.
type VolumeFailures struct {
	Locations    []string
	Last         time.Time
	CapacityLost int64
}

// Command is what a namenode asks of a datanode in the answer to a heartbeat: a RegisterCommand, an InvalidateCommand
// or a RecoverCommand.
type Command interface{ command() }

// RegisterCommand asks the datanode to register again.
type RegisterCommand struct{}

// InvalidateCommand asks it to delete replicas, each of just that generation stamp.
type InvalidateCommand struct{ Blocks []dfs.Block }

// RecoverCommand asks it to lead the recovery of blocks.
type RecoverCommand struct{ Blocks []RecoveringBlock }

func (RegisterCommand) command()   {}
func (InvalidateCommand) command() {}
func (RecoverCommand) command()    {}

// Heartbeat takes in a heartbeat and answers with what there is to do. leaseID is not zero when a full report was asked
// for and may be sent. A datanode that is not known, or was dead, is asked to register and nothing else.
func (m *Manager) Heartbeat(r Registration, h Heartbeat, now time.Time) (cmds []Command, leaseID uint64, err error) {
	m.mu.Lock()
	defer m.unlock()
	m.now = now
	n, err := m.senderLocked(r, "heartbeat")
	if err != nil {
		return []Command{RegisterCommand{}}, 0, nil
	}
	m.updateStoragesLocked(n, h.Reports, !n.greeted || h.FailedVolumes > n.beat.FailedVolumes)
	m.topo.load += h.XceiverCount - n.beat.XceiverCount
	h.Reports = nil
	n.beat, n.update, n.stale, n.greeted = h, now, false, true
	n.scheduled.roll(now)
	n.refresh()
	if h.WantReportLease {
		leaseID = m.grantLeaseLocked(n, now)
	}
	m.checkSafeModeLocked(now)
	if !m.active || m.safe.on() {
		return nil, leaseID, nil
	}
	if rec := m.takeRecoveriesLocked(n, now); len(rec) > 0 {
		return []Command{RecoverCommand{Blocks: rec}}, leaseID, nil
	}
	if dead := m.takeDeletionsLocked(n); len(dead) > 0 {
		cmds = append(cmds, InvalidateCommand{Blocks: dead})
	}
	return cmds, leaseID, nil
}
