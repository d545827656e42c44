package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

const (
	// the waits between rounds over the namenodes
	backoffBase = 5 * time.Millisecond
	backoffMax  = 500 * time.Millisecond
)

// call is a call to the active namenode, whichever that is. It keeps its id through every attempt, so that a namenode that
// has carried it out answers from its retry cache instead of doing it again.
type call struct {
	n         *namenodes
	id        int32
	attempts  atomic.Int32
	method    string
	req, resp proto.Message

	tried  []*NodeError // what each namenode said last, by index; nil until one has failed
	active chan int     // gets the index of a namenode that says it is active; nil until all have been asked in vain
}

// nextID gives the id of an attempt.
func (c *call) nextID() rpc.CallID { return rpc.CallID{ID: c.id, Retry: c.attempts.Add(1) - 1} }

func (c *call) do(ctx context.Context) error {
	defer c.leave()
	start := time.Now()
	p := c.n.position.Load()
	at := p.at
	for tries := 1; ; tries++ {
		answered, err := c.attempt(ctx, at)
		what := judge(ctx, err)
		if what == answer {
			c.n.move(p, answered)
			return plain(err)
		}
		switch {
		case c.n.life.Err() != nil:
			return context.Cause(c.n.life)
		case ctx.Err() != nil:
			return c.endedBy(ctx, start)
		case what == fatal:
			return err
		}
		c.failed(at, err)
		if time.Since(start) >= c.n.opt.RetryTimeout && (tries > 1 || c.hedged()) {
			return c.unanswered(start)
		}
		c.n.log.Debug("client: call is tried again", "method", c.method, "addr", c.n.opt.Addrs[at], "tries", tries, "err", err)
		next, err := c.wait(ctx, at, tries, what, p)
		switch {
		case c.n.life.Err() != nil:
			return context.Cause(c.n.life)
		case err != nil:
			return c.endedBy(ctx, start)
		}
		at = next
		if now := c.n.position.Load(); now != p { // others have found the active one
			p, at = now, now.at
		}
	}
}

// hedged tells whether an attempt goes to every namenode that is active, and not to one only.
func (c *call) hedged() bool { return len(c.n.conns) > 1 && c.n.opt.HedgeAfter >= 0 }

// failed notes what a namenode said, in place of what it said before.
func (c *call) failed(at int, err error) {
	if c.tried == nil {
		c.tried = make([]*NodeError, len(c.n.conns))
	}
	c.tried[at] = c.n.nodeError(at, c.n.opt.CallTimeout, err)
}

// unanswered is the error of a call that no namenode answered: what each said to it last, or else to the question for its
// state.
func (c *call) unanswered(start time.Time) error {
	e := &NameNodesError{Method: c.method, Took: time.Since(start), Attempts: int(c.attempts.Load())}
	for i, t := range c.tried {
		if t == nil {
			t = c.n.probes[i].last()
		}
		if t != nil {
			e.Tried = append(e.Tried, t)
		}
	}
	return e
}

// endedBy is the error of a call whose ctx has ended, with what namenodes said until then.
func (c *call) endedBy(ctx context.Context, start time.Time) error {
	if c.tried == nil {
		return cause(ctx)
	}
	return fmt.Errorf("%w: %w", cause(ctx), c.unanswered(start))
}

// nodeError is what a namenode said to a call that it had the time to answer.
func (n *namenodes) nodeError(at int, within time.Duration, err error) *NodeError {
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v: %w", within, err)
	}
	return &NodeError{n.opt.Addrs[at], plain(err)}
}

// plain takes the Java stack trace off the message of a RemoteError.
func plain(err error) error {
	var remote *dfs.RemoteError
	if errors.As(err, &remote) {
		if i := strings.Index(remote.Message, "\n\tat "); i >= 0 {
			return &dfs.RemoteError{Class: remote.Class, Message: remote.Message[:i]}
		}
	}
	return err
}

// wait gives the namenode of the next attempt, when it is time for that. All are asked one after the other without a wait;
// then it is one that says it is active, or the next one after a while. With an error, ctx or the client has ended.
func (c *call) wait(ctx context.Context, at, tries int, what verdict, p *position) (int, error) {
	n, round := c.n, tries
	next := at
	if what == elsewhere {
		next = (at + 1) % len(n.conns)
		if tries%len(n.conns) != 0 {
			return next, nil
		}
		round /= len(n.conns)
		c.join()
	}
	d := min(backoffBase<<min(round-1, 16), backoffMax)
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case next = <-c.active:
	case <-p.left:
	case <-t.C:
	case <-ctx.Done():
		return at, ctx.Err()
	case <-n.life.Done():
		return at, n.life.Err()
	}
	return next, nil
}

// join has the probes tell the call of namenodes that are active, until leave.
func (c *call) join() {
	if c.active != nil {
		return
	}
	c.active = make(chan int, len(c.n.conns))
	for _, p := range c.n.probes {
		p.join(c.active)
	}
}

func (c *call) leave() {
	if c.active == nil {
		return
	}
	for _, p := range c.n.probes {
		p.leave(c.active)
	}
}

// suspect cuts the line to a namenode that has let all the time for an answer pass.
func (c *call) suspect(ctx context.Context, at int, began time.Time, err error) {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		c.n.conns[at].Cut(began)
	}
}

// attempt makes the call once at one namenode, and at others that turn out to be active while that one is silent. It says
// who has answered; the error is that of the first where nobody has.
func (c *call) attempt(ctx context.Context, at int) (int, error) {
	n, began := c.n, time.Now()
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, n.opt.CallTimeout)
	defer cancel()
	if !c.hedged() {
		err := n.conns[at].CallAs(ctx, c.nextID(), c.method, c.req, c.resp)
		c.suspect(outer, at, began, err)
		return at, err
	}
	first, giveUp := context.WithCancel(ctx)
	defer giveUp()
	h := &hedge{call: c, first: at, kind: c.resp.ProtoReflect().Type(), over: make(chan struct{}), done: make(chan struct{})}
	timer := time.AfterFunc(n.opt.HedgeAfter, func() {
		defer close(h.done)
		if h.run(ctx) {
			giveUp()
		}
	})
	err := n.conns[at].CallAs(first, c.nextID(), c.method, c.req, c.resp)
	if timer.Stop() {
		return at, err
	}
	if judge(ctx, err) == answer {
		cancel()
		<-h.done
		return at, err
	}
	close(h.over)
	<-h.done
	if h.answer == nil {
		c.suspect(outer, at, began, err)
		return at, err
	}
	n.conns[at].Cut(began) // others need not wait for it either
	proto.Reset(c.resp)
	proto.Merge(c.resp, h.answer.resp)
	return h.answer.at, h.answer.err
}
