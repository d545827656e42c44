package blocks

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Options configure a Manager. The zero value means HDFS's defaults.
type Options struct {
	HeartbeatInterval time.Duration // 3 s
	StaleAfter        time.Duration // 30 s without a heartbeat: used last
	DeadAfter         time.Duration // 630 s without a heartbeat: its replicas are gone
	ReportLeaseTTL    time.Duration // 5 min
	RecoveryTimeout   time.Duration // 30 heartbeats: then the next primary is asked

	MinReplication            int // 1
	MaxInvalidatePerHeartbeat int // blocks in one heartbeat's answer: 1000
	SafeMode                  SafeModeOptions
	AvoidStale                bool    // do not write to stale datanodes while others will do
	IgnoreLoad                bool    // place on busy datanodes too
	LoadFactor                float64 // busy: more than 2 times the average number of transfers
	DefaultLocation           string  // rack of a host that Racks does not know: /default-rack

	Racks  func(host string) string // rack of a host name, address or address:port; called without a lock
	Rand   *rand.Rand               // used by the Manager alone
	Logger *slog.Logger
}

// SafeModeOptions say what must be reported before a namenode leaves start-up safe mode.
type SafeModeOptions struct {
	Threshold    float64       // share of blocks with MinReplication replicas: 0.999; negative: none
	MinDatanodes int           // 0
	Extension    time.Duration // how long to stay after the thresholds are reached: 0
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.HeartbeatInterval, 3*time.Second)
	def(&o.StaleAfter, 30*time.Second)
	def(&o.DeadAfter, 630*time.Second)
	def(&o.ReportLeaseTTL, 5*time.Minute)
	def(&o.RecoveryTimeout, 30*o.HeartbeatInterval)
	if o.MinReplication <= 0 {
		o.MinReplication = 1
	}
	if o.MaxInvalidatePerHeartbeat <= 0 {
		o.MaxInvalidatePerHeartbeat = 1000
	}
	if o.SafeMode.Threshold == 0 {
		o.SafeMode.Threshold = 0.999
	}
	if o.LoadFactor <= 0 {
		o.LoadFactor = 2
	}
	if o.DefaultLocation == "" {
		o.DefaultLocation = "/default-rack"
	}
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(0, 0))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Manager knows the datanodes and the replicas.
type Manager struct {
	o    Options
	seed uint64

	inSafeMode atomic.Bool   // safe.on(), for callers that ask before every call
	turns      atomic.Uint64 // spreads readers over equally near replicas

	mu         sync.RWMutex
	now        time.Time // as of the last heartbeat or Tick
	active     bool
	activeTxID uint64
	blocks     map[dfs.BlockID]*block
	lastID     dfs.BlockID               // the highest block id that the namespace has handed out
	early      map[dfs.BlockID][]early   // reports that came before their edit
	postponed  map[dfs.BlockID]struct{}  // blocks with corrupt or excess replicas that may not be deleted yet
	recovering map[dfs.BlockID]*block    // blocks with a recovery under way
	closing    map[dfs.BlockID]time.Time // complete blocks that wait for more replicas, and until when; zero: Tick sets it
	waiters    map[dfs.BlockID][]waiter  //
	nodes      map[string]*node          // by uuid
	addrs      map[string]*node          // by ip:xferPort
	order      []*node                   // in order of first registration
	topo       topology                  // the live ones
	lastLease  uint64                    // id of the last report lease given out
	epoch      uint64                    // of the placement under way, see node.epoch
	tally      tally
	safe       safeMode
	notes      []note // to log once the lock is free
}

// New makes a Manager that knows nothing and is in start-up safe mode until Loaded.
func New(o Options) *Manager {
	m := &Manager{
		o:          o.withDefaults(),
		blocks:     map[dfs.BlockID]*block{},
		early:      map[dfs.BlockID][]early{},
		postponed:  map[dfs.BlockID]struct{}{},
		recovering: map[dfs.BlockID]*block{},
		closing:    map[dfs.BlockID]time.Time{},
		waiters:    map[dfs.BlockID][]waiter{},
		nodes:      map[string]*node{},
		addrs:      map[string]*node{},
	}
	m.topo.racks, m.topo.hosts = map[string][]*node{}, map[string][]*node{}
	m.seed, m.lastLease = m.o.Rand.Uint64(), m.o.Rand.Uint64()
	m.inSafeMode.Store(true)
	return m
}

// SetActive says whether this namenode is the active one, and from which transaction on. Only an active sends commands.
// What the datanodes hold is then taken on trust until each has reported to this active: the one before may have told
// them to delete replicas.
func (m *Manager) SetActive(active bool, txid uint64) {
	m.mu.Lock()
	defer m.unlock()
	m.active, m.activeTxID = active, txid
	for _, n := range m.order {
		n.recover = nil
		m.tally.deletions -= n.deletions.keep(func(id dfs.BlockID) bool { return m.blocks[id] == nil })
		for _, s := range n.storages {
			s.heard, s.fresh = false, false
		}
	}
	for _, b := range m.recovering {
		b.uc.recovery = nil
	}
	clear(m.recovering)
}

// ActiveSince gives the transaction with which this namenode became active, and whether it is.
func (m *Manager) ActiveSince() (txid uint64, active bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.activeTxID, m.active
}

// Tick does what is due at now: it finds stale and dead datanodes, ends the safe mode extension, asks the next primary
// where a recovery takes too long, and deletes corrupt and excess replicas that had to wait.
func (m *Manager) Tick(now time.Time) {
	m.mu.Lock()
	defer m.unlock()
	m.now = now
	m.checkLivenessLocked(now)
	m.checkSafeModeLocked(now)
	m.checkClosingLocked(now)
	if !m.active {
		return
	}
	m.sweepEarlyLocked()
	m.settlePostponedLocked()
	m.checkRecoveriesLocked(now)
}

// note is a line for the log. Nothing is written while the lock is held.
type note struct {
	level slog.Level
	text  string
	args  []any
}

func (m *Manager) noteLocked(level slog.Level, text string, args ...any) {
	m.notes = append(m.notes, note{level, text, args})
}

// unlock ends a call that has changed something, and then logs what there is to tell.
func (m *Manager) unlock() {
	notes := m.notes
	m.notes = nil
	m.mu.Unlock()
	for _, n := range notes {
		m.o.Logger.Log(context.Background(), n.level, n.text, n.args...)
	}
}
