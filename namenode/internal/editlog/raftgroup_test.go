package editlog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/memnet"
)

// A testGroup is some members on a network in memory. Each keeps its host, port and stores while it is away.
type testGroup struct {
	t       testing.TB
	net     *memnet.Network
	all     []*testNode
	options func(*RaftOptions)
}

type testNode struct {
	g      *testGroup
	id     string
	host   *memnet.Host
	addr   string
	stores *Stores
	first  []Member // of a new group
	m      *machine
	r      *Raft
}

// newGroup starts n members, of which the first leads. change may be nil.
func newGroup(t testing.TB, n int, change func(*RaftOptions)) *testGroup {
	return newGroupOn(t, n, func(string) *Stores { return NewMemoryStores() }, change)
}

func newGroupOn(t testing.TB, n int, stores func(id string) *Stores, change func(*RaftOptions)) *testGroup {
	g := &testGroup{t: t, net: memnet.New(memnet.Options{OwnIPs: true}), options: change}
	t.Cleanup(func() {
		for _, n := range g.all {
			if n.r != nil {
				n.r.Kill()
			}
		}
		_ = g.net.Close()
	})
	for i := range n {
		id := fmt.Sprint("nn", i+1)
		g.add(id, stores(id))
	}
	var members []Member
	for _, n := range g.all {
		members = append(members, Member{ID: n.id, Addr: n.addr, Voter: true})
	}
	for _, n := range g.all {
		n.first = members
		n.start()
	}
	if n > 0 {
		require.NoError(t, g.all[0].r.Elect(t.Context()))
	}
	return g
}

// add makes a node that does not run yet.
func (g *testGroup) add(id string, s *Stores) *testNode {
	n := &testNode{g: g, id: id, host: g.net.Host(id), stores: s}
	l, err := n.host.Listen("tcp", ":0")
	require.NoError(g.t, err)
	n.addr = l.Addr().String()
	require.NoError(g.t, l.Close())
	g.all = append(g.all, n)
	return n
}

func (n *testNode) open() error {
	l, err := n.host.Listen("tcp", n.addr)
	require.NoError(n.g.t, err)
	o := RaftOptions{
		ID: n.id, Addr: n.addr, Listener: l, Dial: n.host.Dial, Stores: n.stores, Members: n.first,
		Identity: testIdentity, CheckpointOps: -1, CheckpointBytes: -1,
	}
	if testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(n.g.t.Output(), nil)).With("member", n.id)
	}
	if n.g.options != nil {
		n.g.options(&o)
	}
	n.m, n.r = newMachine(), nil
	n.r, err = OpenRaft(n.g.t.Context(), n.m, o)
	return err
}

func (n *testNode) start() { require.NoError(n.g.t, n.open()) }

// close ends all members that run, in order, and checks that they agree.
func (g *testGroup) close() {
	g.agree()
	for _, n := range g.all {
		if n.r != nil {
			require.NoError(g.t, n.r.Close(), n.id)
			n.r = nil
		}
	}
}

// leader waits until one of the members that run leads.
func (g *testGroup) leader() *testNode {
	var found *testNode
	g.until("a leader", func() bool {
		for _, n := range g.all {
			if n.r == nil || !n.r.Role().Leads {
				continue
			}
			if found == nil || n.r.Role().Term > found.r.Role().Term { // the other one has not heard yet
				found = n
			}
		}
		return found != nil
	})
	return found
}

// agree waits until all members that run have applied the same.
func (g *testGroup) agree() {
	lead := g.leader()
	require.NoError(g.t, lead.r.Fence(g.t.Context()))
	want := lead.r.Progress().Committed
	for _, n := range g.all {
		if n.r == nil {
			continue
		}
		g.until(n.id+" to catch up", func() bool { return n.r.Progress().Applied >= want })
	}
	g.until("equal states", func() bool {
		for _, n := range g.all {
			if n.r != nil && n.r.Stats().TxID != lead.r.Stats().TxID {
				return false
			}
		}
		return true
	})
	for _, n := range g.all {
		if n.r != nil {
			require.Equal(g.t, lead.digest(), n.digest(), n.id)
		}
	}
}

// digest is read when nothing is being applied.
func (n *testNode) digest() uint64 {
	n.r.Stats() // orders what was applied before what is read now
	return n.m.digest
}

// until waits for a condition. Time is synctest's.
func (g *testGroup) until(what string, done func() bool) {
	g.t.Helper()
	for range 100_000 {
		if done() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	g.t.Fatalf("waited in vain for %s", what)
}

// load appends from several goroutines until ctx ends, each at whoever leads, and keeps what was acknowledged.
type load struct {
	wg sync.WaitGroup

	mu      sync.Mutex
	acked   map[string]uint64 // key -> its highest acknowledged value
	unknown int
	refused int
}

func (l *load) run(ctx context.Context, g *testGroup, goroutines int, to func() *Raft) {
	l.acked = map[string]uint64{}
	for i := range goroutines {
		l.wg.Go(func() {
			key := fmt.Sprint("own-", i)
			for ctx.Err() == nil {
				got, err := to().Append(g.t.Context(), addOp{key, 1})
				l.mu.Lock()
				switch {
				case err == nil:
					if last := l.acked[key]; got.(uint64) <= last {
						g.t.Errorf("%s went from %d to %d", key, last, got)
					}
					l.acked[key] = got.(uint64)
				default:
					l.note(g.t, err)
				}
				l.mu.Unlock()
				time.Sleep(time.Duration(1+i%7) * 100 * time.Microsecond) // time stands still while everybody works
			}
		})
	}
}

// inBubble is a test in its own time; goroutines that it leaves behind fail it.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
