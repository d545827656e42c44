package namespace

import (
	"sync"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// locker is how readers and the applying goroutine keep out of one another's way. Everybody holds the barrier; only
// who holds it shared needs the others. Order: barrier, then at most one directory, then the indexes; a walk never
// holds two directories.
type locker interface {
	share() // readers and waves
	unshare()
	exclude() // what reaches beyond one directory
	include()
	readDir(dfs.INodeID) // the children and modification time of a directory
	unreadDir(dfs.INodeID)
	writeDir(dfs.INodeID)
	unwriteDir(dfs.INodeID)
	readIndex() // ids, blocks, leases, counters, retry cache
	unreadIndex()
	writeIndex()
	unwriteIndex()
}

// globalLock is one lock for all.
type globalLock struct{ mu sync.RWMutex }

func (l *globalLock) share()   { l.mu.RLock() }
func (l *globalLock) unshare() { l.mu.RUnlock() }
func (l *globalLock) exclude() { l.mu.Lock() }
func (l *globalLock) include() { l.mu.Unlock() }

func (*globalLock) readDir(dfs.INodeID)    {}
func (*globalLock) unreadDir(dfs.INodeID)  {}
func (*globalLock) writeDir(dfs.INodeID)   {}
func (*globalLock) unwriteDir(dfs.INodeID) {}
func (*globalLock) readIndex()             {}
func (*globalLock) unreadIndex()           {}
func (*globalLock) writeIndex()            {}
func (*globalLock) unwriteIndex()          {}

// partitionedLock spreads directories over partitions.
type partitionedLock struct {
	barrier sync.RWMutex
	index   sync.RWMutex
	parts   []paddedLock
}

// paddedLock fills a cache line, so that neighbours do not slow one another down.
type paddedLock struct {
	sync.RWMutex
	_ [40]byte
}

func newPartitionedLock(n int) *partitionedLock {
	return &partitionedLock{parts: make([]paddedLock, n)}
}

// partition spreads ids by a multiplicative hash: consecutive ids land far apart.
func partition(id dfs.INodeID, n int) int {
	return int((uint64(id) * 0x9E3779B97F4A7C15 >> 33) % uint64(n))
}

func (l *partitionedLock) part(id dfs.INodeID) *paddedLock {
	return &l.parts[partition(id, len(l.parts))]
}

func (l *partitionedLock) share()                    { l.barrier.RLock() }
func (l *partitionedLock) unshare()                  { l.barrier.RUnlock() }
func (l *partitionedLock) exclude()                  { l.barrier.Lock() }
func (l *partitionedLock) include()                  { l.barrier.Unlock() }
func (l *partitionedLock) readDir(id dfs.INodeID)    { l.part(id).RLock() }
func (l *partitionedLock) unreadDir(id dfs.INodeID)  { l.part(id).RUnlock() }
func (l *partitionedLock) writeDir(id dfs.INodeID)   { l.part(id).Lock() }
func (l *partitionedLock) unwriteDir(id dfs.INodeID) { l.part(id).Unlock() }
func (l *partitionedLock) readIndex()                { l.index.RLock() }
func (l *partitionedLock) unreadIndex()              { l.index.RUnlock() }
func (l *partitionedLock) writeIndex()               { l.index.Lock() }
func (l *partitionedLock) unwriteIndex()             { l.index.Unlock() }
