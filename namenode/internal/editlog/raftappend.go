package editlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// entriesInFlight is how many entries may be on their way: one is applied while the next one goes to the others.
const entriesInFlight = 2

// An inflight is an entry made here that is not answered.
type inflight struct {
	*batch
	term   uint64
	number uint64
	future raft.ApplyFuture
}

// Append leaves op to the next entry. It returns ErrNotLeader when nothing was done, and ErrUnknown when this member has
// ceased to lead meanwhile.
func (r *Raft) Append(ctx context.Context, op Op) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.wait(ctx, op)
}

// TryAppend does nothing: the others have to be waited for.
func (r *Raft) TryAppend(Op) (result any, done bool, err error) { return nil, false, nil }

// batchAll makes entries of what waits, until the journal ends.
func (r *Raft) batchAll() {
	defer close(r.batched)
	defer close(r.sent)
	for {
		select {
		case <-r.stop:
			return
		case <-r.wake:
			for r.sendNext() {
			}
		case <-r.closing:
			for r.sendNext() {
			}
			return
		}
	}
}

// sendNext makes an entry of the first batch, if there is one; true: there is another one.
func (r *Raft) sendNext() bool {
	select {
	case r.slots <- struct{}{}:
	case <-r.stop:
		return false
	}
	r.gather()
	b, more := r.take()
	if b == nil {
		<-r.slots
		return false
	}
	r.send(b)
	return more
}

func (r *Raft) send(b *batch) {
	data, count := b.buf, uint32(len(b.ops))
	b.buf = nil // the log has it from now on; and b is anyone's to answer once it is pending
	r.mu.Lock()
	if !r.role.Leads || r.halted.Load() {
		err := r.refusalLocked()
		r.mu.Unlock()
		<-r.slots
		r.answer(b, nil, err)
		return
	}
	r.number++
	p := &inflight{batch: b, term: r.role.Term, number: r.number}
	r.pending[p.number] = p
	r.mu.Unlock()

	sealEntry(data, r.net.identity, entry{term: p.term, number: p.number, count: count})
	p.future = r.raft.Apply(data, 0)
	r.sent <- p
}

// judgeAll answers for entries that raft gives up; those that are applied are answered at once by who applies them.
func (r *Raft) judgeAll() {
	defer close(r.judged)
	for p := range r.sent {
		if err := p.future.Error(); err != nil {
			r.settle(p, nil, r.verdict(err))
		}
	}
}

// claim gives the pending entry of that origin to the caller, who alone answers it.
func (r *Raft) claim(term, number uint64) *inflight {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pending[number]
	if p == nil || p.term != term {
		return nil
	}
	delete(r.pending, number)
	return p
}

// settle answers p, unless that was done.
func (r *Raft) settle(p *inflight, results []any, err error) {
	if r.claim(p.term, p.number) == p {
		r.reply(p, results, err)
	}
}

// reply answers an entry that was claimed.
func (r *Raft) reply(p *inflight, results []any, err error) {
	<-r.slots
	r.answer(p.batch, results, err)
}

// verdict is what raft's error means to who appended.
func (r *Raft) verdict(err error) error {
	r.mu.Lock()
	over := r.over
	r.mu.Unlock()
	switch {
	case over != nil:
		return over
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return ErrNotLeader
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// refusalLocked is why this member does not append.
func (r *Raft) refusalLocked() error {
	if r.over != nil {
		return r.over
	}
	return ErrNotLeader
}
