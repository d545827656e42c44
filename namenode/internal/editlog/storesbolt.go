package editlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

const (
	boltName     = "raft.db"
	snapshotsDir = "snapshots" // raft's name
	// cachedLogs is how many of the last entries need not be read from the file for the other members.
	cachedLogs = 128
)

// boltStores are the stores in a folder: raft.db and snapshots.
type boltStores struct {
	raft.LogStore
	raft.SnapshotStore
	db   *raftboltdb.BoltStore
	path string
}

// openBolt opens the stores of a folder, and reads all of them once.
func openBolt(dir string, sync bool) (backend, error) {
	s := &boltStores{path: filepath.Join(dir, boltName)}
	err := s.guard(func() error { return s.open(dir, sync) })
	if err == nil {
		return s, nil
	}
	if s.db != nil {
		_ = s.guard(s.db.Close)
	}
	return nil, err
}

func (s *boltStores) open(dir string, sync bool) (err error) {
	_, statErr := os.Stat(s.path)
	leftovers, err := filepath.Glob(filepath.Join(dir, snapshotsDir, "*"))
	if err != nil {
		return err
	}
	if errors.Is(statErr, os.ErrNotExist) && len(leftovers) > 0 {
		return &DamagedError{File: s.path, Reason: "it is missing, but there are images of this member"}
	}
	for _, path := range leftovers {
		if strings.HasSuffix(path, tempSuffix) {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("editlog: cannot remove an unfinished image: %w", err)
			}
		}
	}
	s.db, err = raftboltdb.New(raftboltdb.Options{
		Path: s.path, NoSync: !sync,
		BoltOptions: &bbolt.Options{Timeout: 100 * time.Millisecond, FreelistType: bbolt.FreelistMapType},
	})
	switch {
	case errors.Is(err, bbolterrors.ErrTimeout):
		return fmt.Errorf("editlog: %s is open in another namenode; stop that, or give each its own folder", s.path)
	case errors.Is(err, bbolterrors.ErrInvalid), errors.Is(err, bbolterrors.ErrChecksum), errors.Is(err, bbolterrors.ErrVersionMismatch):
		return &DamagedError{File: s.path, Reason: err.Error()}
	case err != nil:
		return fmt.Errorf("editlog: cannot open %s: %w", s.path, err)
	}
	if s.LogStore, err = raft.NewLogCache(cachedLogs, summedLogs{s.db}); err != nil {
		return err
	}
	if s.SnapshotStore, err = raft.NewFileSnapshotStoreWithLogger(dir, retainedSnapshots, hclog.NewNullLogger()); err != nil {
		return fmt.Errorf("editlog: cannot use %s: %w", dir, err)
	}
	return s.verify(dir)
}

// guard does something with files that may be damaged: bbolt panics then, or touches pages that are not there.
func (s *boltStores) guard(do func() error) (err error) {
	was := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(was)
	defer func() {
		if p := recover(); p != nil {
			err = &DamagedError{File: s.path, Reason: fmt.Sprint(p)}
		}
	}()
	return do()
}

// verify reads the newest image and every entry, and refuses a log with a hole.
func (s *boltStores) verify(dir string) error {
	var image uint64
	all, err := s.List()
	if err != nil {
		return fmt.Errorf("editlog: cannot list the images in %s: %w", dir, err)
	}
	if len(all) > 0 {
		image = all[0].Index
		_, r, err := s.Open(all[0].ID)
		if err != nil {
			return &DamagedError{File: filepath.Join(dir, snapshotsDir, all[0].ID), Reason: err.Error()}
		}
		_ = r.Close()
	}
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	last, err := s.LastIndex()
	if err != nil {
		return err
	}
	if last > image && first > image+1 {
		return &DamagedError{File: s.path, Reason: fmt.Sprintf("the log begins with entry %d, the newest image ends with %d", first, image)}
	}
	for index := max(first, 1); index <= last; index++ {
		var l raft.Log
		err := s.GetLog(index, &l)
		if errors.Is(err, raft.ErrLogNotFound) && index <= image {
			continue
		}
		if err != nil {
			return &DamagedError{File: s.path, Reason: fmt.Sprintf("entry %d of %d cannot be read: %v", index, last, err)}
		}
	}
	return nil
}

func (s *boltStores) Set(key, value []byte) error { return s.db.Set(key, value) }

func (s *boltStores) Get(key []byte) ([]byte, error) {
	value, err := s.db.Get(key)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil, errNotFound
	}
	return value, err
}

func (s *boltStores) sync() error { return s.db.Sync() }

func (s *boltStores) close() error { return s.db.Close() }

// summedLogs keeps a checksum with each entry, as its last extension.
type summedLogs struct{ *raftboltdb.BoltStore }

func sumOf(l *raft.Log) uint32 {
	b := binary.BigEndian.AppendUint64(nil, l.Index)
	b = binary.BigEndian.AppendUint64(b, l.Term)
	b = append(b, byte(l.Type))
	sum := crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, l.Data)
	return crc32.Update(sum, castagnoli, l.Extensions)
}

func (s summedLogs) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s summedLogs) StoreLogs(logs []*raft.Log) error {
	summed := make([]*raft.Log, len(logs))
	for i, l := range logs {
		kept := *l
		kept.Extensions = binary.BigEndian.AppendUint32(l.Extensions[:len(l.Extensions):len(l.Extensions)], sumOf(l))
		summed[i] = &kept
	}
	return s.BoltStore.StoreLogs(summed)
}

func (s summedLogs) GetLog(index uint64, l *raft.Log) error {
	*l = raft.Log{}
	if err := s.BoltStore.GetLog(index, l); err != nil {
		return err
	}
	n := len(l.Extensions) - 4
	if n < 0 || l.Index != index {
		return errors.New("it is not an entry")
	}
	sum := binary.BigEndian.Uint32(l.Extensions[n:])
	if l.Extensions = l.Extensions[:n:n]; sum != sumOf(l) {
		return errors.New("its checksum does not match")
	}
	if n == 0 {
		l.Extensions = nil
	}
	return nil
}
