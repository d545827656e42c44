package namenode

import (
	"context"
	"errors"
	"time"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/namenode/internal/editlog"
	"github.com/minidfs/go-minidfs/namenode/internal/namespace"
	"google.golang.org/protobuf/proto"
)

// caller is who stands behind a call.
func (n *NameNode) caller(c *rpc.Call) dfs.Caller {
	return dfs.Caller{User: c.User, Groups: n.o.Groups[c.User], Host: c.Remote}
}

// op makes the op of a call.
func (n *NameNode) op(c *rpc.Call, args namespace.Args) *namespace.Op {
	op := &namespace.Op{Time: time.Now().UnixMilli(), Caller: n.caller(c), CallID: -1, Args: args}
	if len(c.ClientID) == len(op.ClientID) && c.CallID >= 0 {
		copy(op.ClientID[:], c.ClientID)
		op.CallID = c.CallID
	}
	return op
}

// internalOp makes an op of the namenode itself.
func internalOp(args namespace.Args) *namespace.Op {
	return &namespace.Op{Time: time.Now().UnixMilli(), CallID: -1, Args: args}
}

// change carries out a call that edits the namespace. what and of begin the message of a refusal in safe mode, for
// example "Cannot delete " and "/a".
func (n *NameNode) change(ctx context.Context, c *rpc.Call, what, of string, args namespace.Args) (*namespace.Result, error) {
	return n.carryOut(ctx, c, what, of, n.op(c, args))
}

func (n *NameNode) carryOut(ctx context.Context, c *rpc.Call, what, of string, op *namespace.Op) (*namespace.Result, error) {
	if n.blocks.InSafeMode() {
		if result, ok := n.ns.Answered(op); ok {
			n.answered(ctx, op)
			return &result, result.Err
		}
		return nil, n.safeModeError(what + of)
	}
	if result, ok := n.ns.Check(op); ok {
		n.answered(ctx, op)
		answer := result // a variable of its own: only this one need be on the heap
		return &answer, answer.Err
	}
	return n.edit(ctx, c, op)
}

// answered notes for the gate when a call has its answer from the retry cache.
func (n *NameNode) answered(ctx context.Context, op *namespace.Op) {
	if s := n.servedOf(ctx); s != nil && !s.settled {
		_, s.settled = n.ns.Answered(op)
	}
}

// edit journals the op of a call, nil for one of the namenode's own, and gives its result. A journal that has failed ends
// the service of this namenode.
func (n *NameNode) edit(ctx context.Context, c *rpc.Call, op *namespace.Op) (*namespace.Result, error) {
	s := n.servedOf(ctx)
	if s != nil && s.as != n.part.Load() {
		return nil, editlog.ErrNotLeader // what led to the edit may no longer hold
	}
	answer, done, err := n.journal.TryAppend(op)
	if !done {
		c.Yield()
		answer, err = n.journal.Append(ctx, op)
	}
	if err != nil {
		n.checkFailed(err)
		return nil, err
	}
	if s != nil {
		s.settled = true
	}
	result := answer.(*namespace.Result)
	return result, result.Err
}

// checkFailed ends the service of this namenode when err is that its journal has failed.
func (n *NameNode) checkFailed(err error) {
	if errors.Is(err, editlog.ErrFailed) && !n.failed.Swap(true) {
		n.log.Error("namenode: the journal has failed; this namenode answers no more calls until it is restarted", "err", err)
		if n.o.Failed != nil {
			n.o.Failed(err)
		}
	}
}

// intercept stands before every call: the cluster's hook, the gate of a namenode that has others beside it, and the end of
// service once the journal has failed. Nobody knows what has become of the edits that waited then, so they are not
// answered either.
func (n *NameNode) intercept(ctx context.Context, c *rpc.Call, next rpc.Next) (answer proto.Message, err error) {
	if n.group != nil {
		next = n.gate(c, next)
	}
	switch {
	case n.failed.Load() && !n.tellsHealth(c):
		return nil, rpc.ErrDrop
	case n.o.Hook != nil:
		answer, err = n.o.Hook(ctx, c, next)
	default:
		answer, err = next(ctx)
	}
	if lostJournal(err) {
		return nil, rpc.ErrDrop
	}
	return answer, err
}
