package editlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// Close commits what was appended, hands the leadership over, makes everything durable and ends the journal. It returns
// the cause if the journal had failed.
func (r *Raft) Close() error {
	r.mu.Lock()
	r.leaving = true
	if r.over == nil {
		r.ended = ErrClosed
	}
	r.mu.Unlock()
	r.closes.Do(func() { close(r.closing) })
	<-r.batched
	<-r.judged
	if r.Err() == nil {
		r.handOver()
		_ = r.disk.flush() // a failure is known by now
	}
	r.halt(ErrClosed)
	r.end()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Kill ends the journal as it stands. Those who wait get ErrClosed. What the stores are at is waited for.
func (r *Raft) Kill() {
	r.halt(ErrClosed)
	r.end()
}

// fail ends the journal for a cause. Whoever calls goes on: raft must not be waited for by itself.
func (r *Raft) fail(cause error) {
	err := fmt.Errorf("%w: %w", ErrFailed, cause)
	r.mu.Lock()
	first := r.over == nil && r.failed == nil
	if first {
		r.failed = err
	}
	r.mu.Unlock()
	if !first {
		return
	}
	r.opts.Logger.Error("editlog: this member has failed and is cut off from its group, nothing is written any more", "member", r.opts.ID, "err", cause)
	r.halt(err)
	r.mu.Lock()
	opened := r.opened
	r.mu.Unlock()
	if opened {
		go r.end()
	}
}

// halt cuts the member off, freezes its stores and answers whoever waits. Nothing is applied from here on.
func (r *Raft) halt(err error) {
	r.mu.Lock()
	if r.over == nil {
		r.over, r.ended = err, err
	}
	err = r.over
	r.becomeLocked(Role{Term: r.role.Term})
	r.refuseAllLocked()
	close(r.changed) // whether there was a role to lose or not
	r.changed = make(chan struct{})
	r.mu.Unlock()
	r.halted.Store(true)
	if r.net != nil { // else it was never heard of
		r.net.cut()
	}
	r.disk.freeze()
	r.mu.Lock()
	r.refuseAllLocked()
	pending := r.pending
	r.pending = make(map[uint64]*inflight)
	r.mu.Unlock()
	for _, p := range pending {
		r.reply(p, nil, err)
	}
}

// end returns when nothing of the journal is running any more and its stores are free. It follows halt.
func (r *Raft) end() {
	r.ends.Do(func() {
		defer close(r.done)
		close(r.stop)
		<-r.batched
		// A leader that cannot write steps down and so answers for all that it was asked; nobody may wait for raft once it
		// is shut down.
		_ = r.raft.Apply(nil, 0).Error()
		<-r.judged
		r.workers.Wait()
		r.trans.closePipelines(true)
		r.trans.CloseStreams()
		_ = r.raft.Shutdown().Error()
		_ = r.trans.Close()
		r.net.running.Wait()
		if err := r.disk.letGo(); err != nil {
			r.opts.Logger.Warn("editlog: cannot close the stores", "err", err)
		}
	})
	<-r.done
}

// begin keeps the journal from ending until the caller has called r.workers.Done.
func (r *Raft) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over != nil {
		return r.over
	}
	if r.leaving {
		return ErrClosed
	}
	r.workers.Add(1)
	return nil
}

// await runs something that waits for raft, and waits for it as long as ctx allows.
func (r *Raft) await(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	result := make(chan error, 1)
	go func() {
		defer r.workers.Done()
		result <- do()
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Checkpoint writes an image of the present state, unless the newest image is one already, and cuts the log.
func (r *Raft) Checkpoint(ctx context.Context) error {
	return r.await(ctx, r.checkpoint)
}

func (r *Raft) checkpoint() error {
	r.mu.Lock()
	news := r.edited > r.imaged
	r.mu.Unlock()
	if !news {
		return nil
	}
	err := r.raft.Snapshot().Error()
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	return r.groupError(err)
}

// checkpointOverdue makes the checkpoints that whoever applies asks for, and the syncs of SyncAsync.
func (r *Raft) checkpointOverdue() {
	var tick <-chan time.Time
	if r.opts.Sync == SyncAsync {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-r.stop:
			return
		case <-tick:
			_ = r.disk.flush() // ends the member if it fails
		case <-r.overdue:
			if err := r.checkpoint(); err != nil && !r.halted.Load() {
				r.opts.Logger.Error("editlog: no checkpoint, the log grows on", "member", r.opts.ID, "err", err)
			}
		}
	}
}
