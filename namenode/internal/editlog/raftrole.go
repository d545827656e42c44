package editlog

import (
	"context"
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
	if role.Leads {
		role.Leader = r.opts.ID
	} else if role.Leader == r.opts.ID {
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

// Elect makes this member stand for election, as a leader does that hands over: the others vote even if they know a leader.
// One that has less of the log than they have, or no vote, is not elected.
func (r *Raft) Elect(ctx context.Context) error {
	before, _, over := r.roleAndChange()
	switch {
	case over != nil:
		return over
	case before.Leads:
		return nil
	case !r.votes():
		return fmt.Errorf("editlog: member %s has no vote and cannot lead; add it to the group first", r.opts.ID)
	}
	self := r.trans.LocalAddr()
	request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{
		ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(r.opts.ID), Addr: []byte(self),
	}}
	if err := r.trans.TimeoutNow(raft.ServerID(r.opts.ID), self, request, &raft.TimeoutNowResponse{}); err != nil {
		if over := r.Err(); over != nil {
			return over
		}
		return fmt.Errorf("editlog: cannot stand for election: %w", err)
	}
	for {
		role, changed, over := r.roleAndChange()
		switch {
		case over != nil:
			return over
		case role.Leads:
			return nil
		case role.Leader != "" && role.Term > before.Term:
			return fmt.Errorf("%w: %s was elected instead", ErrNotLeader, role.Leader)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// votes: this member has a vote.
func (r *Raft) votes() bool {
	for _, m := range r.Members() {
		if m.ID == r.opts.ID {
			return m.Voter
		}
	}
	return false
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
