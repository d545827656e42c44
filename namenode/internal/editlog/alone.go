package editlog

import (
	"errors"
	"runtime"
	"time"
)

const (
	// quickSync is how long a sync may take for its op to be committed by the caller: less than waking the committer costs.
	quickSync = 30 * time.Microsecond
	// fewCallers is how many ops the committer may find waiting at a time for that. Callers who come in greater numbers
	// get more done in batches.
	fewCallers = 8
	// patience is how often a caller gives way to others before it leaves its op to the committer.
	patience = 8
)

// TryAppend commits op in the caller's goroutine where nobody else is at it and nothing has to be waited for. Changing to
// the committer and back takes longer than all of the work does then.
func (j *Local) TryAppend(op Op) (result any, done bool, err error) {
	if !j.quick.Load() || j.opts.Steady != nil && !j.opts.Steady() {
		return nil, false, nil
	}
	if !j.takeTurn() {
		return nil, false, nil
	}
	defer func() { j.turn <- struct{}{} }()
	j.mu.Lock()
	busy := len(j.batches) > 0 || j.ended != nil
	j.mu.Unlock()
	if busy || j.full() {
		return nil, false, nil
	}
	encoded := op.AppendTo(j.c.scratch[:0])
	if len(encoded) > maxOpLen {
		return nil, true, tooLarge(op, len(encoded))
	}
	j.c.scratch = encoded
	b := &j.c.alone
	b.clear()
	b.add(op, encoded)
	result, err = j.commitAlone(b)
	return result, true, err
}

// takeTurn waits for a turn as long as the quick commits of a few others take, and reports whether it has it.
func (j *Local) takeTurn() bool {
	for range patience {
		select {
		case <-j.turn:
			return true
		default:
			runtime.Gosched()
		}
	}
	return false
}

// commitAlone commits the batch of TryAppend. Whoever called may survive a panic; the journal, which may have written
// what was not applied, does not.
func (j *Local) commitAlone(b *batch) (result any, err error) {
	whole := false
	defer func() {
		if !whole {
			err = j.fail(errors.New("the commit of an op panicked"))
		}
	}()
	clean := !j.c.segment.dirty()
	results, err := j.commit(b)
	whole = true
	if err != nil {
		return nil, err
	}
	j.remind()
	if clean && j.opts.Sync == SyncAsync || j.full() {
		j.signal() // the committer has the timer, and takes the time
	}
	return results[0], nil
}

// timed takes note of how long callers had to wait for a sync.
func (j *Local) timed(took time.Duration) {
	j.c.syncTime += (took - j.c.syncTime) / 4
	j.judge()
}

// found takes note of how many ops waited together.
func (j *Local) found(ops int) {
	j.c.together += (float64(ops) - j.c.together) / 8
	j.judge()
}

// judge decides whether callers commit their ops themselves.
func (j *Local) judge() {
	j.quick.Store(j.c.syncTime < quickSync && j.c.together <= fewCallers)
}
