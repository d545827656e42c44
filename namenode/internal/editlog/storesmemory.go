package editlog

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// retainedSnapshots is how many images of a member are kept.
const retainedSnapshots = 2

// A memoryDisk holds what the members' stores in memory hold, and what of it a power loss spares.
type memoryDisk struct {
	mu      sync.RWMutex
	now     memoryImage
	durable *memoryImage // nil: the same
	ids     int
}

type memoryImage struct {
	logs      map[uint64]*raft.Log // never changed once stored
	low, high uint64               // 0: no logs
	values    map[string][]byte
	snapshots []*memorySnapshot // newest first
}

type memorySnapshot struct {
	meta raft.SnapshotMeta
	data []byte
}

func newMemoryDisk() *memoryDisk {
	return &memoryDisk{now: memoryImage{logs: map[uint64]*raft.Log{}, values: map[string][]byte{}}}
}

func (m *memoryDisk) powerLoss() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.durable != nil {
		m.now, m.durable = *m.durable, nil
	}
}

func (i *memoryImage) clone() *memoryImage {
	return &memoryImage{
		logs: maps.Clone(i.logs), low: i.low, high: i.high,
		values: maps.Clone(i.values), snapshots: slices.Clone(i.snapshots),
	}
}

// memoryStores is a memoryDisk in use.
type memoryStores struct {
	disk  *memoryDisk
	syncs bool
}

// change changes what there is now, and what is durable with it if every write is synced.
func (s *memoryStores) change(do func(i *memoryImage)) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if !s.syncs && s.disk.durable == nil {
		s.disk.durable = s.disk.now.clone()
	}
	do(&s.disk.now)
}

func (s *memoryStores) look(do func(i *memoryImage)) {
	s.disk.mu.RLock()
	defer s.disk.mu.RUnlock()
	do(&s.disk.now)
}

func (s *memoryStores) sync() error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.disk.durable = nil
	return nil
}

func (s *memoryStores) close() error { return nil }

func (s *memoryStores) FirstIndex() (index uint64, err error) {
	s.look(func(i *memoryImage) { index = i.low })
	return index, nil
}

func (s *memoryStores) LastIndex() (index uint64, err error) {
	s.look(func(i *memoryImage) { index = i.high })
	return index, nil
}

func (s *memoryStores) GetLog(index uint64, log *raft.Log) (err error) {
	s.look(func(i *memoryImage) {
		if l, ok := i.logs[index]; ok {
			*log = *l
		} else {
			err = raft.ErrLogNotFound
		}
	})
	return err
}

func (s *memoryStores) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

func (s *memoryStores) StoreLogs(logs []*raft.Log) error {
	s.change(func(i *memoryImage) {
		for _, l := range logs {
			kept := *l
			i.logs[l.Index] = &kept
			if i.low == 0 {
				i.low = l.Index
			}
			i.high = max(i.high, l.Index)
		}
	})
	return nil
}

func (s *memoryStores) DeleteRange(lo, hi uint64) error {
	s.change(func(i *memoryImage) {
		for index := max(lo, i.low); index <= min(hi, i.high); index++ {
			delete(i.logs, index)
		}
		if len(i.logs) == 0 {
			i.low, i.high = 0, 0
			return
		}
		for i.logs[i.low] == nil { // behind an image there may be a gap
			i.low++
		}
		for i.logs[i.high] == nil {
			i.high--
		}
	})
	return nil
}

func (s *memoryStores) Set(key, value []byte) error {
	s.change(func(i *memoryImage) { i.values[string(key)] = bytes.Clone(value) })
	return nil
}

func (s *memoryStores) Get(key []byte) (value []byte, err error) {
	s.look(func(i *memoryImage) {
		var ok bool
		if value, ok = i.values[string(key)]; !ok {
			err = errNotFound
		}
	})
	return value, err
}

func (s *memoryStores) Create(v raft.SnapshotVersion, index, term uint64, c raft.Configuration, ci uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	sink := &memorySink{stores: s}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.disk.ids++
	sink.meta = raft.SnapshotMeta{
		Version: v, ID: fmt.Sprintf("%d-%d-%d", term, index, s.disk.ids), Index: index, Term: term,
		Configuration: c, ConfigurationIndex: ci,
	}
	return sink, nil
}

func (s *memoryStores) List() (all []*raft.SnapshotMeta, err error) {
	s.look(func(i *memoryImage) {
		for _, snapshot := range i.snapshots {
			meta := snapshot.meta
			all = append(all, &meta)
		}
	})
	return all, nil
}

func (s *memoryStores) Open(id string) (meta *raft.SnapshotMeta, r io.ReadCloser, err error) {
	err = fmt.Errorf("editlog: no image %s", id)
	s.look(func(i *memoryImage) {
		for _, snapshot := range i.snapshots {
			if snapshot.meta.ID == id {
				copied := snapshot.meta
				meta, r, err = &copied, io.NopCloser(bytes.NewReader(snapshot.data)), nil
			}
		}
	})
	return meta, r, err
}

// A memorySink is an image that is being written.
type memorySink struct {
	stores *memoryStores
	meta   raft.SnapshotMeta
	buf    bytes.Buffer
	done   bool
}

func (k *memorySink) ID() string { return k.meta.ID }

func (k *memorySink) Write(p []byte) (int, error) { return k.buf.Write(p) }

func (k *memorySink) Cancel() error {
	k.done = true
	return nil
}

// Close keeps the image, and drops older ones that are in excess.
func (k *memorySink) Close() error {
	if k.done {
		return nil
	}
	k.done = true
	k.meta.Size = int64(k.buf.Len())
	k.stores.change(func(i *memoryImage) {
		all := append([]*memorySnapshot{{k.meta, k.buf.Bytes()}}, i.snapshots...)
		slices.SortStableFunc(all, func(a, b *memorySnapshot) int {
			if a.meta.Index != b.meta.Index {
				return int(int64(b.meta.Index) - int64(a.meta.Index))
			}
			return 0
		})
		i.snapshots = all[:min(len(all), retainedSnapshots)]
	})
	return k.stores.sync()
}
