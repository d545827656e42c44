package editlog

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// fences are the rounds in which a leader asks the others whether they know of a newer one. raft's VerifyLeader will not
// do: an answer that was under way before the question counts there.
type fences struct {
	wake chan struct{} // there is a next round

	mu   sync.Mutex
	next *round // of those who wait for it to start; nil: nobody does
}

// A round answers all who joined it before it started.
type round struct {
	done chan struct{}
	err  error
}

// Fence returns nil when a majority, asked after the call began, knew of no leader newer than this member, and this member
// has applied what others had committed before it led.
func (r *Raft) Fence(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	role, _, over := r.roleAndChange()
	if over != nil {
		return over
	}
	if !role.Leads {
		return ErrNotLeader
	}
	f := &r.fences
	f.mu.Lock()
	mine := f.next
	if mine == nil {
		mine = &round{done: make(chan struct{})}
		f.next = mine
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
	f.mu.Unlock()
	select {
	case <-mine.done:
		return mine.err
	case <-r.stop:
		return r.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fenceAll makes one round after the other while somebody waits.
func (r *Raft) fenceAll() {
	defer r.stopProbes()
	var caughtUp uint64 // term
	for {
		select {
		case <-r.stop:
			return
		case <-r.fences.wake:
		}
		runtime.Gosched() // to those who are about to join
		r.fences.mu.Lock()
		mine := r.fences.next
		r.fences.next = nil
		r.fences.mu.Unlock()
		mine.err = r.fence(&caughtUp)
		close(mine.done)
	}
}

// fence makes one round.
func (r *Raft) fence(caughtUp *uint64) error {
	role, changed, over := r.roleAndChange()
	if over != nil {
		return over
	}
	if !role.Leads {
		return ErrNotLeader
	}
	if *caughtUp != role.Term {
		if err := r.raft.Barrier(0).Error(); err != nil {
			return r.groupRefusal()
		}
		*caughtUp = role.Term
	}
	others, self := r.voters()
	need := len(others)/2 + 1
	if self { // whose own answer comes at the end
		need = (len(others) + 1) / 2
	}
	if need > 0 && !r.insist(others, need, role.Term, changed) {
		return r.groupRefusal()
	}
	if now, _, _ := r.roleAndChange(); now != role || r.raft.CurrentTerm() != role.Term {
		return r.groupRefusal()
	}
	return nil
}

// askPause is how long a leader waits that has no majority before it asks again: somebody may just have come back.
const askPause = time.Millisecond

// insist asks until a majority knows no term but this, or there is no hope.
func (r *Raft) insist(others []raft.Server, need int, term uint64, changed <-chan struct{}) bool {
	for end := time.Now().Add(r.opts.HeartbeatTimeout); ; {
		if r.majority(others, need, term, changed) {
			return true
		}
		pause := time.NewTimer(askPause)
		select {
		case <-pause.C:
		case <-changed:
			pause.Stop()
			return false
		case <-r.stop:
			pause.Stop()
			return false
		}
		if r.raft.CurrentTerm() != term || !time.Now().Before(end) {
			return false
		}
	}
}

// majority asks the others and waits until enough of them know no term but this.
func (r *Raft) majority(others []raft.Server, need int, term uint64, changed <-chan struct{}) bool {
	answers := r.ask(others)
	timeout := time.NewTimer(r.opts.HeartbeatTimeout)
	defer timeout.Stop()
	for left := len(others); left >= need; left-- {
		select {
		case a := <-answers:
			switch {
			case a.err != nil:
				continue
			case a.term < term: // it is about to hear of this one, which others may never say
				timeout.Reset(askPause)
				continue
			case a.term > term:
				return false // raft will hear of it, too
			}
			if need--; need == 0 {
				return true
			}
		case <-changed:
			return false
		case <-timeout.C:
			return false
		case <-r.stop:
			return false
		}
	}
	return false
}

// groupRefusal is what a reader hears whose round came to nothing.
func (r *Raft) groupRefusal() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refusalLocked()
}

// voters are the others that have a vote; self: this member has one too.
func (r *Raft) voters() (others []raft.Server, self bool) {
	for _, s := range r.servers() {
		switch {
		case s.Suffrage != raft.Voter:
		case s.ID == raft.ServerID(r.opts.ID):
			self = true
		default:
			others = append(others, s)
		}
	}
	return others, self
}

// servers is the latest configuration.
func (r *Raft) servers() []raft.Server {
	f := r.raft.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return f.Configuration().Servers
}
