package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

const (
	probeTimeout = 2 * time.Second // how long a namenode may take to tell its state; then its connection is cut

	// the waits between two questions: they grow by a quarter, and shrink to probeFresh when another call wants to know
	probeFirst = 2 * time.Millisecond
	probeFresh = 10 * time.Millisecond
	probeMax   = 250 * time.Millisecond
)

// probe asks one namenode whether it is active, while there are calls that look for the one that is. However many do, one
// goroutine asks; and however silent a namenode is, those of the others go on.
type probe struct {
	n  *namenodes
	at int

	mu     sync.Mutex
	wanted map[chan<- int]struct{} // get at, whenever the namenode says it is active
	fresh  chan struct{}           // to the goroutine: there is one more
	stop   context.CancelFunc      // of the goroutine; nil: there is none
	done   chan struct{}           // closed when it has ended
	said   *NodeError              // the last answer other than yes
}

// join makes the probe send the namenode's index to c, which must have room for one of each namenode, until leave.
func (p *probe) join(c chan<- int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted[c] = struct{}{}
	if p.stop != nil {
		select {
		case p.fresh <- struct{}{}:
		default:
		}
		return
	}
	ctx, stop := context.WithCancel(p.n.life)
	fresh, done := make(chan struct{}, 1), make(chan struct{})
	p.stop, p.fresh, p.done = stop, fresh, done
	go func() {
		defer close(done)
		p.run(ctx, fresh)
	}()
}

// leave ends what join began. The last one waits for the goroutine.
func (p *probe) leave(c chan<- int) {
	p.mu.Lock()
	delete(p.wanted, c)
	var done chan struct{}
	if len(p.wanted) == 0 && p.stop != nil {
		p.stop()
		done = p.done
		p.stop = nil
	}
	p.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (p *probe) run(ctx context.Context, fresh <-chan struct{}) {
	wait := probeFirst
	for ctx.Err() == nil {
		asked := time.Now()
		err := p.ask(ctx)
		if err == nil {
			p.tell()
		} else if ctx.Err() == nil {
			if errors.Is(err, context.DeadlineExceeded) {
				p.n.conns[p.at].Cut(asked)
			}
			p.note(err)
		}
		t := time.NewTimer(wait)
	pause:
		for {
			select {
			case <-t.C:
				break pause
			case <-fresh:
				wait = min(wait, probeFresh)
				t.Reset(wait - time.Since(asked))
			case <-ctx.Done():
				break pause
			}
		}
		t.Stop()
		wait = min(wait+wait/4, probeMax)
	}
}

// ask gives nil if the namenode says that it is active.
func (p *probe) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var resp hdfspb.HAServiceStateResponseProto
	err := p.n.conns[p.at].CallAs(ctx, rpc.CallID{ID: p.n.nextID()}, "getHAServiceState", &hdfspb.HAServiceStateRequestProto{}, &resp)
	if err == nil && resp.GetState() != hdfspb.HAServiceStateProto_ACTIVE {
		err = fmt.Errorf("is %s", resp.GetState())
	}
	return err
}

func (p *probe) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = p.n.nodeError(p.at, probeTimeout, err)
}

// last gives what the namenode said when it was asked last, nil if it was not, or was active.
func (p *probe) last() *NodeError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said
}

// tell never waits: who has not taken the last word yet needs no other.
func (p *probe) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = nil
	for c := range p.wanted {
		select {
		case c <- p.at:
		default:
		}
	}
}
