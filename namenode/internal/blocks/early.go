package blocks

import (
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// early is a report of a replica whose edit this namenode has not applied yet.
type early struct {
	storage *storage
	Replica
}

// postponeReportLocked keeps rep until its edit comes. One report a datanode is kept, the latest.
func (m *Manager) postponeReportLocked(s *storage, rep Replica) {
	list := m.early[rep.ID]
	for i := range list {
		if list[i].storage.node == s.node {
			if rep.GenStamp >= list[i].GenStamp {
				list[i] = early{storage: s, Replica: rep}
			}
			return
		}
	}
	m.early[rep.ID] = append(list, early{storage: s, Replica: rep})
}

// replayLocked takes in the reports that were waiting for the present state of b.
func (m *Manager) replayLocked(b *block) {
	list := m.early[b.ID]
	if len(list) == 0 {
		return
	}
	delete(m.early, b.ID)
	for _, e := range list {
		m.hearLocked(e.storage, e.Replica) // one still too new waits again
	}
}

// sweepEarlyLocked deletes what waits for blocks that are past: their ids were handed out, and nothing holds them.
func (m *Manager) sweepEarlyLocked() {
	for id, list := range m.early {
		if id > m.lastID || m.blocks[id] != nil {
			continue
		}
		delete(m.early, id)
		for _, e := range list {
			m.deleteLocked(e.storage.node, e.Block)
		}
	}
}

// dropEarlyLocked forgets what waits about a replica on s that was deleted.
func (m *Manager) dropEarlyLocked(s *storage, gone dfs.Block) {
	m.filterEarlyLocked(gone.ID, func(e early) bool { return e.storage == s && e.GenStamp <= gone.GenStamp })
}

// forgetEarlyLocked forgets all that waits about s.
func (m *Manager) forgetEarlyLocked(s *storage) {
	for id := range m.early {
		m.filterEarlyLocked(id, func(e early) bool { return e.storage == s })
	}
}

func (m *Manager) filterEarlyLocked(id dfs.BlockID, drop func(early) bool) {
	list, ok := m.early[id]
	if !ok {
		return
	}
	if list = slices.DeleteFunc(list, drop); len(list) == 0 {
		delete(m.early, id)
	} else {
		m.early[id] = list
	}
}
