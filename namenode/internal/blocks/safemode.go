package blocks

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// SafeModeAction is what an administrator wants of safe mode, numbered as on the wire.
type SafeModeAction uint8

// The safe mode actions.
const (
	SafeModeLeave SafeModeAction = iota + 1
	SafeModeEnter
	SafeModeGet
	SafeModeForceExit
)

// SafeModeStatus tells whether safe mode is on and why.
type SafeModeStatus struct {
	On      bool
	Startup bool   // since the start, and nobody has turned it on by hand
	Tip     string // HDFS's explanation, with how to leave; "" when off
}

// startup is how far the start-up safe mode has come.
type startup uint8

const (
	loading   startup = iota // the namespace is not there yet
	pending                  // the thresholds are not reached
	extension                // they are; stay for a while
	started
)

type safeMode struct {
	startup startup
	manual  bool
	low     bool // on resources
	reached time.Time
}

func (s *safeMode) on() bool         { return s.manual || s.low || s.startup != started }
func (s *safeMode) startingUp() bool { return s.startup != started }

// InSafeMode reports whether safe mode is on. It takes no lock.
func (m *Manager) InSafeMode() bool { return m.inSafeMode.Load() }

// Loaded says that the namespace is loaded: from now on the thresholds of start-up safe mode are checked.
func (m *Manager) Loaded(now time.Time) {
	m.mu.Lock()
	defer m.unlock()
	if m.safe.startup != loading {
		return
	}
	m.safe.startup = pending
	if m.thresholdsMetLocked() {
		m.safe.startup = started
	}
	m.checkSafeModeLocked(now)
}

// needLocked is the number of blocks that must have their replicas.
func (m *Manager) needLocked() int {
	if m.o.SafeMode.Threshold < 0 {
		return 0
	}
	return int(float64(m.tally.of(markComplete)) * m.o.SafeMode.Threshold)
}

func (m *Manager) thresholdsMetLocked() bool {
	return m.tally.of(markSafe) >= m.needLocked() && len(m.topo.nodes) >= m.o.SafeMode.MinDatanodes
}

// checkSafeModeLocked moves the start-up safe mode on. Once over it does not come back.
func (m *Manager) checkSafeModeLocked(now time.Time) {
	s := &m.safe
	if s.startup == pending && m.thresholdsMetLocked() {
		s.startup, s.reached = extension, now
		m.noteLocked(slog.LevelInfo, "safe mode: thresholds reached", "blocks", m.tally.of(markSafe), "extension", m.o.SafeMode.Extension)
	}
	if s.startup == extension && now.Sub(s.reached) >= m.o.SafeMode.Extension && m.thresholdsMetLocked() {
		s.startup = started
		m.noteLocked(slog.LevelInfo, "safe mode: start-up is over", "blocks", m.tally.of(markSafe), "datanodes", len(m.topo.nodes))
	}
	m.inSafeMode.Store(s.on())
}

// SetSafeMode enters or leaves safe mode by hand. Leaving ends the start-up safe mode too. It reports whether safe mode
// is on then.
func (m *Manager) SetSafeMode(a SafeModeAction, now time.Time) bool {
	m.mu.Lock()
	defer m.unlock()
	switch a {
	case SafeModeEnter:
		m.safe.manual = true
	case SafeModeLeave, SafeModeForceExit:
		m.safe = safeMode{startup: started}
	}
	m.checkSafeModeLocked(now)
	return m.safe.on()
}

// ResourcesLow turns safe mode on because the namenode runs out of disk space. Only an administrator turns it off.
func (m *Manager) ResourcesLow(now time.Time) {
	m.mu.Lock()
	defer m.unlock()
	m.safe.low = true
	m.checkSafeModeLocked(now)
}

const leaveTip = `Use "hdfs dfsadmin -safemode leave" to turn safe mode off.`

// SafeMode tells whether safe mode is on, and why.
func (m *Manager) SafeMode(now time.Time) SafeModeStatus {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.safe
	st := SafeModeStatus{On: s.on(), Startup: s.startingUp() && !s.manual && !s.low}
	switch {
	case !st.On:
	case s.low:
		// The words run together in HDFS's text too.
		st.Tip = "Resources are low on NN. Please add or free up more resourcesthen turn off safe mode manually. " +
			"NOTE:  If you turn off safe mode before adding resources, the NN will immediately return to safe mode. " + leaveTip
	case s.manual:
		st.Tip = "It was turned on manually. " + leaveTip
	default:
		st.Tip = m.startupTipLocked(now)
	}
	return st
}

func (m *Manager) startupTipLocked(now time.Time) string {
	var b strings.Builder
	safe, total, need := m.tally.of(markSafe), m.tally.of(markComplete), m.needLocked()
	threshold := max(m.o.SafeMode.Threshold, 0)
	if safe < need {
		fmt.Fprintf(&b, "The reported blocks %d needs additional %d blocks to reach the threshold %.4f of total blocks %d.\n",
			safe, need-safe, threshold, total)
	} else {
		fmt.Fprintf(&b, "The reported blocks %d has reached the threshold %.4f of total blocks %d. ", safe, threshold, total)
	}
	switch nodes, want := len(m.topo.nodes), m.o.SafeMode.MinDatanodes; {
	case want <= 0:
		b.WriteString("The minimum number of live datanodes is not required. ")
	case safe < need:
		b.WriteString("The number of live datanodes is not calculated since reported blocks hasn't reached the threshold. ")
	case nodes < want:
		fmt.Fprintf(&b, "The number of live datanodes %d needs an additional %d live datanodes to reach the minimum number %d.\n",
			nodes, want-nodes, want)
	default:
		fmt.Fprintf(&b, "The number of live datanodes %d has reached the minimum number %d. ", nodes, want)
	}
	const off = "Safe mode will be turned off automatically "
	if m.safe.startup == extension {
		left := max(m.o.SafeMode.Extension-now.Sub(m.safe.reached), 0)
		fmt.Fprintf(&b, "In safe mode extension. %sin %d seconds.", off, left/time.Second)
	} else {
		b.WriteString(off + "once the thresholds have been reached.")
	}
	return b.String()
}
