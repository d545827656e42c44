package blocks

import (
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Unreadable lists the complete blocks without a live replica, in the order of their ids.
func (m *Manager) Unreadable() []dfs.BlockID {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []dfs.BlockID
	if m.tally.of(markMissing) > 0 {
		for id, b := range m.blocks {
			if b.marks&markMissing != 0 {
				list = append(list, id)
			}
		}
	}
	slices.Sort(list)
	return list
}
