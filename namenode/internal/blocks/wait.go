package blocks

import "github.com/minidfs/go-minidfs/internal/dfs"

// waiter is who waits for n finalized replicas of a block. All who wait for the same share its channel.
type waiter struct {
	block dfs.Block
	n     int
	done  chan struct{}
}

// finalized counts the replicas of b that are finalized with just that stamp and length.
func (b *block) finalized(want dfs.Block) int {
	k := 0
	for i := range b.replicas {
		r := &b.replicas[i]
		if r.state == dfs.ReplicaFinalized && !r.remarks.has(isBad) && r.gen == want.GenStamp && r.len == want.Len {
			k++
		}
	}
	return k
}

// Finalized counts the live finalized replicas of just that stamp and length, whether the block is committed or not.
func (m *Manager) Finalized(want dfs.Block) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if b := m.blocks[want.ID]; b != nil {
		return b.finalized(want)
	}
	return 0
}

// Complete reports whether a file that ends with the block may be closed: MinReplication replicas are finalized with
// just that stamp and length.
func (m *Manager) Complete(last dfs.Block) bool { return m.Finalized(last) >= m.o.MinReplication }

// Replicas counts the live replicas of a block.
func (m *Manager) Replicas(id dfs.BlockID) int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if b := m.blocks[id]; b != nil {
		lives, _ := b.count()
		return lives
	}
	return 0
}

// Reported reports whether any datanode has told of a replica of the block, whatever its state and stamp.
func (m *Manager) Reported(id dfs.BlockID) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b := m.blocks[id]
	return b != nil && len(b.replicas) > 0 || len(m.early[id]) > 0
}

// Wait returns a channel that is closed once n live replicas are finalized with just that stamp and length, or the
// block is gone. Whoever gives up may just leave it.
func (m *Manager) Wait(want dfs.Block, n int) <-chan struct{} {
	m.mu.Lock()
	defer m.unlock()
	b := m.blocks[want.ID]
	if b == nil || b.finalized(want) >= n {
		done := make(chan struct{})
		close(done)
		return done
	}
	for _, w := range m.waiters[want.ID] {
		if w.block == want && w.n == n {
			return w.done
		}
	}
	w := waiter{block: want, n: n, done: make(chan struct{})}
	m.waiters[want.ID] = append(m.waiters[want.ID], w)
	return w.done
}

// wakeLocked closes the channels of those whose replicas of b are there.
func (m *Manager) wakeLocked(b *block) {
	list, ok := m.waiters[b.ID]
	if !ok {
		return
	}
	kept := list[:0]
	for _, w := range list {
		if b.finalized(w.block) >= w.n {
			close(w.done)
		} else {
			kept = append(kept, w)
		}
	}
	clear(list[len(kept):])
	if len(kept) == 0 {
		delete(m.waiters, b.ID)
	} else {
		m.waiters[b.ID] = kept
	}
}

// releaseLocked closes the channels of all who wait for a block that is gone.
func (m *Manager) releaseLocked(id dfs.BlockID) {
	for _, w := range m.waiters[id] {
		close(w.done)
	}
	delete(m.waiters, id)
}
