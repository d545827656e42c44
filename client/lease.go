package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// leases renews the leases of the files that are open for writing. One goroutine does, while there are any.
type leases struct {
	c *Client

	mu   sync.Mutex
	open map[*Writer]struct{}
	stop context.CancelFunc // of the goroutine; nil: there is none
	done chan struct{}      // closed when it has ended
}

func (l *leases) add(w *Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.renewed = time.Now()
	l.open[w] = struct{}{}
	if l.stop == nil {
		ctx, stop := context.WithCancel(l.c.ctx)
		done := make(chan struct{})
		l.stop, l.done = stop, done
		go func() {
			defer close(done)
			l.renewAll(ctx)
		}()
	}
}

// remove forgets a file. The last one ends the goroutine and waits for it.
func (l *leases) remove(w *Writer) {
	l.mu.Lock()
	delete(l.open, w)
	var done chan struct{}
	if len(l.open) == 0 && l.stop != nil {
		l.stop()
		done = l.done
		l.stop, l.done = nil, nil
	}
	l.mu.Unlock()
	if done != nil {
		<-done
	}
}

// abortAll gives every open file up.
func (l *leases) abortAll(reason error) {
	for _, w := range l.writers() {
		w.abort(reason)
	}
}

func (l *leases) writers() []*Writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*Writer, 0, len(l.open))
	for w := range l.open {
		all = append(all, w)
	}
	return all
}

func (l *leases) renewAll(ctx context.Context) {
	t := time.NewTimer(renewAfter)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			t.Reset(l.tick(ctx))
		case <-ctx.Done():
			return
		}
	}
}

// tick renews what is due and gives the time until the next tick. A file whose lease could not be renewed for so long that
// the namenode must have ended it is aborted.
func (l *leases) tick(ctx context.Context) time.Duration {
	next := renewAfter
	for _, w := range l.writers() {
		l.mu.Lock()
		age := time.Since(w.renewed)
		l.mu.Unlock()
		if age < renewAfter {
			next = min(next, renewAfter-age)
			continue
		}
		err := l.c.nn.call(ctx, "renewLease", &hdfspb.RenewLeaseRequestProto{ClientName: &w.holder}, &hdfspb.RenewLeaseResponseProto{})
		switch {
		case err == nil:
			l.mu.Lock()
			w.renewed = time.Now()
			l.mu.Unlock()
		case ctx.Err() != nil:
			return renewAfter
		case age > leaseHardLimit:
			w.cancel(fmt.Errorf("aborted, since its lease could not be renewed for %v: %w", age.Round(time.Second), err))
		default:
			l.c.log.Warn("client: a lease was not renewed", "path", w.path, "for", age, "err", err)
			next = renewRetry
		}
	}
	return next
}
