package namenode

import (
	"context"
	"errors"
	"time"

	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
)

// What a group of namenodes is made of, for who starts one and hands the leadership around.
type (
	Group     = editlog.Group
	GroupRole = editlog.Role
	Member    = editlog.Member
	Progress  = editlog.Progress
)

// Group is the group that keeps this namenode's journal; nil for a namenode that keeps it alone.
func (n *NameNode) Group() Group { return n.group }

// Role says whether this namenode is "active" or "standby", and in which term. A namenode without a group is active.
func (n *NameNode) Role() (state string, term uint64) {
	p := n.part.Load()
	return p.state(), p.term
}

// Digest is equal on namenodes that have applied the same edits. txid is that of the state that it is of.
func (n *NameNode) Digest() (txid, digest uint64) { return n.ns.DigestAt() }

// part is what this namenode is at a time. It never changes: another one takes its place.
type part struct {
	active bool          // it serves
	leads  bool          // it is to become active, or is
	term   uint64        // of the leader, this namenode or another
	leader string        // id of the namenode that leads; "": none is known
	since  time.Time     // active since then
	over   chan struct{} // closed when the next part has begun
}

func (p *part) state() string {
	if p.active {
		return "active"
	}
	return "standby"
}

// settled reports whether it is known who is to answer calls: this namenode now, or another one.
func (p *part) settled() bool { return p.active || p.leader != "" && !p.leads }

// assume begins the next part. Only open and follow call it.
func (n *NameNode) assume(p *part) {
	p.over = make(chan struct{})
	if last := n.part.Swap(p); last != nil {
		close(last.over)
	}
}

// activateAgain is how long a leader that could not become active waits before it tries again.
const activateAgain = 100 * time.Millisecond

// follow makes this namenode what its group says until ctx ends.
func (n *NameNode) follow(ctx context.Context) {
	defer n.background.Done()
	for {
		changed := n.group.Changed()
		moved, again := n.moved, (<-chan time.Time)(nil)
		if err := n.play(ctx, n.group.Role()); err != nil && ctx.Err() == nil {
			n.log.Warn("namenode: leads and cannot become active yet", "err", err)
			if !errors.Is(err, editlog.ErrFailed) {
				moved, again = nil, time.After(activateAgain)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-moved:
		case <-again:
		}
	}
}

// play makes this namenode what r says: a standby at once, the active one after the first edits of its term.
func (n *NameNode) play(ctx context.Context, r editlog.Role) error {
	p := n.part.Load()
	if p.active && r.Leads && r.Term == p.term {
		return nil
	}
	if p.active || p.leads != r.Leads || p.term != r.Term || p.leader != r.Leader {
		n.assume(&part{leads: r.Leads, term: r.Term, leader: r.Leader})
	}
	if p.active {
		n.blocks.SetActive(false, 0)
		n.log.Info("namenode: standby", "was active in term", p.term, "term", r.Term, "leader", r.Leader)
	}
	if !r.Leads {
		n.catchUp(r)
		n.checkFailed(n.group.Fence(ctx)) // a standby has no edits of its own that would tell
		return nil
	}
	if err := n.beginTerm(ctx, r.Term); err != nil {
		return err
	}
	if now := n.group.Role(); !now.Leads || now.Term != r.Term {
		return nil // lost meanwhile: the group has told that it changed
	}
	n.activate(r.Term, r.Leader)
	n.log.Info("namenode: active", "term", r.Term)
	return nil
}

// catchUp ends the time in which a standby loads: it has applied the beginning of the present term, and with it all that
// was committed before. Its safe mode is for the reports of datanodes to end from now on.
func (n *NameNode) catchUp(r editlog.Role) {
	if r.Leader != "" && n.ns.Term() == r.Term && n.loading.Swap(false) {
		n.blocks.SetLastBlockID(n.ns.LastBlockID())
		n.blocks.Loaded(time.Now())
	}
}

// stateMoved tells follow of a standby that loads that more of the state is there.
func (n *NameNode) stateMoved() {
	if n.loading.Load() {
		select {
		case n.moved <- struct{}{}:
		default:
		}
	}
}

// beginTerm journals what a namenode journals before it serves: a new segment and, where the configuration differs from
// the state, new parameters.
func (n *NameNode) beginTerm(ctx context.Context, term uint64) error {
	if _, err := n.edit(ctx, nil, internalOp(&namespace.StartSegment{Term: term})); err != nil {
		return err
	}
	if want := n.wantedParams(); n.ns.Params() != want {
		if _, err := n.edit(ctx, nil, internalOp(&namespace.SetParams{Params: want})); err != nil {
			return err
		}
	}
	return nil
}

// activate makes this namenode the one that serves. All leases count as renewed now.
func (n *NameNode) activate(term uint64, leader string) {
	now := time.Now()
	for lease := range n.ns.Leases() {
		n.leases.renew(lease.Holder, now)
	}
	n.loading.Store(false)
	n.blocks.SetLastBlockID(n.ns.LastBlockID())
	n.blocks.SetActive(true, n.ns.TxID())
	n.blocks.Loaded(now)
	n.assume(&part{active: true, leads: true, term: term, leader: leader, since: now})
}

// awaitSettled waits until it is known who is to answer a call, for LeaderWait at most, and gives this namenode's part
// in it.
func (n *NameNode) awaitSettled(ctx context.Context, c *rpc.Call) *part {
	p := n.part.Load()
	if p.settled() {
		return p
	}
	c.Yield()
	timeout := time.NewTimer(n.o.LeaderWait)
	defer timeout.Stop()
	for !p.settled() {
		select {
		case <-p.over:
			p = n.part.Load()
		case <-timeout.C:
			return p
		case <-ctx.Done():
			return p
		}
	}
	return p
}
