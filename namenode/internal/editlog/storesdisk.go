package editlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// A backend keeps what raft stores. A key that is missing is errNotFound.
type backend interface {
	raft.LogStore
	raft.SnapshotStore
	Set(key, value []byte) error
	Get(key []byte) ([]byte, error)
	sync() error
	close() error
}

// errNotFound has the text by which raft knows it.
var errNotFound = errors.New("not found")

// errFrozen is what raft gets for a write that is not carried out.
var errFrozen = errors.New("editlog: the stores are not written any more")

// A raftDisk is the Stores as one journal sees them: the three stores of raft. Once it is frozen, by Kill or by its own
// failure, not a byte is written. raft panics when it cannot store a term, so it does not hear of a failure: by then
// the member is cut off from the others, and whatever raft believes to have stored stays with it.
type raftDisk struct {
	stores *Stores
	backend
	syncs  bool
	failed func(error)

	mu     sync.RWMutex // shared by accesses, alone by freeze
	frozen bool
	once   sync.Once // of failed

	synced   atomic.Int64
	syncTime atomic.Int64
}

var (
	_ raft.LogStore      = (*raftDisk)(nil)
	_ raft.StableStore   = (*raftDisk)(nil)
	_ raft.SnapshotStore = (*raftDisk)(nil)
)

// access does something with the backend, unless a fault takes its place.
func (d *raftDisk) access(op string, writes bool, do func() error) error {
	err := d.stores.fault(op)
	d.mu.RLock()
	defer d.mu.RUnlock()
	if writes && d.frozen {
		return errFrozen
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return do()
}

// must is access of what a member cannot do without.
func (d *raftDisk) must(op string, writes bool, do func() error) error {
	start := time.Now()
	err := d.access(op, writes, do)
	switch {
	case err == nil && writes && d.syncs:
		d.synced.Add(1)
		d.syncTime.Add(int64(time.Since(start)))
	case err == nil, errors.Is(err, errFrozen), errors.Is(err, errNotFound), errors.Is(err, raft.ErrLogNotFound):
	default:
		d.fail(err)
	}
	return err
}

// fail has the journal say that it has failed, and freeze the disk, before raft can say anything else.
func (d *raftDisk) fail(cause error) {
	if !d.isFrozen() {
		d.once.Do(func() { d.failed(fmt.Errorf("%s: %w", d.stores.name, cause)) })
	}
}

// freeze returns when nothing is written any more.
func (d *raftDisk) freeze() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.frozen = true
}

func (d *raftDisk) isFrozen() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.frozen
}

// flush makes durable what was written without a sync.
func (d *raftDisk) flush() error {
	if d.syncs {
		return nil
	}
	return d.must("Set", true, d.sync)
}

// letGo ends the use of the stores.
func (d *raftDisk) letGo() error {
	d.freeze()
	err := d.close()
	d.stores.release()
	return err
}

func (d *raftDisk) FirstIndex() (i uint64, err error) {
	err = d.must("Index", false, func() error { i, err = d.backend.FirstIndex(); return err })
	return i, err
}

func (d *raftDisk) LastIndex() (i uint64, err error) {
	err = d.must("Index", false, func() error { i, err = d.backend.LastIndex(); return err })
	return i, err
}

// GetLog of a disk that cannot be read gives an entry without effect: raft would panic. Nobody hears of it.
func (d *raftDisk) GetLog(index uint64, log *raft.Log) error {
	err := d.must("GetLog", false, func() error { return d.backend.GetLog(index, log) })
	if err != nil && d.isFrozen() {
		*log = raft.Log{Index: index, Type: raft.LogNoop}
		return nil
	}
	return err
}

func (d *raftDisk) StoreLog(log *raft.Log) error { return d.StoreLogs([]*raft.Log{log}) }

func (d *raftDisk) StoreLogs(logs []*raft.Log) error {
	return d.must("StoreLogs", true, func() error { return d.backend.StoreLogs(logs) })
}

func (d *raftDisk) DeleteRange(lo, hi uint64) error {
	return d.must("DeleteRange", true, func() error { return d.backend.DeleteRange(lo, hi) })
}

// Set adds a checksum, which covers the key.
func (d *raftDisk) Set(key, value []byte) error {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	sealed := binary.BigEndian.AppendUint32(value[:len(value):len(value)], sum)
	err := d.must("Set", true, func() error { return d.backend.Set(key, sealed) })
	if err != nil && d.isFrozen() {
		return nil
	}
	return err
}

func (d *raftDisk) Get(key []byte) (value []byte, err error) {
	err = d.must("Get", false, func() error {
		sealed, err := d.backend.Get(key)
		if err != nil {
			return err
		}
		n := len(sealed) - 4
		if n < 0 || crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, sealed[:n]) != binary.BigEndian.Uint32(sealed[n:]) {
			return &DamagedError{File: d.stores.name, Reason: fmt.Sprintf("the checksum of %q does not match", key)}
		}
		value = sealed[:n:n]
		return nil
	})
	return value, err
}

func (d *raftDisk) SetUint64(key []byte, n uint64) error {
	return d.Set(key, binary.BigEndian.AppendUint64(nil, n))
}

func (d *raftDisk) GetUint64(key []byte) (uint64, error) {
	b, err := d.Get(key)
	if err != nil {
		return 0, err
	}
	if len(b) != 8 {
		return 0, &DamagedError{File: d.stores.name, Reason: fmt.Sprintf("%q is no number", key)}
	}
	return binary.BigEndian.Uint64(b), nil
}

// Create begins an image. A member can do without one: a failure leaves it as it is.
func (d *raftDisk) Create(v raft.SnapshotVersion, index, term uint64, c raft.Configuration, ci uint64, t raft.Transport) (raft.SnapshotSink, error) {
	var sink raft.SnapshotSink
	err := d.access("CreateSnapshot", true, func() (err error) {
		sink, err = d.backend.Create(v, index, term, c, ci, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &guardedSink{sink, d}, nil
}

func (d *raftDisk) List() (all []*raft.SnapshotMeta, err error) {
	err = d.access("ListSnapshots", false, func() error { all, err = d.backend.List(); return err })
	return all, err
}

func (d *raftDisk) Open(id string) (meta *raft.SnapshotMeta, r io.ReadCloser, err error) {
	err = d.access("OpenSnapshot", false, func() error { meta, r, err = d.backend.Open(id); return err })
	return meta, r, err
}

// A guardedSink is an image that is being written.
type guardedSink struct {
	raft.SnapshotSink
	d *raftDisk
}

func (s *guardedSink) Write(p []byte) (n int, err error) {
	err = s.d.access("WriteSnapshot", true, func() error { n, err = s.SnapshotSink.Write(p); return err })
	return n, err
}

// Close makes the image durable, after all that was stored before.
func (s *guardedSink) Close() error {
	err := s.d.flush()
	if err == nil {
		err = s.d.access("CloseSnapshot", true, s.SnapshotSink.Close)
	}
	if err != nil {
		_ = s.Cancel()
	}
	return err
}

func (s *guardedSink) Cancel() error { return s.d.access("CloseSnapshot", true, s.SnapshotSink.Cancel) }
