package editlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/spf13/afero"
)

// Local is a Journal in the files of one directory.
type Local struct {
	queue
	opts     LocalOptions
	sm       StateMachine
	store    *store
	identity Identity
	unlock   func() error

	cuts    chan *cut        // checkpoints that want a snapshot
	overdue chan struct{}    // it is time for a checkpoint
	closing chan struct{}    // closed by Close
	stop    chan struct{}    // closed by Kill, and when the committer has ended
	done    chan struct{}    // closed when the committer has ended
	images  chan []imageFile // holds the retained images; whoever has taken them writes the next one
	workers sync.WaitGroup   // the goroutine for overdue checkpoints, and calls of Checkpoint

	quick atomic.Bool   // ops may be committed by their callers
	turn  chan struct{} // holds a token while nobody commits
	c     committer     // of whoever has the token

	// guarded by mu of the queue
	failed error // why the journal has failed
	counts counters
	closed []closedSegment
	junk   []string
}

var _ Journal = (*Local)(nil)

// OpenLocal opens the journal in a directory, or makes a new one there, and brings sm, which must be in its first
// state, to where the journal ends. It refuses a directory that another journal has open, that is not a journal's,
// or that has lost or changed something that was durable (*CorruptError).
func OpenLocal(ctx context.Context, sm StateMachine, o LocalOptions) (*Local, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &store{fs: o.FS, dir: filepath.Join(o.Dir, currentDir)}
	if err := s.makeDir(o.Dir); err != nil {
		return nil, err
	}
	unlock, err := lock(o.FS, o.Dir)
	if err != nil {
		return nil, err
	}
	j, err := openLocked(ctx, sm, o, s)
	if err != nil {
		_ = unlock()
		return nil, err
	}
	j.unlock = sync.OnceValue(unlock)
	go j.commitAll()
	j.workers.Go(j.checkpointOverdue)
	return j, nil
}

// openLocked opens the journal of a directory that nobody else has.
func openLocked(ctx context.Context, sm StateMachine, o LocalOptions, s *store) (*Local, error) {
	id, err := s.identify(o.Dir, o.Identity)
	if err != nil {
		return nil, err
	}
	r := &recovery{store: s, sm: sm, log: o.Logger, identity: id.sum(), maxBatch: max(o.MaxBatch, 1024)}
	err = r.run(ctx)
	if err == nil && r.open == nil {
		r.open, err = s.createSegment(segmentHeader{identity: id.sum(), seq: r.seq + 1, txid: sm.TxID()})
	}
	if err == nil && r.open.txid+1 != r.seen {
		err = s.see(r.open.txid + 1)
	}
	if err != nil {
		if r.open != nil {
			_ = r.open.file.Close()
		}
		return nil, err
	}
	j := &Local{
		queue: queue{maxBatch: o.MaxBatch, wake: make(chan struct{}, 1)},
		opts:  o, sm: sm, store: s, identity: id,
		cuts:    make(chan *cut),
		overdue: make(chan struct{}, 1),
		closing: make(chan struct{}),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		turn:    make(chan struct{}, 1),
		images:  make(chan []imageFile, 1),
		closed:  r.closed,
		junk:    r.junk,
	}
	j.images <- r.images
	j.turn <- struct{}{}
	j.counts.kinds = make(map[string]*KindStats)
	j.counts.TxID = sm.TxID()
	j.c = committer{segment: r.open, seq: r.seq, txid: sm.TxID(), opsSince: r.ops, bytesSince: r.bytes}
	if o.Sync.syncsFirst() {
		j.c.syncTime = quickSync // until it is known
	}
	j.judge()
	return j, nil
}

// identify reads the VERSION file. It makes one, with current around it, if the directory is empty.
func (s *store) identify(dir string, fresh Identity) (Identity, error) {
	text, err := afero.ReadFile(s.fs, s.path(versionName))
	switch {
	case err == nil:
		id, err := parseVersion(text)
		if err != nil {
			return id, fmt.Errorf("editlog: cannot use %s: %w", s.path(versionName), err)
		}
		// A process that was killed may have left names that it had not synced, and all that follows rests on them.
		if err := s.syncDir(dir); err != nil {
			return id, err
		}
		return id, s.syncDir(s.dir)
	case !errors.Is(err, os.ErrNotExist):
		return Identity{}, fmt.Errorf("editlog: cannot read %s: %w", s.path(versionName), err)
	}
	if err := fresh.check(); err != nil {
		return Identity{}, err
	}
	for _, d := range []string{dir, s.dir} {
		infos, err := afero.ReadDir(s.fs, d)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return Identity{}, fmt.Errorf("editlog: cannot list %s: %w", d, err)
		}
		for _, info := range infos {
			switch info.Name() {
			case lockName, currentDir, versionName + tempSuffix:
			default:
				return Identity{}, fmt.Errorf("editlog: %s is not a journal's directory: it holds %s, but no %s; give an empty directory",
					dir, info.Name(), filepath.Join(currentDir, versionName))
			}
		}
	}
	if err := s.fs.MkdirAll(s.dir, 0o755); err != nil {
		return Identity{}, fmt.Errorf("editlog: cannot make directory %s: %w", s.dir, err)
	}
	if err := s.syncDir(dir); err != nil {
		return Identity{}, err
	}
	return fresh, s.write(versionName, writeBytes(formatVersion(fresh)))
}

// Identity is what the directory's VERSION file says.
func (j *Local) Identity() Identity { return j.identity }

// Append leaves op to the committer, unless it can be committed at once.
func (j *Local) Append(ctx context.Context, op Op) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if result, done, err := j.TryAppend(op); done {
		return result, err
	}
	return j.wait(ctx, op)
}

// Stats counts what was done since the journal was opened.
func (j *Local) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counts.copy()
}

// Close commits and applies what was appended, makes all of it durable in every sync mode, and ends the journal. It
// returns the cause if the journal had failed. A checkpoint under way is given up.
func (j *Local) Close() error {
	if j.end(ErrClosed) {
		close(j.closing)
	}
	j.await()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// Kill ends the journal as it stands. Those who wait get ErrClosed. A call of the file system that is under way is
// waited for.
func (j *Local) Kill() {
	j.end(ErrClosed)
	j.halt()
	j.await()
}

// end refuses ops from now on; true: nobody had called it before with ErrClosed.
func (j *Local) end(err error) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	first := !errors.Is(j.ended, ErrClosed)
	if j.ended == nil || first && errors.Is(err, ErrClosed) {
		j.ended = err
	}
	return first
}

// halt makes every goroutine of the journal stop where it is.
func (j *Local) halt() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.halted() {
		close(j.stop)
	}
}

func (j *Local) halted() bool {
	select {
	case <-j.stop:
		return true
	default:
		return false
	}
}

// await returns when nothing of the journal is running any more; only then may others have the directory.
func (j *Local) await() {
	<-j.done
	j.workers.Wait()
	_ = j.unlock()
}
