package editlog

import (
	"sync"

	"github.com/hashicorp/raft"
)

// A groupTransport is raft's own over a raftNet. It closes the pipelines of a leadership that is over: raft leaves one of
// them, now and then, with a sender that waits for a reader who has gone, and would wait for the sender at its end.
type groupTransport struct {
	*raft.NetworkTransport

	mu        sync.Mutex
	pipelines map[*groupPipeline]struct{}
	closed    bool
}

var _ raft.WithPreVote = (*groupTransport)(nil)

type groupPipeline struct {
	raft.AppendPipeline
	t *groupTransport
}

func (t *groupTransport) AppendEntriesPipeline(id raft.ServerID, to raft.ServerAddress) (raft.AppendPipeline, error) {
	inner, err := t.NetworkTransport.AppendEntriesPipeline(id, to)
	if err != nil {
		return nil, err
	}
	p := &groupPipeline{inner, t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = inner.Close()
		return nil, raft.ErrTransportShutdown
	}
	t.pipelines[p] = struct{}{}
	return p, nil
}

func (p *groupPipeline) Close() error {
	p.t.mu.Lock()
	delete(p.t.pipelines, p)
	p.t.mu.Unlock()
	return p.AppendPipeline.Close()
}

// closePipelines closes all that there are; for ever: and all that come.
func (t *groupTransport) closePipelines(forEver bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = t.closed || forEver
	for p := range t.pipelines {
		_ = p.AppendPipeline.Close()
		delete(t.pipelines, p)
	}
}
