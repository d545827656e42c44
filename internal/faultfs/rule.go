package faultfs

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Kind is a set of kinds of operation.
type Kind uint32

// The kinds of operation: every method of afero.Fs and afero.File but Name.
const (
	Open     Kind = 1 << iota // Open and OpenFile of what exists
	Create                    // Create, OpenFile with O_CREATE
	Read                      // Read, ReadAt
	Write                     // Write, WriteAt, WriteString
	Truncate                  // Truncate, O_TRUNC apart
	Sync                      // Sync of files and directories
	Close                     // the handle is closed all the same
	Seek
	Stat         // Stat of paths and handles
	List         // Readdir, Readdirnames
	Mkdir        // Mkdir, MkdirAll
	Remove       // Remove, RemoveAll
	Rename       // Path is the old name
	Attr         // Chmod, Chown, Chtimes
	Any     Kind = 1<<iota - 1
	Mutates      = Create | Write | Truncate | Mkdir | Remove | Rename | Attr
)

// Op is one operation, as rules see it.
type Op struct {
	Kind   Kind // one kind
	Path   string
	To     string // new name of a Rename
	Offset int64  // of Read, Write; the size of Truncate
	Len    int    // bytes of Read, Write
}

// Rule says what happens to some operations. They wait first, then fail or go on.
type Rule struct {
	Kinds Kind          // 0 for Any
	Match func(Op) bool // further condition; Base and Under make some. It must be quick, and may be called concurrently
	After int           // lets that many matching operations pass unharmed
	Times int           // then applies to that many; 0 for all

	Delay time.Duration // waits
	Hang  bool          // waits until Fault.Release, or a freeze
	Err   error         // fails with this, inside a *fs.PathError
	Torn  int           // of a Write or Read that fails with Err, that many bytes are carried out

	// Mangle changes the bytes of a Read after it, or those of a Write before it, in place.
	Mangle func(op Op, p []byte)
}

// Base matches operations on paths whose last element fits a pattern of filepath.Match.
func Base(pattern string) func(Op) bool {
	return func(op Op) bool {
		ok, _ := filepath.Match(pattern, filepath.Base(op.Path))
		return ok
	}
}

// Under matches operations on a path and all below it.
func Under(dir string) func(Op) bool {
	dir = filepath.Clean(dir)
	return func(op Op) bool { return within(op.Path, dir) }
}

// within says whether a clean path is dir or below it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || dir == string(filepath.Separator))
}

// Fault is a rule in force.
type Fault struct {
	rule Rule
	fs   *FS

	matched atomic.Int64
	hits    atomic.Int64

	once     sync.Once
	released chan struct{}
}

// Inject puts a rule in force until Remove. Of several rules that fail an operation the first wins.
func (s *FS) Inject(r Rule) *Fault {
	if r.Kinds == 0 {
		r.Kinds = Any
	}
	f := &Fault{rule: r, fs: s, released: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	rules := append(slices.Clone(s.faults()), f)
	s.rules.Store(&rules)
	return f
}

// Hits is the number of operations that the rule applied to, those that wait included.
func (f *Fault) Hits() int { return int(f.hits.Load()) }

// Release lets the operations go on that hang by this rule, and those to come.
func (f *Fault) Release() { f.once.Do(func() { close(f.released) }) }

// Remove ends the rule and releases what hangs by it.
func (f *Fault) Remove() {
	f.fs.mu.Lock()
	rules := slices.DeleteFunc(slices.Clone(f.fs.faults()), func(g *Fault) bool { return f == g })
	f.fs.rules.Store(&rules)
	f.fs.mu.Unlock()
	f.Release()
}

// applies counts an operation and says whether it is one of the rule's.
func (f *Fault) applies(op Op) bool {
	r := &f.rule
	if r.Kinds&op.Kind == 0 || r.Match != nil && !r.Match(op) {
		return false
	}
	n := f.matched.Add(1)
	if n <= int64(r.After) || r.Times > 0 && n > int64(r.After+r.Times) {
		return false
	}
	f.hits.Add(1)
	return true
}

// verdict is what the rules say about an operation.
type verdict struct {
	err    error
	torn   int
	mangle []func(Op, []byte)
}

// judge asks the rules about an operation, waiting where they say so.
func (s *FS) judge(g *gate, op Op) (v verdict) {
	if g.isShut() {
		return verdict{err: ErrFrozen}
	}
	for _, f := range s.faults() {
		if !f.applies(op) {
			continue
		}
		if !f.wait(g) {
			return verdict{err: ErrFrozen}
		}
		if f.rule.Mangle != nil {
			v.mangle = append(v.mangle, f.rule.Mangle)
		}
		if f.rule.Err != nil {
			v.err, v.torn = f.rule.Err, f.rule.Torn
			return v
		}
	}
	if s.readOnly.Load() && op.Kind&Mutates != 0 {
		v.err = errReadOnly
	}
	return v
}

// wait does what the rule says about waiting, and says whether the disk is still there.
func (f *Fault) wait(g *gate) bool {
	if f.rule.Delay > 0 {
		t := time.NewTimer(f.rule.Delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-g.shut:
			return false
		}
	}
	if f.rule.Hang {
		select {
		case <-f.released:
		case <-g.shut:
			return false
		}
	}
	return true
}

// touchesBytes says whether some rule may see or change what is read.
func (s *FS) touchesBytes() bool {
	return slices.ContainsFunc(s.faults(), func(f *Fault) bool { return f.rule.Kinds&Read != 0 })
}

// Steady reports whether no rule is in force.
func (s *FS) Steady() bool { return len(s.faults()) == 0 }

func (s *FS) faults() []*Fault {
	if rules := s.rules.Load(); rules != nil {
		return *rules
	}
	return nil
}
