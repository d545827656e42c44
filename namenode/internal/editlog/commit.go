package editlog

import (
	"errors"
	"fmt"
	"time"
)

// A committer is what whoever writes the log knows: the committer's goroutine, or a caller of TryAppend.
type committer struct {
	segment *segment
	seq     uint64 // of the last op applied
	txid    uint64 // of the state

	opsSince, bytesSince int64         // since the last checkpoint began
	syncTime             time.Duration // of a sync that callers wait for, averaged
	together             float64       // ops in a batch of the committer's goroutine, averaged

	alone   batch // TryAppend's
	scratch []byte
}

// commitAll is the committer: it writes, syncs and applies one batch after the other until the journal ends.
func (j *Local) commitAll() {
	defer close(j.done)
	defer j.inTurn(j.release)
	timer := time.NewTimer(j.opts.SyncInterval) // of SyncAsync: runs while something is not synced
	timer.Stop()
	defer timer.Stop()
	always := make(chan struct{})
	close(always)
	armed, more := false, false
	for {
		ready := j.wake
		if more {
			ready = always
		}
		select {
		case <-j.stop:
			return
		case c := <-j.cuts:
			j.inTurn(func() { j.serve(c) })
		case <-timer.C:
			armed = false
			j.inTurn(func() { _ = j.guard(j.sync) }) // whoever appends next is told
		case <-ready:
		case <-j.closing:
			j.inTurn(j.drain)
			return
		}
		j.gather()
		j.inTurn(func() {
			j.afterwards() // of callers who commit themselves
			var b *batch
			if b, more = j.take(); b != nil {
				j.found(len(b.ops))
				j.commitAndAnswer(b)
				j.afterwards()
			}
			if !armed && j.opts.Sync == SyncAsync && j.c.segment.dirty() {
				timer.Reset(j.opts.SyncInterval)
				armed = true
			}
		})
	}
}

// inTurn does something that nobody else may do meanwhile.
func (j *Local) inTurn(do func()) {
	<-j.turn
	defer func() { j.turn <- struct{}{} }()
	do()
}

func (j *Local) commitAndAnswer(b *batch) {
	results, err := j.commit(b)
	j.answer(b, results, err)
}

// commit writes and applies one batch.
func (j *Local) commit(b *batch) ([]any, error) {
	if err := j.guard(func() error { return j.write(b) }); err != nil {
		return nil, err
	}
	results := j.sm.Apply(b.ops)
	if len(results) != len(b.ops) {
		return nil, j.fail(fmt.Errorf("state machine gave %d results for %d ops", len(results), len(b.ops)))
	}
	n := int64(len(b.ops))
	txid := j.sm.TxID()
	j.c.seq += uint64(n)
	j.c.opsSince += n
	j.c.bytesSince += int64(len(b.buf))

	j.mu.Lock()
	j.counts.countOps(b.ops, b.sizes)
	j.counts.Ops += n
	j.counts.Edits += int64(txid - j.c.txid)
	j.counts.LogBytes += int64(len(b.buf))
	j.counts.Batches++
	j.counts.MaxBatch = max(j.counts.MaxBatch, int(n))
	j.counts.TxID = txid
	j.mu.Unlock()

	j.c.txid = txid
	return results, nil
}

// afterwards does what is due now and then.
func (j *Local) afterwards() {
	if j.full() {
		_ = j.guard(j.roll)
	}
	j.remind()
}

// full: the segment is to be closed.
func (j *Local) full() bool { return j.c.segment.end >= j.opts.SegmentBytes }

// remind asks for a checkpoint when there is much log since the last one.
func (j *Local) remind() {
	o := &j.opts
	if o.CheckpointOps > 0 && j.c.opsSince >= o.CheckpointOps ||
		o.CheckpointBytes > 0 && j.c.bytesSince >= o.CheckpointBytes {
		j.c.opsSince, j.c.bytesSince = 0, 0
		select {
		case j.overdue <- struct{}{}:
		default:
		}
	}
}

// write brings a batch into the log, as durably as the mode asks before an answer.
func (j *Local) write(b *batch) error {
	if err := j.c.segment.write(b.buf, j.c.seq+1, len(b.ops)); err != nil {
		return err
	}
	if !j.opts.Sync.syncsFirst() {
		return nil
	}
	return j.sync()
}

// sync makes the log durable.
func (j *Local) sync() error {
	if !j.c.segment.dirty() {
		return nil
	}
	if j.halted() {
		return ErrClosed
	}
	start := time.Now()
	err := j.c.segment.sync()
	j.mu.Lock()
	j.counts.Syncs++
	took := time.Since(start)
	j.counts.SyncTime += took
	j.mu.Unlock()
	if j.opts.Sync.syncsFirst() {
		j.timed(took)
	}
	return err
}

// roll closes the segment and begins the next one. A segment without a transaction goes on: its name would be taken.
func (j *Local) roll() error {
	if j.c.txid == j.c.segment.txid {
		return j.sync()
	}
	if err := j.finish(); err != nil {
		return err
	}
	next, err := j.store.createSegment(segmentHeader{
		identity: j.c.segment.identity, seq: j.c.seq + 1, txid: j.c.txid,
	})
	if err != nil {
		return err
	}
	j.c.segment = next
	return j.store.see(next.txid + 1)
}

// finish closes the segment.
func (j *Local) finish() error {
	old := j.c.segment
	name := editsName(old.txid+1, j.c.txid)
	err := j.store.finish(old, j.c.seq+1, j.c.txid)
	if err == nil {
		j.mu.Lock()
		j.closed = append(j.closed, closedSegment{name, j.c.seq})
		j.mu.Unlock()
	}
	return err
}

// guard does something with the log, unless the journal has ended, and ends it if that fails.
func (j *Local) guard(do func() error) error {
	j.mu.Lock()
	failed := j.failed
	j.mu.Unlock()
	if failed != nil {
		return failed
	}
	if j.halted() {
		return ErrClosed
	}
	err := do()
	switch {
	case err == nil || errors.Is(err, ErrClosed):
		return err
	case j.halted(): // its disk may have been taken away first
		return ErrClosed
	}
	return j.fail(err)
}

// fail ends the journal for a cause.
func (j *Local) fail(cause error) error {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	j.opts.Logger.Error("editlog: the journal has failed, nothing is written any more", "err", cause)
	j.mu.Lock()
	j.failed = err
	j.mu.Unlock()
	j.end(err)
	return err
}

// drain ends the journal in order.
func (j *Local) drain() {
	for b, _ := j.take(); b != nil; b, _ = j.take() {
		j.commitAndAnswer(b)
	}
	_ = j.guard(func() error {
		if j.c.txid == j.c.segment.txid {
			return j.sync()
		}
		return j.finish()
	})
}

// release refuses whoever still waits and lets go of the files.
func (j *Local) release() {
	j.end(ErrClosed)
	j.halt()
	for b, _ := j.take(); b != nil; b, _ = j.take() {
		j.answer(b, nil, ErrClosed)
	}
	_ = j.c.segment.file.Close()
}
