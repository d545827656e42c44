package editlog

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// Elect makes this member lead. A leader that can be asked hands over; else this member stands for election at once, and the
// others vote even if they know a leader. One that has less of the log than they have, or no vote, is not elected.
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
	var stood uint64 // the term before that in which it stood for election
	again := time.NewTimer(r.opts.ElectionTimeout)
	defer again.Stop()
	if before.Leader == "" || !r.wish(ctx, before.Leader) {
		r.prepare(ctx)
		again.Reset(0)
	}
	for {
		role, changed, over := r.roleAndChange()
		switch {
		case over != nil:
			return over
		case role.Leads:
			return nil
		case stood != 0 && role.Leader != "" && role.Term > stood && r.raft.State() == raft.Follower:
			return fmt.Errorf("%w: %s was elected instead", ErrNotLeader, role.Leader)
		}
		select {
		case <-changed:
		case <-again.C:
			// A message of the leader in the very moment may make raft forget what it was told.
			if r.raft.State() == raft.Follower {
				stood = r.raft.CurrentTerm()
				if err := r.kick(); err != nil {
					return err
				}
			}
			again.Reset(kickAgain)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// kickAgain is how long an election may leave no trace.
const kickAgain = 50 * time.Millisecond

const (
	// prepareTries and preparePause bound the wait for the last entries of a leader that is still at work.
	prepareTries = 50
	preparePause = 200 * time.Microsecond
	// preparePatience is how long the others may take to answer, surveyPatience those that are not needed.
	preparePatience = 20 * time.Millisecond
	surveyPatience  = time.Millisecond
)

// prepare makes it likely that the others vote for this member: its term is not older than theirs, and its log not shorter.
func (r *Raft) prepare(ctx context.Context) {
	others, _ := r.voters()
	need := (len(others) + 1) / 2
	pause := time.NewTimer(preparePause)
	defer pause.Stop()
	for range prepareTries {
		term, ahead, answered := r.survey(others, need)
		if term > r.raft.CurrentTerm() {
			r.raise(term)
		}
		if ahead == 0 || answered < need {
			return
		}
		pause.Reset(preparePause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		case <-r.stop:
			return
		}
	}
}

// survey asks the others for the newest term, and how many are ahead of this member. Once there are enough answers it does not
// wait long for the rest.
func (r *Raft) survey(others []raft.Server, need int) (term uint64, ahead, answered int) {
	answers := r.ask(others)
	timeout := time.NewTimer(preparePatience)
	defer timeout.Stop()
	for left := len(others); left > 0; left-- {
		select {
		case a := <-answers:
			if a.err != nil {
				continue
			}
			term = max(term, a.term)
			if a.last > r.raft.LastIndex() {
				ahead++
			}
			if answered++; answered == need {
				timeout.Reset(surveyPatience)
			}
		case <-timeout.C:
			return term, ahead, answered
		case <-r.stop:
			return term, ahead, answered
		}
	}
	return term, ahead, answered
}

// raise lets this member's raft hear of a newer term: a candidate whose last vote was in it would not get another one. The
// request for a vote is one that is refused, for it comes from somebody without a log.
func (r *Raft) raise(term uint64) {
	request := &raft.RequestVoteRequest{
		RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}, Term: term, LeadershipTransfer: true,
	}
	self := r.trans.LocalAddr()
	if err := r.trans.RequestVote(raft.ServerID(r.opts.ID), self, request, &raft.RequestVoteResponse{}); err != nil {
		r.opts.Logger.Debug("editlog: cannot raise the term", "member", r.opts.ID, "err", err)
	}
}

// kick sends this member what a leader sends that hands over.
func (r *Raft) kick() error {
	self := r.trans.LocalAddr()
	request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{
		ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(r.opts.ID), Addr: []byte(self),
	}}
	err := r.trans.TimeoutNow(raft.ServerID(r.opts.ID), self, request, &raft.TimeoutNowResponse{})
	if over := r.Err(); over != nil {
		return over
	}
	if err != nil {
		return fmt.Errorf("editlog: cannot stand for election: %w", err)
	}
	return nil
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
