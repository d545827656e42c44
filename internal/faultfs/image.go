package faultfs

// stashLocked moves extent i to the image when it holds synced bytes at or behind at, and leaves a hole.
func (n *node) stashLocked(i int, at int64) bool {
	if n.discard || max(at, int64(i)*extentSize) >= n.synced {
		return false
	}
	if _, ok := n.saved[i]; ok {
		return false
	}
	if n.saved == nil {
		n.saved = make(map[int][]byte)
	}
	n.saved[i] = nil
	if i < len(n.extents) {
		n.saved[i], n.extents[i] = n.extents[i], nil
	}
	return true
}

// saveLocked keeps extent i as it was at the last Sync, before a byte of it at or behind at is changed.
func (n *node) saveLocked(pool *pool, i int, at int64) {
	if !n.stashLocked(i, at) || n.saved[i] == nil {
		return
	}
	n.extents[i] = pool.get(len(n.saved[i]))
	copy(n.extents[i], n.saved[i])
}

// syncLocked makes the file as it is now the one that survives.
func (n *node) syncLocked(pool *pool) {
	n.forgetLocked(pool)
	n.synced = n.size
}

// forgetLocked drops the image: nothing of the file survives.
func (n *node) forgetLocked(pool *pool) {
	for _, e := range n.saved {
		pool.put(e)
	}
	n.image = image{}
}
