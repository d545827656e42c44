package volume

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Failure is a volume that was given up.
type Failure struct {
	Dir      string
	Storage  string
	When     time.Time
	Capacity int64
	Err      error
}

// Failures lists the volumes that were given up and not taken back.
func (s *Set) Failures() []Failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.failed)
}

// check looks at an error of the volume's file system and returns it. An error that speaks of the disk itself leads to
// a trial: a volume where no file can be written and read any more is given up, with its replicas.
func (s *Set) check(v *Volume, err error) error {
	if err == nil || v.Failed() || !diskError(err) {
		return err
	}
	if trial := v.probe(); trial != nil {
		s.giveUp(v, trial)
	}
	return err
}

// diskError tells the errors of a disk from those of a full one, or of a file.
func diskError(err error) bool {
	for _, e := range []error{syscall.EIO, syscall.EROFS, syscall.ENXIO, syscall.ENODEV, io.ErrUnexpectedEOF} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// probe writes, reads and removes a file.
func (v *Volume) probe() error {
	name := filepath.Join(v.cfg.Dir, currentDir, "probe.tmp")
	f, err := v.cfg.FS.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{1}, 0)
	if err == nil {
		_, err = f.ReadAt(make([]byte, 1), 0)
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if rerr := v.cfg.FS.Remove(name); err == nil {
		err = rerr
	}
	return err
}

// giveUp forgets a volume and its replicas.
func (s *Set) giveUp(v *Volume, err error) {
	capacity, _ := v.Space()
	s.mu.Lock()
	if s.closed || v.failed.Swap(true) {
		s.mu.Unlock()
		return
	}
	s.failed = append(s.failed, Failure{Dir: v.cfg.Dir, Storage: v.id, When: time.Now(), Capacity: capacity, Err: err})
	s.volumes = slices.DeleteFunc(slices.Clone(s.volumes), func(o *Volume) bool { return o == v })
	var stop []func()
	for id, r := range s.replicas {
		if r.vol == v {
			delete(s.replicas, id)
			r.doomed = true
			r.wakeLocked()
			if r.writer != nil {
				stop = append(stop, r.writer.cancel)
			}
		}
	}
	s.mu.Unlock()
	for _, f := range stop {
		f()
	}
	s.log.Error("volume: gave a volume up", "dir", v.cfg.Dir, "storage", v.id, "err", err)
	if s.opt.Failed != nil {
		s.opt.Failed(v, err)
	}
}

// Check tries every volume and gives up those that cannot be used.
func (s *Set) Check() {
	for _, v := range s.Volumes() {
		if err := v.probe(); err != nil {
			s.giveUp(v, err)
		}
	}
}

// Remove takes a volume out of service; its files stay. Its replicas are gone for everybody.
func (s *Set) Remove(storage string) error {
	for _, v := range s.Volumes() {
		if v.id == storage {
			s.giveUp(v, errors.New("removed from service"))
			s.forgive(storage, v.cfg.Dir)
			return nil
		}
	}
	return fmt.Errorf("volume: no volume in use has the storage id %s", storage)
}

// forgive drops the record of a failure.
func (s *Set) forgive(storage, dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = slices.DeleteFunc(s.failed, func(f Failure) bool { return f.Storage == storage || f.Dir == dir })
}

// Add puts a volume into service: a new one, or one that was given up and repaired. A replica of a block
// that another volume holds too is removed.
func (s *Set) Add(cfg Config) (*Volume, error) {
	v, p, err := open(cfg)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]string)
	for _, o := range s.Volumes() {
		seen[o.id] = o.cfg.Dir
	}
	if err := s.adopt(v, p, seen); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if v.id == "" {
		v.id = "DS-" + newUUID(s.opt.Rand)
	}
	pool, joined := s.pool, s.joined
	s.mu.Unlock()
	found := make(map[dfs.BlockID]*replica)
	if joined {
		if err := v.join(s.uuid, pool); err != nil {
			return nil, err
		}
		if err := v.load(found, s.log); err != nil {
			return nil, fmt.Errorf("volume: cannot load %s: %w", v.cfg.Dir, err)
		}
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	s.volumes = append(slices.Clone(s.volumes), v)
	var extra []*replica
	for id, r := range found {
		if s.replicas[id] == nil {
			s.replicas[id] = r
		} else {
			extra = append(extra, r)
		}
	}
	s.mu.Unlock()
	s.forgive(v.id, v.cfg.Dir)
	for _, r := range extra {
		v.used.Add(-r.len - r.metaLen)
		if err := v.removeFiles(r); err != nil {
			return v, s.check(v, err)
		}
	}
	return v, nil
}
