package blocks

import (
	"log/slog"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// ReceivedStatus is what has happened to a replica, numbered as on the wire.
type ReceivedStatus uint8

// The events of an incremental report.
const (
	StatusReceiving ReceivedStatus = iota + 1 // a client has begun to write it
	StatusReceived                            // it is finalized
	StatusDeleted
)

// Received is one event of an incremental report.
type Received struct {
	Block      dfs.Block
	Status     ReceivedStatus
	DeleteHint string // uuid of the datanode whose replica this one is to replace
}

// IncrementalReport takes in what has changed on one storage, in order.
func (m *Manager) IncrementalReport(r Registration, st Storage, events []Received, now time.Time) error {
	m.mu.Lock()
	defer m.unlock()
	n, err := m.senderLocked(r, "incremental block report")
	if err != nil {
		return err
	}
	s := m.storageLocked(n, st)
	for _, e := range events {
		switch e.Status {
		case StatusReceiving:
			m.receivingLocked(s, e.Block)
		case StatusReceived:
			n.scheduled.remove(s.report.Type)
			if b := m.hearLocked(s, Replica{Block: e.Block, State: dfs.ReplicaFinalized}); b != nil {
				m.replaceLocked(b, s.node, m.nodes[e.DeleteHint])
				m.settleLocked(b)
			}
		case StatusDeleted:
			m.deletedLocked(s, e.Block)
		default:
			m.noteLocked(slog.LevelWarn, "incremental report of an unknown kind", "datanode", n.reg.XferAddr(), "block", e.Block, "status", e.Status)
		}
	}
	m.checkSafeModeLocked(now)
	return nil
}

// receivingLocked takes in that a client writes to a replica. Such news wait for the datanode's next heartbeat and may be
// old: an earlier stamp is not held against the replica then.
func (m *Manager) receivingLocked(s *storage, rbw dfs.Block) {
	b := m.hearLocked(s, Replica{Block: rbw, State: dfs.ReplicaRBW})
	if b == nil {
		return
	}
	if i := b.at(s.node); rbw.GenStamp < b.GenStamp {
		b.replicas[i].remarks |= isHeld
	}
	m.settleLocked(b)
}

// deletedLocked takes in that storage s does not hold the block any more, in that generation stamp.
func (m *Manager) deletedLocked(s *storage, gone dfs.Block) {
	m.dropEarlyLocked(s, gone)
	if gen, ok := s.node.deletions.gen(gone.ID); ok && gen <= gone.GenStamp {
		m.forgetDeletionLocked(s.node, gone.ID)
	}
	b := m.blocks[gone.ID]
	if b == nil {
		return
	}
	if i := b.at(s.node); i >= 0 && b.replicas[i].storage == s && b.replicas[i].gen <= gone.GenStamp {
		m.dropReplicaLocked(b, i)
		m.settleLocked(b)
	}
}
