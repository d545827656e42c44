package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// Answered gives the answer to a call that was carried out before, as the retry cache has it. Check looks there too;
// this is for calls that are refused for other reasons unless they were answered already.
func (n *Namespace) Answered(op *Op) (Result, bool) {
	if !op.remembered() {
		return Result{}, false
	}
	n.lock.share()
	defer n.lock.unshare()
	n.lock.readIndex()
	defer n.lock.unreadIndex()
	e := n.retry.index[callKey{op.ClientID, op.CallID}]
	if e == nil || op.Time-e.time >= n.params.Load().RetryTTL {
		return Result{}, false
	}
	return e.res, true
}

// Superuser reports whether no permission check applies to c.
func (n *Namespace) Superuser(c dfs.Caller) bool { return n.params.Load().superuser(&c) }
