package editlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// nearlyCaughtUp is how many entries a new member may lack when it gets its vote.
	nearlyCaughtUp = trailingLogs
	// askAgain is how often a new member is asked how far it is.
	askAgain = 5 * time.Millisecond
)

// Members is the configuration that this member knows.
func (r *Raft) Members() []Member {
	servers := r.servers()
	members := make([]Member, 0, len(servers))
	for _, s := range servers {
		_, addr, err := splitAddress(s.Address)
		if err != nil {
			addr = string(s.Address)
		}
		members = append(members, Member{ID: string(s.ID), Addr: addr, Voter: s.Suffrage == raft.Voter})
	}
	return members
}

// Add takes m in, without a vote, and gives it one when it has the log up to the last entries. When that fails or ctx ends,
// m stays as it is: Add again, or Remove it.
func (r *Raft) Add(ctx context.Context, m Member) error {
	switch {
	case m.ID == "" || len(m.ID) > maxIDLen || m.Addr == "":
		return fmt.Errorf("editlog: cannot add member %q at %q; give both an id and an address", m.ID, m.Addr)
	case !r.Role().Leads:
		return r.groupRefusal()
	}
	server := raft.Server{ID: raft.ServerID(m.ID), Address: serverAddress(m.ID, m.Addr)}
	err := r.await(ctx, func() error {
		return r.groupError(r.raft.AddNonvoter(server.ID, server.Address, 0, 0).Error())
	})
	if err != nil {
		return err
	}
	if err := r.waitForLog(ctx, server); err != nil {
		return fmt.Errorf("editlog: member %s has no vote yet: %w", m.ID, err)
	}
	return r.await(ctx, func() error {
		return r.groupError(r.raft.AddVoter(server.ID, server.Address, 0, 0).Error())
	})
}

// waitForLog waits until a member has nearly all of the log.
func (r *Raft) waitForLog(ctx context.Context, server raft.Server) error {
	pause := time.NewTimer(askAgain)
	defer pause.Stop()
	for {
		want := r.raft.CommitIndex()
		select {
		case a := <-r.ask([]raft.Server{server}):
			if a.err == nil && a.last+nearlyCaughtUp >= want && (a.last > 0 || want == 0) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-r.stop:
			return r.Err()
		}
		if !r.Role().Leads {
			return r.groupRefusal()
		}
		pause.Reset(askAgain)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-r.stop:
			return r.Err()
		}
	}
}

// Remove excludes a member. A leader may remove itself: it leads until that is committed.
func (r *Raft) Remove(ctx context.Context, id string) error {
	if !r.Role().Leads {
		return r.groupRefusal()
	}
	return r.await(ctx, func() error {
		return r.groupError(r.raft.RemoveServer(raft.ServerID(id), 0, 0).Error())
	})
}

// Transfer hands the leadership over. It returns when this member does not lead any more, which may be before the other one
// does, or with an error when it leads on.
func (r *Raft) Transfer(ctx context.Context, to string) error {
	if !r.Role().Leads {
		return r.groupRefusal()
	}
	return r.await(ctx, func() error { return r.transfer(to) })
}

func (r *Raft) transfer(to string) error {
	others, _ := r.voters()
	target, err := r.successor(others, to)
	if err != nil {
		return err
	}
	err = r.raft.LeadershipTransferToServer(target.ID, target.Address).Error()
	if role := r.Role(); err != nil && role.Leads {
		return fmt.Errorf("editlog: cannot hand over to %s: %w", target.ID, err)
	}
	return nil
}

// successor is the voter of that id, or among those who answer the one that has most of the log.
func (r *Raft) successor(others []raft.Server, id string) (best raft.Server, err error) {
	if id != "" {
		for _, s := range others {
			if string(s.ID) == id {
				return s, nil
			}
		}
		return best, fmt.Errorf("editlog: cannot hand over to %q: it is not another member with a vote", id)
	}
	answers := r.ask(others)
	timeout := time.NewTimer(r.opts.HeartbeatTimeout)
	defer timeout.Stop()
	found, left, lead := uint64(0), len(others), r.raft.LastIndex()
	for ; left > 0 && (found == 0 || found < lead); left-- {
		select {
		case a := <-answers:
			if a.err == nil && a.last >= found {
				best, found = a.from, a.last
			}
		case <-timeout.C:
			left = 1
		case <-r.stop:
			return best, r.Err()
		}
	}
	if best.ID == "" {
		return best, errors.New("editlog: cannot hand over: no other member answers")
	}
	return best, nil
}

// handOver makes another member lead before this one leaves, if a majority is there to elect it.
func (r *Raft) handOver() {
	role, changed, _ := r.roleAndChange()
	others, _ := r.voters()
	if !role.Leads || len(others) == 0 {
		return
	}
	if !r.majority(others, (len(others)+1)/2, role.Term, changed) {
		return
	}
	if err := r.transfer(""); err != nil {
		r.opts.Logger.Info("editlog: leaving without a successor", "member", r.opts.ID, "err", err)
	}
}
