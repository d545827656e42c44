package client

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

const (
	clientProtocol   = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
	datanodeProtocol = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"

	classObserverRetry = dfs.Class("org.apache.hadoop.ipc.ObserverRetryOnActiveException")
)

// namenodes makes calls to whichever namenode is active.
type namenodes struct {
	opt    Options
	log    *slog.Logger
	conns  []*rpc.Client
	probes []*probe        // one for each of conns
	life   context.Context // ends when the client is closed

	id       atomic.Int32
	position atomic.Pointer[position]
}

// position is the namenode that answered last.
type position struct {
	at   int
	left chan struct{} // closed when another one has
}

func newNamenodes(o Options, clientID [16]byte, life context.Context) *namenodes {
	n := &namenodes{opt: o, log: o.Logger, life: life}
	n.position.Store(&position{left: make(chan struct{})})
	for i, addr := range o.Addrs {
		n.conns = append(n.conns, rpc.NewClient(addr, rpc.ClientOptions{
			Dial:           o.Dial,
			User:           o.User,
			Protocol:       clientProtocol,
			Version:        1,
			ClientID:       clientID,
			ConnectTimeout: o.ConnectTimeout,
			Logger:         o.Logger,
		}))
		n.probes = append(n.probes, &probe{n: n, at: i, wanted: map[chan<- int]struct{}{}})
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

// move notes which namenode has answered, and tells the calls that look for one. Where others have found another one since
// p was, that stands: the answer may have been on its way for long.
func (n *namenodes) move(p *position, at int) {
	if p.at != at && n.position.CompareAndSwap(p, &position{at, make(chan struct{})}) {
		n.log.Info("client: another namenode is active", "addr", n.opt.Addrs[at])
		close(p.left)
	}
}

// call makes a call and follows the active namenode until one answers, the time is up, or ctx ends.
func (n *namenodes) call(ctx context.Context, method string, req, resp proto.Message) error {
	c := call{n: n, id: n.nextID(), method: method, req: req, resp: resp}
	return c.do(ctx)
}

// verdict says what an attempt's outcome asks for.
type verdict int

const (
	answer    verdict = iota // the call is over, well or not
	again                    // the same namenode again, later
	elsewhere                // the next namenode
	fatal                    // no namenode will do better
)

func judge(ctx context.Context, err error) verdict {
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
