package namenode

import (
	"context"
	"errors"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"google.golang.org/protobuf/proto"
)

// served is what the gate has to know of a call whose method has run. It travels in the call's context.
type served struct {
	as      *part // the part in which the call was let in: its edits are for no other
	settled bool  // an edit, or the retry cache, has given the answer
}

type servedKey struct{}

// as gives ctx to what this namenode does in the part p and in no other.
func (n *NameNode) as(ctx context.Context, p *part) (context.Context, *served) {
	s := &served{as: p}
	return context.WithValue(ctx, servedKey{}, s), s
}

// servedOf finds what as has put into ctx; nil for what depends on no part.
func (n *NameNode) servedOf(ctx context.Context) *served {
	if n.group == nil {
		return nil
	}
	s, _ := ctx.Value(servedKey{}).(*served)
	return s
}

// gate stands before the method of a call where several namenodes share a journal: it lets calls in on the active one
// alone, and lets no answer out that a newer active might contradict.
//
// That is so for an answer that an edit has given, or the retry cache. Any other, be it a refusal, was read from the state,
// and a member that leads no more may not know it yet. So the answer is held back until a majority, asked after the call
// had begun, has confirmed that this namenode still leads, in the same term. The state that was read then had all that was
// acknowledged before the call, by whomever.
func (n *NameNode) gate(c *rpc.Call, next rpc.Next) rpc.Next {
	category := n.categoryOf(c)
	if category == unchecked {
		return next
	}
	return func(ctx context.Context) (proto.Message, error) {
		answer, err := n.serve(ctx, c, category, next)
		if errors.Is(err, editlog.ErrNotLeader) {
			return nil, standbyError(category)
		}
		return answer, err
	}
}

func (n *NameNode) serve(ctx context.Context, c *rpc.Call, category category, next rpc.Next) (proto.Message, error) {
	p := n.awaitSettled(ctx, c)
	if !p.active {
		return nil, editlog.ErrNotLeader
	}
	inside, call := n.as(ctx, p)
	answer, err := next(inside)
	if call.settled && category != read || n.o.StaleReads || errors.Is(err, editlog.ErrNotLeader) || lostJournal(err) {
		return answer, err
	}
	c.Yield()
	if err := n.confirm(ctx, p); err != nil {
		return nil, err
	}
	return answer, err
}

// confirm returns nil when this namenode has led since the part p began.
func (n *NameNode) confirm(ctx context.Context, p *part) error {
	if err := n.group.Fence(ctx); err != nil {
		return err
	}
	if r := n.group.Role(); !r.Leads || r.Term != p.term {
		return editlog.ErrNotLeader
	}
	return nil
}

// lostJournal reports whether err leaves open what has become of an edit: nothing can be answered then, and the client
// is to ask again, with the same ids.
func lostJournal(err error) bool {
	return errors.Is(err, editlog.ErrFailed) || errors.Is(err, editlog.ErrUnknown)
}

// standbyError is what a namenode that is not active answers, in Hadoop's words.
func standbyError(category category) error {
	return dfs.Errorf(dfs.ClassStandby, "Operation category %s is not supported in state standby. Visit https://s.apache.org/sbnn-error", category)
}
