package editlog

import "time"

// quickSync is how long a sync may take for its op to be committed by the caller: less than waking the committer costs.
const quickSync = 30 * time.Microsecond

// TryAppend commits op in the caller's goroutine where nobody else is at it and nothing has to be waited for. Changing to
// the committer and back takes longer than all of the work does then.
func (j *Local) TryAppend(op Op) (result any, done bool, err error) {
	if !j.quick.Load() || j.opts.Steady != nil && !j.opts.Steady() {
		return nil, false, nil
	}
	select {
	case <-j.turn:
	default:
		return nil, false, nil
	}
	defer func() { j.turn <- struct{}{} }()
	j.mu.Lock()
	busy := len(j.queue) > 0 || j.ended != nil
	j.mu.Unlock()
	if busy {
		return nil, false, nil
	}
	b := &j.c.alone
	encoded := op.AppendTo(j.c.scratch[:0])
	if len(encoded) > maxOpLen {
		return nil, true, tooLarge(op, len(encoded))
	}
	j.c.scratch = encoded
	b.clear()
	b.add(op, encoded)
	clean := !j.c.segment.dirty()
	results, err := j.commit(b)
	if err != nil {
		return nil, true, err
	}
	j.afterwards()
	if clean && j.opts.Sync == SyncAsync {
		j.signal() // the committer has the timer
	}
	return results[0], true, nil
}

// timed takes note of how long a sync took.
func (j *Local) timed(d time.Duration) {
	j.c.syncTime += (d - j.c.syncTime) / 4
	j.quick.Store(j.c.syncTime < quickSync)
}
