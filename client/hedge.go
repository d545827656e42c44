package client

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

const (
	hedgeEvery   = time.Second // the longest wait between two rounds of asking
	hedgeTimeout = time.Second // how long a namenode may take to tell its state
)

// hedge looks after a call that its namenode has left without an answer for a while: it asks the other namenodes
// whether one is active and repeats the call there, under the same id.
type hedge struct {
	n      *namenodes
	silent int // the namenode that has the call
	id     rpc.CallID
	method string
	req    proto.Message
	resp   proto.Message // of its own: the first attempt may still write into the caller's

	done chan struct{} // closed when run is over; then the fields below hold
	at   int
	err  error
	ok   bool // a namenode answered
}

// run asks until one namenode has answered the call or ctx ends, and reports which of the two.
func (h *hedge) run(ctx context.Context) bool {
	wait := h.n.opt.HedgeAfter
	for ctx.Err() == nil {
		if at, found := h.find(ctx); found {
			h.n.log.Info("client: a silent namenode is no longer active", "silent", h.n.opt.Addrs[h.silent], "active", h.n.opt.Addrs[at], "method", h.method)
			err := h.n.conns[at].CallAs(ctx, rpc.CallID{ID: h.id.ID, Retry: h.id.Retry + 1}, h.method, h.req, h.resp)
			if h.n.judge(ctx, err) == answer {
				h.at, h.err, h.ok = at, err, true
				return true
			}
			proto.Reset(h.resp)
		}
		wait = min(2*wait, hedgeEvery)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
	return false
}

// find asks the other namenodes, all at once, and gives the first that says it is active.
func (h *hedge) find(ctx context.Context) (int, bool) {
	ctx, cancel := context.WithTimeout(ctx, hedgeTimeout)
	defer cancel()
	states := make(chan int, len(h.n.conns))
	for i, c := range h.n.conns {
		if i == h.silent {
			continue
		}
		go func() {
			var resp hdfspb.HAServiceStateResponseProto
			err := c.CallAs(ctx, rpc.CallID{ID: h.n.nextID()}, "getHAServiceState", &hdfspb.HAServiceStateRequestProto{}, &resp)
			if err != nil || resp.GetState() != hdfspb.HAServiceStateProto_ACTIVE {
				i = -1
			}
			states <- i
		}()
	}
	found := -1
	for range len(h.n.conns) - 1 {
		if i := <-states; i >= 0 && found < 0 {
			found = i
			cancel()
		}
	}
	return found, found >= 0
}

// wins reports whether the hedge's answer is the one to take, once the first attempt has ended with err. It ends run and
// waits for it. A call that it cuts off is no loss: it goes out again, under the same id.
func (h *hedge) wins(ctx context.Context, cancel context.CancelFunc, err error) bool {
	lost := h.n.judge(ctx, err) == answer
	cancel()
	<-h.done
	return h.ok && !lost
}
