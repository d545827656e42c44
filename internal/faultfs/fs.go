package faultfs

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/spf13/afero"
)

// errReadOnly is the kernel's.
const errReadOnly = syscall.EROFS

// FS is a file system whose operations pass rules: they can be failed, delayed, held and torn. It can have a capacity
// of its own, be read-only, be frozen, and lose power. Without any of these it costs next to nothing.
//
// It takes itself for the only writer of the files it is used on. Operations on the same name must not be concurrent
// when power loss is tracked, as its order would be unknown.
type FS struct {
	inner afero.Fs
	name  string
	space *Space // nil without a capacity of its own
	track bool   // power loss is tracked here and not by inner

	counts   counts
	rules    atomic.Pointer[[]*Fault]
	readOnly atomic.Bool
	gate     atomic.Pointer[gate] // until the next freeze

	mu      sync.Mutex
	frozen  bool
	files   map[string]*tracked // files that are or were written, by clean path
	changes []nameChange        // of names, in order, that are not durable
	held    int                 // handles in them
}

var _ afero.Fs = (*FS)(nil)

// Option changes what Wrap makes.
type Option func(*FS)

// WithSpace gives the file system a capacity. What is there already is not charged; see Charge. Over a Disk it has no
// effect: a Disk has a Space of its own.
func WithSpace(s *Space) Option { return func(f *FS) { f.space = s } }

// WithName sets what Name returns.
func WithName(name string) Option { return func(f *FS) { f.name = name } }

// WithPowerLoss makes PowerLoss possible on real directories. It remembers what is not synced: overwritten bytes in
// memory, removed files by a handle. A Disk needs no such option.
func WithPowerLoss() Option { return func(f *FS) { f.track = true } }

// Wrap returns inner behind rules.
func Wrap(inner afero.Fs, opts ...Option) *FS {
	s := &FS{inner: inner, name: inner.Name(), files: make(map[string]*tracked)}
	for _, o := range opts {
		o(s)
	}
	if _, ok := inner.(powered); ok {
		s.track, s.space = false, nil
	}
	s.gate.Store(newGate())
	return s
}

// powered is an inner file system that loses power by itself.
type powered interface {
	PowerLoss(*rand.Rand) []string
}

// Name is the name of the file system.
func (s *FS) Name() string { return s.name }

// SetReadOnly makes operations that change the disk fail with EROFS, or ends that.
func (s *FS) SetReadOnly(on bool) { s.readOnly.Store(on) }

// Freeze cuts the disk off from its node: when it returns, no operation is under way and all further ones fail with
// ErrFrozen, without a byte written. What waits by a rule fails. Handles stay dead after Thaw too.
func (s *FS) Freeze() {
	s.mu.Lock()
	was := s.frozen
	s.frozen = true
	s.mu.Unlock()
	if !was {
		s.gate.Load().close()
	}
}

// Thaw ends a freeze, for the node's next life.
func (s *FS) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		s.frozen = false
		s.gate.Store(newGate())
	}
}

// Counts returns the counters as of now. Handles from before a freeze are not open.
func (s *FS) Counts() Counts {
	c := s.counts.load()
	c.OpenFiles = s.gate.Load().open.Load()
	return c
}

// Usage gives the capacity in bytes, what files take of it, and what is available; math.MaxInt64 where there is no limit.
func (s *FS) Usage() (capacity, used, available int64) {
	if s.space == nil {
		if u, ok := s.inner.(interface{ Usage() (int64, int64, int64) }); ok {
			return u.Usage()
		}
		return NewSpace(0).usage()
	}
	return s.space.usage()
}

// Charge takes the files that are already below a directory off the capacity.
func (s *FS) Charge(dir string) error {
	if s.space == nil {
		return nil
	}
	return afero.Walk(s.inner, dir, func(_ string, info fs.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			s.space.force(info.Size())
		}
		return err
	})
}

// run does an operation that the rules let through; f is not called otherwise.
func (s *FS) run(op Op, verb string, f func() error) error {
	g := s.gate.Load()
	if v := s.judge(g, op); v.err != nil {
		return opError(verb, op, v.err)
	}
	if !g.enter() {
		return opError(verb, op, ErrFrozen)
	}
	defer g.leave()
	return f()
}

func opError(verb string, op Op, err error) error {
	if op.Kind == Rename {
		return linkError(op.Path, op.To, err)
	}
	return pathError(verb, op.Path, err)
}

// osFile finds the operating system's file under a handle, through the wrappers that have nothing to say about bytes.
func osFile(f afero.File) (*os.File, bool) {
	switch f := f.(type) {
	case *os.File:
		return f, true
	case *afero.BasePathFile:
		return osFile(f.File)
	case interface{ OSFile() (*os.File, bool) }:
		return f.OSFile()
	}
	return nil, false
}

// key is the form of a path by which files are known.
func key(name string) string { return filepath.Clean(name) }
