package editlog

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// Stores are the disk of one member of a Group: its log, its votes, its images. They outlive the journal, which takes
// them when it is opened and lets go of them when it ends; one journal at a time has them.
type Stores struct {
	name string
	open func(syncs bool) (backend, error)

	mu    sync.Mutex
	taken bool
	hook  func(op string) error
	cut   func() // of a disk in memory: back to the last sync
}

// NewMemoryStores makes stores in memory, empty.
func NewMemoryStores() *Stores {
	m := newMemoryDisk()
	return &Stores{
		name: "stores in memory",
		open: func(syncs bool) (backend, error) { return &memoryStores{disk: m, syncs: syncs}, nil },
		cut:  m.powerLoss,
	}
}

// OpenStores gives the stores in a real folder, which is made if missing. Without sync, a power loss may take what it
// wants. Files are open only while a journal has the stores.
func OpenStores(dir string, sync bool) (*Stores, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("editlog: cannot make the folder of the stores: %w", err)
	}
	return &Stores{
		name: dir,
		open: func(syncs bool) (backend, error) { return openBolt(dir, sync && syncs) },
	}, nil
}

// SetHook has hook called before each access, with one of StoreLogs, GetLog, DeleteRange, Index, Set, Get, CreateSnapshot,
// WriteSnapshot, CloseSnapshot, OpenSnapshot and ListSnapshots. An error takes the place of the access. nil: no hook.
func (s *Stores) SetHook(hook func(op string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// PowerLoss takes back what was not synced, where the stores are in memory; in a folder, that is for the folder's file
// system to lose. The journal must have been killed.
func (s *Stores) PowerLoss() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken {
		return errors.New("editlog: a journal has the stores open; kill it before the power loss")
	}
	if s.cut != nil {
		s.cut()
	}
	return nil
}

// take opens the stores for a journal. failed is called, once, when an access fails in earnest.
func (s *Stores) take(syncs bool, failed func(error)) (*raftDisk, error) {
	s.mu.Lock()
	if s.taken {
		s.mu.Unlock()
		return nil, fmt.Errorf("editlog: %s: another journal has the stores open; close it first", s.name)
	}
	s.taken = true
	s.mu.Unlock()
	b, err := s.open(syncs)
	if err != nil {
		s.release()
		return nil, err
	}
	return &raftDisk{stores: s, backend: b, syncs: syncs, failed: failed}, nil
}

func (s *Stores) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = false
}

// fault asks the hook.
func (s *Stores) fault(op string) error {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(op)
}

// A DamagedError tells that a member's stores have lost or changed what was in them. Such a member may have forgotten a
// vote: it must not come back under its id, not with a copy of its files either.
type DamagedError struct {
	File   string
	Reason string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("editlog: %s is damaged: %s; remove this member from its group, empty its folder and add it again under another id",
		e.File, e.Reason)
}
