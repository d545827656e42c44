package client

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// hedge looks after a call that its namenode has left without an answer for a while: it repeats the call, under the same
// id, at every other namenode that says it is active.
type hedge struct {
	call  *call
	first int                      // the namenode that has the call
	kind  protoreflect.MessageType // of the answer; it cannot be asked of the call's, which may be written to
	over  chan struct{}            // closed when that namenode has failed

	done   chan struct{} // closed when run is over; then answer holds
	answer *outcome      // nil: no namenode gave one
}

// outcome is how the call ended at one namenode.
type outcome struct {
	at   int
	resp proto.Message // of its own: others may write into theirs still
	err  error
}

// run ends when a namenode has answered, which it reports, when ctx ends, or when the first namenode has failed and no other
// one has the call.
func (h *hedge) run(ctx context.Context) bool {
	n := h.call.n
	active := make(chan int, len(n.conns))
	for _, p := range n.probes {
		p.join(active)
		defer p.leave(active)
	}
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan *outcome)
	flying := make(map[int]bool)
	defer func() {
		cancel()
		for range flying {
			<-results
		}
	}()
	over := h.over
	for over != nil || len(flying) > 0 {
		select {
		case at := <-active:
			if flying[at] || at == h.first && over != nil {
				continue
			}
			n.log.Info("client: a silent namenode is no longer active", "silent", n.opt.Addrs[h.first], "active", n.opt.Addrs[at], "method", h.call.method)
			flying[at] = true
			go func() { results <- h.repeat(ctx, at) }()
		case o := <-results:
			delete(flying, o.at)
			if judge(ctx, o.err) == answer {
				h.answer = o
				return true
			}
			h.call.failed(o.at, o.err)
		case <-over:
			over = nil
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// repeat makes the call at another namenode.
func (h *hedge) repeat(ctx context.Context, at int) *outcome {
	c := h.call
	o := &outcome{at: at, resp: h.kind.New().Interface()}
	o.err = c.n.conns[at].CallAs(ctx, c.nextID(), c.method, c.req, o.resp)
	return o
}
