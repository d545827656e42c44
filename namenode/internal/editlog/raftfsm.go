package editlog

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// A groupMachine is a Raft as raft's own state machine: raft calls it from one goroutine.
type groupMachine Raft

var _ raft.BatchingFSM = (*groupMachine)(nil)

// sinceImage counts what was applied since the last image.
type sinceImage struct {
	ops, bytes int64
	index      uint64 // applied last
}

func (m *groupMachine) Apply(l *raft.Log) any { return m.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch applies committed entries. Results go to who waits for them, not to raft.
func (m *groupMachine) ApplyBatch(logs []*raft.Log) []any {
	r := (*Raft)(m)
	for _, l := range logs {
		if r.halted.Load() {
			break
		}
		if l.Type == raft.LogCommand {
			r.apply(l)
		}
		r.since.index = l.Index
	}
	return make([]any, len(logs))
}

// apply applies one entry: the ops themselves where they were appended here, else what they are decoded to.
func (r *Raft) apply(l *raft.Log) {
	term, number := entryOrigin(l.Data)
	p := r.claim(term, number)
	if term != l.Term && p != nil {
		r.reply(p, nil, ErrNotLeader) // it led again before the entry was in the log
		return
	}
	var ops []Op
	var sizes []int32
	if p != nil {
		ops, sizes = p.ops, p.sizes
	} else {
		e, err := parseEntry(l.Data, r.net.identity)
		if err == nil && e.term != l.Term {
			return
		}
		if err == nil {
			ops, sizes, err = e.decode(r.sm)
		}
		if err != nil {
			r.fail(&DamagedError{File: fmt.Sprintf("entry %d of %s", l.Index, r.opts.Stores.name), Reason: err.Error()})
			return
		}
	}
	before := r.sm.TxID()
	results := r.sm.Apply(ops)
	if len(results) != len(ops) {
		r.fail(fmt.Errorf("state machine gave %d results for %d ops", len(results), len(ops)))
		if p != nil {
			r.reply(p, nil, r.Err())
		}
		return
	}
	r.count(l, ops, sizes, before)
	if p != nil {
		r.reply(p, results, nil)
	}
	r.remind()
}

func (r *Raft) count(l *raft.Log, ops []Op, sizes []int32, before uint64) {
	txid, bytes := r.sm.TxID(), int64(len(l.Data))
	r.since.ops += int64(len(ops))
	r.since.bytes += bytes
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.counts
	c.countOps(ops, sizes)
	c.Ops += int64(len(ops))
	c.Edits += int64(txid - before)
	c.LogBytes += bytes
	c.Batches++
	c.MaxBatch = max(c.MaxBatch, len(ops))
	c.TxID = txid
	r.edited = l.Index
}

// remind asks for a checkpoint when there is much log since the last one.
func (r *Raft) remind() {
	o := &r.opts
	if o.CheckpointOps > 0 && r.since.ops >= o.CheckpointOps || o.CheckpointBytes > 0 && r.since.bytes >= o.CheckpointBytes {
		r.since.ops, r.since.bytes = 0, 0
		select {
		case r.overdue <- struct{}{}:
		default:
		}
	}
}

// Snapshot freezes the state.
func (m *groupMachine) Snapshot() (raft.FSMSnapshot, error) {
	r := (*Raft)(m)
	if r.halted.Load() {
		return nil, ErrClosed
	}
	s, err := r.sm.Snapshot()
	if err != nil {
		return nil, err
	}
	r.since.ops, r.since.bytes = 0, 0
	return &groupSnapshot{Snapshot: s, r: r, index: r.since.index}, nil
}

// Restore replaces the state by an image of another member, or of this one when it starts.
func (m *groupMachine) Restore(from io.ReadCloser) error {
	r := (*Raft)(m)
	if r.halted.Load() {
		return ErrClosed
	}
	in, err := newImageReader(bufio.NewReaderSize(from, 64<<10))
	if err != nil {
		return err
	}
	if in.header.identity != r.net.identity {
		return errors.New("it is an image of another file system")
	}
	if err := r.sm.Restore(in); err != nil {
		return err
	}
	if err := in.drain(); err != nil {
		r.fail(fmt.Errorf("the state was replaced by a damaged image: %w", err))
		return err
	}
	r.since = sinceImage{index: in.header.seq}
	r.mu.Lock()
	r.counts.TxID = r.sm.TxID()
	r.imaged = in.header.seq
	r.mu.Unlock()
	return nil
}

// A groupSnapshot is a Snapshot that raft writes.
type groupSnapshot struct {
	Snapshot
	r     *Raft
	index uint64 // of the last entry in it
}

// Persist writes the image: that of a directory, with the index of the log in place of the number of ops.
func (s *groupSnapshot) Persist(sink raft.SnapshotSink) error {
	out := bufio.NewWriterSize(sink, 64<<10)
	image, err := newImageWriter(&untilStop{s.r.stop, out}, imageHeader{
		identity: s.r.net.identity, seq: s.index, txid: s.TxID(),
	})
	if err == nil {
		_, err = s.WriteTo(image)
	}
	if err == nil {
		err = image.finish()
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = sink.Close()
	}
	if err != nil {
		_ = sink.Cancel()
		return err
	}
	s.r.mu.Lock()
	s.r.imaged = s.index
	s.r.counts.Checkpoints++
	s.r.mu.Unlock()
	return nil
}

// untilStop refuses to write once the journal ends.
type untilStop struct {
	stop <-chan struct{}
	w    io.Writer
}

func (u *untilStop) Write(p []byte) (int, error) {
	select {
	case <-u.stop:
		return 0, ErrClosed
	default:
		return u.w.Write(p)
	}
}
