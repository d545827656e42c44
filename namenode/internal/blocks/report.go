package blocks

import (
	"iter"
	"math"
	"time"
)

// ReportContext says which report a list belongs to, and under which lease it comes.
type ReportContext struct {
	ID      int64
	Total   int // calls that the report is made of
	Cur     int // number of this call, from 0
	LeaseID uint64
}

// reportChunk is how many replicas are taken in at a time: other calls get their turn in between.
const reportChunk = 4096

// FullReport takes in the list of all replicas on one storage. Replicas that were known there and are not in the list
// are forgotten, those of other storages stay: a report may come storage by storage, in several calls, and again. A
// newer report of the same storage takes over from one that is still being taken in.
func (m *Manager) FullReport(r Registration, st Storage, list iter.Seq[Replica], ctx ReportContext, now time.Time) error {
	s, round, err := m.beginReport(r, st, ctx, now)
	if err != nil {
		return err
	}
	chunk := make([]Replica, 0, reportChunk)
	for rep := range list {
		if chunk = append(chunk, rep); len(chunk) == reportChunk {
			if !m.takeChunk(s, round, chunk) {
				return nil
			}
			chunk = chunk[:0]
		}
	}
	if !m.takeChunk(s, round, chunk) {
		return nil
	}
	for end := math.MaxInt; end > 0; {
		end = m.forgetUnlisted(s, round, end)
	}
	m.endReport(s, round, now)
	return nil
}

func (m *Manager) beginReport(r Registration, st Storage, ctx ReportContext, now time.Time) (*storage, uint8, error) {
	m.mu.Lock()
	defer m.unlock()
	n, err := m.senderLocked(r, "block report")
	if err != nil {
		return nil, 0, err
	}
	if err := n.lease.check(ctx, now); err != nil {
		return nil, 0, err
	}
	s := m.storageLocked(n, st)
	s.round++
	s.listed = 0
	return s, s.round, nil
}

// current reports whether a report of that round is still the one that counts.
func (s *storage) current(round uint8) bool {
	return s.node.alive && s.round == round && !s.report.Failed && s.node.storage(s.report.ID) == s
}

// takeChunk takes in a part of a list. It reports whether the report still counts.
func (m *Manager) takeChunk(s *storage, round uint8, chunk []Replica) bool {
	m.mu.Lock()
	defer m.unlock()
	if !s.current(round) {
		return false
	}
	for _, rep := range chunk {
		if b := m.hearLocked(s, rep); b != nil {
			m.settleLocked(b)
		}
	}
	return true
}

// forgetUnlisted looks at one chunk of the blocks of s below end, from the back, and forgets those that the report of
// that round has left out. It returns the next end, 0 when there is nothing left to do.
func (m *Manager) forgetUnlisted(s *storage, round uint8, end int) int {
	m.mu.Lock()
	defer m.unlock()
	if !s.current(round) || s.listed == len(s.blocks) {
		return 0
	}
	end = min(end, len(s.blocks))
	stop := max(0, end-reportChunk)
	for i := end - 1; i >= stop; i-- {
		b := s.blocks[i]
		if at := b.at(s.node); b.replicas[at].round != round {
			m.dropReplicaLocked(b, at)
			m.settleLocked(b)
		}
	}
	return stop
}

func (m *Manager) endReport(s *storage, round uint8, now time.Time) {
	m.mu.Lock()
	defer m.unlock()
	if s.current(round) {
		s.fresh = s.heard
		s.node.report = now
		s.node.refresh()
	}
	m.checkSafeModeLocked(now)
}
