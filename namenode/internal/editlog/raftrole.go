package editlog

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/hashicorp/raft"
)

// observe takes note of what raft is now. raft calls it from the middle of every change: it does not wait.
func (r *Raft) observe() {
	r.mu.Lock()
	defer r.mu.Unlock()
	role := Role{Term: r.raft.CurrentTerm(), Leads: r.raft.State() == raft.Leader}
	if now := r.raft.CurrentTerm(); now != role.Term { // raft does not change both at once
		role = Role{Term: now}
	}
	if _, id := r.raft.LeaderWithID(); id != "" {
		role.Leader = string(id)
	}
	switch {
	case role.Leads:
		role.Leader = r.opts.ID
	case role.Leader == r.opts.ID || r.raft.State() == raft.Candidate: // of the term before
		role.Leader = ""
	}
	r.becomeLocked(role)
}

// becomeLocked takes a role. What waits for an entry was meant for the role before.
func (r *Raft) becomeLocked(role Role) {
	if r.over != nil {
		role = Role{Term: role.Term}
	}
	if role == r.role {
		return
	}
	was := r.role
	r.role = role
	close(r.changed)
	r.changed = make(chan struct{})
	if was.Leads && (!role.Leads || role.Term != was.Term) {
		r.refuseAllLocked()
		r.trans.closePipelines(false)
	}
	if r.over == nil && !r.leaving {
		r.ended = nil
		if !role.Leads {
			r.ended = ErrNotLeader
		}
	}
}

// refuseAllLocked answers those who wait for an entry.
func (r *Raft) refuseAllLocked() {
	refused := r.batches
	r.batches = nil
	err := r.refusalLocked()
	for _, b := range refused {
		b.results, b.err = nil, err
		close(b.done)
		b.refs.Add(-1) // not the last one: somebody waits
	}
}

// Role is this member's part, as far as it knows.
func (r *Raft) Role() Role {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.role
}

// Changed is closed when Role changes next, and when the journal fails.
func (r *Raft) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// roleAndChange gives both as of one moment.
func (r *Raft) roleAndChange() (Role, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.role, r.changed, r.over
}

// Err is why the journal has ended: nil, ErrClosed, or ErrFailed with its cause.
func (r *Raft) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

// Progress says how much of the log this member has.
func (r *Raft) Progress() Progress {
	stats := r.raft.Stats()
	number := func(key string) uint64 {
		n, _ := strconv.ParseUint(stats[key], 10, 64) // raft formats them
		return n
	}
	p := Progress{
		Term: number("last_log_term"), Last: number("last_log_index"),
		Committed: number("commit_index"), Applied: number("applied_index"),
	}
	if i := number("last_snapshot_index"); i > p.Last {
		p.Last, p.Term = i, number("last_snapshot_term")
	}
	p.Committed = max(p.Committed, p.Applied)
	return p
}

// groupError is what raft's error means to who asked for something that only the leader does.
func (r *Raft) groupError(err error) error {
	if over := r.Err(); over != nil {
		return over
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader):
		return ErrNotLeader
	case errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrRaftShutdown):
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return fmt.Errorf("editlog: %w", err)
}
