package namespace

import (
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// LockMode says how readers and the applying goroutine keep out of one another's way.
type LockMode uint8

// The lock modes.
const (
	Partitioned LockMode = iota // directories over many partitions, each with its own lock
	Global                      // one lock for all
)

// Options configure a Namespace.
type Options struct {
	Mode       LockMode
	Partitions int // of Partitioned; 0: 64
	Observer   Observer
}

// Namespace is the state. Apply and Restore are called by one goroutine; everything else by any.
type Namespace struct {
	lock     locker
	observer Observer
	names    *names
	params   atomic.Pointer[Params]
	waves    bool      // batches are cut into waves; otherwise each op is executed before the next is planned
	spread   int       // waves that link so many names are spread over goroutines
	checkers sync.Pool // of *planner, for Check

	last struct { // of counters, for who need not have them exactly
		time atomic.Int64
		tx   atomic.Uint64
	}

	applying sync.Mutex // held while a batch is applied, a state restored, an image begun
	planner  planner
	wave     wave

	// Guarded by the barrier: changed only by who excludes everybody else.
	root  *inode
	epoch uint32

	// Guarded by the indexes' lock.
	counters counters
	inodes   table[dfs.INodeID, *inode]      // of the present state
	blocks   table[dfs.BlockID, dfs.INodeID] // those of files in the present state
	leases   map[string]map[dfs.INodeID]struct{}
	counts   Counts
	kept     *btree.Map[dfs.BlockID, keptBlock] // those that only snapshots hold
	keptBy   map[int][]dfs.BlockID              // snapshot -> blocks in kept that it holds
	snapDirs map[dfs.INodeID]struct{}           // snapshottable directories
	retry    retryCache
}

// counters are the numbers that the state hands out.
type counters struct {
	time      int64 // of the last op
	tx        uint64
	inode     dfs.INodeID
	block     dfs.BlockID
	stamp     dfs.GenStamp
	snapshot  int    // last snapshot id
	term      uint64 // of the last StartSegment
	snapshots int    // in the whole file system
}

// New makes an empty namespace: a root directory and DefaultParams.
func New(o Options) *Namespace {
	if o.Observer == nil {
		o.Observer = deaf{}
	}
	if o.Partitions <= 0 {
		o.Partitions = 64
	}
	n := &Namespace{observer: o.Observer, names: newNames(), spread: parallelWave}
	if o.Mode == Global {
		n.lock = new(globalLock)
	} else {
		n.lock, n.waves = newPartitionedLock(o.Partitions), true
	}
	n.reset()
	return n
}

// reset makes the state that of a new file system.
func (n *Namespace) reset() {
	p := DefaultParams()
	n.params.Store(&p)
	n.epoch = 1
	group := n.names.number(p.Supergroup)
	n.root = newDir(dfs.RootINodeID, 0, "", n.epoch, &directory{attrs: attrs{group: group, perm: 0o755}})
	n.setCounters(counters{inode: dfs.RootINodeID, block: dfs.LastReservedBlockID, stamp: dfs.LastReservedGenStamp})
	n.inodes = newTable[dfs.INodeID, *inode]()
	n.inodes.set(dfs.RootINodeID, n.root)
	n.blocks = newTable[dfs.BlockID, dfs.INodeID]()
	n.leases = map[string]map[dfs.INodeID]struct{}{}
	n.counts = Counts{INodes: 1, Directories: 1}
	n.kept = new(btree.Map[dfs.BlockID, keptBlock])
	n.keptBy = map[int][]dfs.BlockID{}
	n.snapDirs = map[dfs.INodeID]struct{}{}
	n.retry = retryCache{}
}

// setCounters changes the counters. The caller holds the indexes.
func (n *Namespace) setCounters(c counters) {
	n.counters = c
	n.last.time.Store(c.time)
	n.last.tx.Store(c.tx)
}

// settled gives the counters and counts together.
func (n *Namespace) settled() (counters, Counts) {
	n.lock.share()
	defer n.lock.unshare()
	n.lock.readIndex()
	defer n.lock.unreadIndex()
	return n.counters, n.counts
}

// TxID is the id of the last edit record.
func (n *Namespace) TxID() uint64 { c, _ := n.settled(); return c.tx }

// Term is that of the last StartSegment.
func (n *Namespace) Term() uint64 { c, _ := n.settled(); return c.term }

// LastBlockID is the last block id handed out.
func (n *Namespace) LastBlockID() dfs.BlockID { c, _ := n.settled(); return c.block }

// LastGenStamp is the last generation stamp handed out.
func (n *Namespace) LastGenStamp() dfs.GenStamp { c, _ := n.settled(); return c.stamp }

// Params are the settings in force.
func (n *Namespace) Params() Params { return *n.params.Load() }

// Counts are the sizes of the present state.
func (n *Namespace) Counts() Counts { _, c := n.settled(); return c }
