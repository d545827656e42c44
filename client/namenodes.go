package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

const (
	clientProtocol   = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
	datanodeProtocol = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"

	// the waits between rounds over the namenodes
	backoffBase = 25 * time.Millisecond
	backoffMax  = time.Second

	classObserverRetry = dfs.Class("org.apache.hadoop.ipc.ObserverRetryOnActiveException")
)

// namenodes makes calls to whichever namenode is active. A call keeps its id through every attempt, so that a namenode
// that has carried it out answers from its retry cache instead of doing it again.
type namenodes struct {
	opt   Options
	log   *slog.Logger
	conns []*rpc.Client
	life  context.Context // ends when the client is closed

	id     atomic.Int32
	active atomic.Int32 // index of the namenode that answered last
}

func newNamenodes(o Options, clientID [16]byte, life context.Context) *namenodes {
	n := &namenodes{opt: o, log: o.Logger, life: life}
	for _, addr := range o.Addrs {
		n.conns = append(n.conns, rpc.NewClient(addr, rpc.ClientOptions{
			Dial:           o.Dial,
			User:           o.User,
			Protocol:       clientProtocol,
			Version:        1,
			ClientID:       clientID,
			ConnectTimeout: o.ConnectTimeout,
			Logger:         o.Logger,
		}))
	}
	return n
}

func (n *namenodes) close() error {
	var errs []error
	for _, c := range n.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// nextID gives a call id: they run from 0 and start again at 0.
func (n *namenodes) nextID() int32 { return (n.id.Add(1) - 1) & (1<<31 - 1) }

// call makes a call and follows the active namenode until one answers, the time is up, or ctx ends.
func (n *namenodes) call(ctx context.Context, method string, req, resp proto.Message) error {
	id := rpc.CallID{ID: n.nextID()}
	start := time.Now()
	at := int(n.active.Load())
	for tries := 1; ; tries++ {
		answered, err := n.attempt(ctx, at, id, method, req, resp)
		what := n.judge(ctx, err)
		if what == answer {
			if answered != int(n.active.Swap(int32(answered))) {
				n.log.Info("client: another namenode is active", "addr", n.opt.Addrs[answered])
			}
			return plain(err)
		}
		switch {
		case n.life.Err() != nil:
			return context.Cause(n.life)
		case ctx.Err() != nil:
			return cause(ctx)
		case what == fatal:
			return err
		case time.Since(start) >= n.opt.RetryTimeout && tries > 1:
			return fmt.Errorf("%s: no namenode answered in %v and %d attempts: %w", method, time.Since(start).Round(time.Second), tries, err)
		}
		n.log.Debug("client: call is tried again", "method", method, "addr", n.opt.Addrs[at], "tries", tries, "err", err)
		if what == elsewhere {
			at = (at + 1) % len(n.conns)
		}
		if err := n.wait(ctx, tries, what); err != nil {
			return err
		}
		id.Retry++
	}
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

// verdict says what an attempt's outcome asks for.
type verdict int

const (
	answer    verdict = iota // the call is over, well or not
	again                    // the same namenode again, later
	elsewhere                // the next namenode
	fatal                    // no namenode will do better
)

func (n *namenodes) judge(ctx context.Context, err error) verdict {
	var remote *dfs.RemoteError
	var conn *rpc.ConnError
	switch {
	case err == nil:
		return answer
	case errors.As(err, &remote):
		switch remote.Class {
		case dfs.ClassStandby, classObserverRetry:
			return elsewhere
		case dfs.ClassRetriable:
			return again
		}
		return answer
	case errors.As(err, &conn), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return elsewhere
	}
	return fatal
}

// wait sleeps before the next attempt: not at all while there are namenodes that have not been asked.
func (n *namenodes) wait(ctx context.Context, tries int, what verdict) error {
	round := tries
	if what == elsewhere {
		round = tries - len(n.conns) + 1
	}
	if round <= 0 {
		return nil
	}
	d := min(backoffBase<<min(round-1, 16), backoffMax)
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return cause(ctx)
	case <-n.life.Done():
		return context.Cause(n.life)
	}
}

// attempt makes the call once, at one namenode, or at the one that a hedge found active meanwhile; it says which.
func (n *namenodes) attempt(ctx context.Context, at int, id rpc.CallID, method string, req, resp proto.Message) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, n.opt.CallTimeout)
	defer cancel()
	if len(n.conns) == 1 || n.opt.HedgeAfter < 0 {
		return at, n.conns[at].CallAs(ctx, id, method, req, resp)
	}
	h := &hedge{n: n, silent: at, id: id, method: method, req: req, resp: resp.ProtoReflect().New().Interface(), done: make(chan struct{})}
	first, giveUp := context.WithCancel(ctx)
	defer giveUp()
	timer := time.AfterFunc(n.opt.HedgeAfter, func() {
		defer close(h.done)
		if h.run(ctx) {
			giveUp()
		}
	})
	err := n.conns[at].CallAs(first, id, method, req, resp)
	if timer.Stop() {
		return at, err
	}
	if h.wins(ctx, cancel, err) {
		proto.Reset(resp)
		proto.Merge(resp, h.resp)
		return h.at, h.err
	}
	return at, err
}
