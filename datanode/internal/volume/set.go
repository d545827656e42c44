package volume

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	mrand "math/rand/v2"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// ErrClosed is what a closed Set answers.
var ErrClosed = errors.New("volume: closed")

// Options configure a Set.
type Options struct {
	Volumes []Config
	UUID    string       // the datanode's; "": from a VERSION file, else a new one
	Rand    *mrand.Rand  // for ids; nil: seeded by the system
	Logger  *slog.Logger // nil: discard

	Tolerated   int                               // volumes that may be unusable at the start; -1: all but one
	SyncOnClose bool                              // make every replica durable when it is finalized
	Deleted     func(storage string, b dfs.Block) // called once the files of an invalidated replica are gone
	Failed      func(v *Volume, err error)        // called once when a volume has been given up
}

// Set is the replicas of a datanode, over its volumes. It is safe for concurrent use; mu is never held across I/O.
type Set struct {
	opt  Options
	log  *slog.Logger
	uuid string
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup // deletions
	turn chan struct{}  // of capacity one: holds who is joining a pool

	mu       sync.Mutex
	closed   bool
	joined   bool
	pool     Pool
	volumes  []*Volume
	next     int // for the choice of the next volume
	failed   []Failure
	replicas map[dfs.BlockID]*replica
	deleting map[*Volume][]*replica // queues; a volume that is a key has a goroutine
}

// Open reads who the volumes are. No replica is known before Join.
func Open(o Options) (*Set, error) {
	s := &Set{opt: o, log: o.Logger, uuid: o.UUID, turn: make(chan struct{}, 1), replicas: make(map[dfs.BlockID]*replica), deleting: make(map[*Volume][]*replica)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opt.Rand == nil {
		var seed [16]byte
		if _, err := rand.Read(seed[:]); err != nil {
			return nil, fmt.Errorf("volume: cannot make an id: %w", err)
		}
		s.opt.Rand = mrand.New(mrand.NewPCG(binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:])))
	}
	if len(o.Volumes) == 0 {
		return nil, errors.New("volume: no volumes are given")
	}
	if err := s.openAll(o.Volumes); err != nil {
		return nil, err
	}
	if s.uuid == "" {
		s.uuid = newUUID(s.opt.Rand)
	}
	for _, v := range s.volumes {
		if v.id == "" {
			v.id = "DS-" + newUUID(s.opt.Rand)
		}
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// openAll opens the volumes. Some may be unusable, if others are not.
func (s *Set) openAll(cfgs []Config) error {
	seen := make(map[string]string)
	var failed error
	for _, cfg := range cfgs {
		v, p, err := open(cfg)
		if err == nil {
			err = s.adopt(v, p, seen)
		} else if cfg.FS != nil && cfg.Dir != "" && s.tolerates(len(s.failed)+1, len(cfgs)) {
			s.log.Error("volume: going on without a volume", "dir", cfg.Dir, "err", err)
			s.failed = append(s.failed, Failure{Dir: cfg.Dir, When: time.Now(), Err: err})
			failed = errors.Join(failed, err)
			continue
		}
		if err != nil {
			return errors.Join(failed, err)
		}
		s.volumes = append(s.volumes, v)
	}
	return nil
}

// tolerates says whether n of all volumes may have failed.
func (s *Set) tolerates(n, all int) bool {
	return n < all && (s.opt.Tolerated < 0 || n <= s.opt.Tolerated)
}

// adopt checks that the volume belongs to this datanode and is named once; a datanode without a name takes the volume's.
func (s *Set) adopt(v *Volume, p properties, seen map[string]string) error {
	if u := p["datanodeUuid"]; u != "" {
		if s.uuid == "" {
			s.uuid = u
		}
		if u != s.uuid {
			return fmt.Errorf("volume: %s belongs to datanode %s, not to %s", v.cfg.Dir, u, s.uuid)
		}
	}
	if v.id != "" {
		if other, twice := seen[v.id]; twice {
			return fmt.Errorf("volume: %s and %s both hold storage %s", other, v.cfg.Dir, v.id)
		}
		seen[v.id] = v.cfg.Dir
	}
	return nil
}

// UUID is the datanode's.
func (s *Set) UUID() string { return s.uuid }

// Volumes gives the volumes that are in use.
func (s *Set) Volumes() []*Volume {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Volume(nil), s.volumes...)
}

// Pool gives the pool that the set has joined.
func (s *Set) Pool() (Pool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pool, s.joined
}

// Join binds the volumes to a pool at the first call and loads its replicas; a later call only compares.
func (s *Set) Join(p Pool) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.mu.Lock()
	joined, have, vols := s.joined, s.pool, s.volumes
	s.mu.Unlock()
	if joined {
		if have != p {
			return wrongPool("Inconsistent namespace information: the namenode has %+v; the datanode has %+v", p, have)
		}
		return nil
	}
	all := make(map[dfs.BlockID]*replica)
	for _, v := range vols {
		err := v.join(s.uuid, p)
		if errors.Is(err, ErrWrongPool) {
			return err
		}
		if err == nil {
			err = v.load(all, s.log)
		}
		switch {
		case err == nil:
		case s.tolerates(len(s.Failures())+1, len(s.opt.Volumes)):
			maps.DeleteFunc(all, func(_ dfs.BlockID, r *replica) bool { return r.vol == v })
			s.giveUp(v, err)
		default:
			return fmt.Errorf("volume: cannot load %s: %w", v.cfg.Dir, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pool, s.joined, s.replicas = p, true, all
	return nil
}

// Close waits for deletions that are under way. Afterwards nothing writes to the volumes.
func (s *Set) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
	s.stop()
	return nil
}

// Kill is Close that leaves deletions undone as soon as it can.
func (s *Set) Kill() {
	s.stop()
	_ = s.Close()
}

// usableLocked says why nothing can be done.
func (s *Set) usableLocked() error {
	switch {
	case s.closed:
		return ErrClosed
	case !s.joined:
		return dfs.Errorf(dfs.ClassIO, "this datanode has not joined a block pool yet")
	}
	return nil
}

// lookupLocked finds a replica that is not being deleted.
func (s *Set) lookupLocked(id dfs.BlockID) *replica {
	if r := s.replicas[id]; r != nil && !r.doomed {
		return r
	}
	return nil
}

// claim waits until nobody changes the replica's files, its writer included, which is told to stop, and gives that right
// to the caller, who must release it. There being no replica is no error: the claim is then nil.
func (s *Set) claim(ctx context.Context, id dfs.BlockID) (*replica, error) {
	for {
		s.mu.Lock()
		if err := s.usableLocked(); err != nil {
			s.mu.Unlock()
			return nil, err
		}
		r := s.replicas[id]
		if r == nil {
			s.mu.Unlock()
			return nil, nil
		}
		wait, cancel := r.claimLocked()
		if r.doomed {
			wait, cancel = r.waitLocked(), func() {}
		} else if wait == nil {
			r.busy = make(chan struct{})
			s.mu.Unlock()
			return r, nil
		}
		s.mu.Unlock()
		cancel()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, fmt.Errorf("volume: blk_%d is in use by another operation: %w", id, context.Cause(ctx))
		}
	}
}

// claimLocked gives what has to be waited for before r can be claimed, nil for nothing, and what hurries it.
func (r *replica) claimLocked() (wait <-chan struct{}, cancel func()) {
	switch {
	case r.busy != nil:
		return r.busy, func() {}
	case r.writer != nil:
		return r.writer.done, r.writer.cancel
	}
	return nil, func() {}
}

// waitLocked gives a channel that is closed when the replica changes.
func (r *replica) waitLocked() chan struct{} {
	if r.grew == nil {
		r.grew = make(chan struct{})
	}
	return r.grew
}

// release ends a claim.
func (s *Set) release(r *replica) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.releaseLocked(r)
}

func (s *Set) releaseLocked(r *replica) {
	close(r.busy)
	r.busy = nil
	r.moved++
	r.wakeLocked()
}

// dropLocked forgets a replica whose claim the caller holds.
func (s *Set) dropLocked(r *replica) {
	if s.replicas[r.id] == r {
		delete(s.replicas, r.id)
	}
	s.releaseLocked(r)
}

// StopWriters tells every writer to let go of its replica.
func (s *Set) StopWriters() {
	s.mu.Lock()
	var cancel []func()
	for _, r := range s.replicas {
		if r.writer != nil {
			cancel = append(cancel, r.writer.cancel)
		}
	}
	s.mu.Unlock()
	for _, f := range cancel {
		f()
	}
}
