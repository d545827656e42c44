package minidfs

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minidfs/go-minidfs/datanode"
	"github.com/minidfs/go-minidfs/namenode"
)

// Fault says what happens to some of the calls to namenodes and datanodes, or to some of the operations, packets and acks
// of datanodes. Each first waits (Delay, then Hold); then it fails, is dropped, or goes on. A Fault that does none of it
// counts.
type Fault struct {
	Node   string // the node that is called: "nn1", "dn2"; "": any
	Method string // a call of one of HDFS's protocols: "addBlock", "blockReceivedAndDeleted", "sendHeartbeat"
	User   string // whose calls; "": anybody's

	// Data, instead of Method, takes something a datanode is about to do. Match narrows it down; it may change the
	// event's Data and Status, must be quick, and may be called concurrently.
	Data  datanode.EventKind
	Match func(e *datanode.Event) bool

	After int // lets that many pass unharmed
	Times int // then applies to that many; 0: all

	Answer bool          // of a call: it is carried out first, and what follows happens to its answer
	Delay  time.Duration // waits
	Hold   bool          // waits until Injection.Release or Remove
	Err    error         // a call or an operation answers this error, a *client.RemoteError by its class; a packet or ack breaks its connection
	Drop   bool          // a call's connection is cut without an answer; an operation ends without one; a packet or ack vanishes
}

// Injection is a Fault in force.
type Injection struct {
	fault  Fault
	faults *faults

	mu       sync.Mutex
	matched  int
	hits     int
	changed  chan struct{} // closed at the next hit; nil while nobody waits
	released chan struct{}
	once     sync.Once
}

// Inject puts a fault in force until Remove or Close of the cluster. Several that fit do what they say one after the
// other.
func (c *Cluster) Inject(f Fault) *Injection {
	if err := c.own("Inject"); err != nil {
		c.fail("%v", err)
	}
	if (f.Method == "") == (f.Data == 0) {
		c.fail("minidfs: Inject: a Fault names either a Method or a kind of Data")
	}
	if f.Method != "" {
		c.oneOf("Fault.Method", f.Method, append(namenode.Methods(), datanode.Methods()...))
	}
	if f.Node != "" {
		c.oneOf("Fault.Node", f.Node, c.nodeNames())
	}
	i := &Injection{fault: f, faults: &c.faults, released: make(chan struct{})}
	c.faults.add(i)
	return i
}

// oneOf ends the test when a name is none of those that mean something: the fault would never apply, and the test would
// prove nothing.
func (c *Cluster) oneOf(what, name string, names []string) {
	if slices.Contains(names, name) {
		return
	}
	nearest := slices.MinFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
	c.fail("minidfs: Inject: %s: there is no %q; the nearest is %q", what, name, nearest)
}

// Count is how many calls or events the fault applied to, those that wait included.
func (i *Injection) Count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hits
}

// Wait returns once the fault has applied n times.
func (i *Injection) Wait(ctx context.Context, n int) error {
	for {
		i.mu.Lock()
		if i.hits >= n {
			i.mu.Unlock()
			return nil
		}
		if i.changed == nil {
			i.changed = make(chan struct{})
		}
		changed := i.changed
		i.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Release lets go on what the fault holds, and what comes later.
func (i *Injection) Release() { i.once.Do(func() { close(i.released) }) }

// Remove ends the fault and releases what it holds.
func (i *Injection) Remove() {
	i.faults.remove(i)
	i.Release()
}

// hit counts something that fits, and reports whether the fault applies to it.
func (i *Injection) hit() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.matched++
	if n := i.matched - i.fault.After; n <= 0 || i.fault.Times > 0 && n > i.fault.Times {
		return false
	}
	i.hits++
	if i.changed != nil {
		close(i.changed)
		i.changed = nil
	}
	return true
}

// do waits, and gives what the fault has instead of going on: drop, an error, or nil for nothing.
func (i *Injection) do(ctx context.Context, drop error) error {
	if d := i.fault.Delay; d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if i.fault.Hold {
		select {
		case <-i.released:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if i.fault.Drop {
		return drop
	}
	return i.fault.Err
}

// faults are a cluster's injections.
type faults struct {
	list atomic.Pointer[[]*Injection] // replaced as a whole; nil: none
	mu   sync.Mutex                   // of those who replace it
}

func (f *faults) add(i *Injection) {
	f.change(func(all []*Injection) []*Injection { return append(all, i) })
}

func (f *faults) remove(i *Injection) {
	f.change(func(all []*Injection) []*Injection {
		return slices.DeleteFunc(all, func(other *Injection) bool { return other == i })
	})
}

func (f *faults) change(by func([]*Injection) []*Injection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := by(slices.Clone(f.all()))
	f.list.Store(&all)
}

func (f *faults) all() []*Injection {
	if list := f.list.Load(); list != nil {
		return *list
	}
	return nil
}

// clear ends every fault and releases what they hold.
func (f *faults) clear() {
	for _, i := range f.all() {
		i.Remove()
	}
}

// call is the hook that a node's RPC server asks.
func (f *faults) call(node string) namenode.Hook {
	return func(ctx context.Context, c *namenode.Call, next namenode.Next) (namenode.Answer, error) {
		var late []*Injection
		for _, i := range f.all() {
			if i.fault.Method != c.Method || !i.fault.on(node, c.User) || !i.hit() {
				continue
			}
			c.Yield() // the fault may wait
			if i.fault.Answer {
				late = append(late, i)
			} else if err := i.do(ctx, namenode.ErrDrop); err != nil {
				return nil, err
			}
		}
		answer, err := next(ctx)
		for _, i := range late {
			if err := i.do(ctx, namenode.ErrDrop); err != nil {
				return nil, err
			}
		}
		return answer, err
	}
}

// data is the hook that a datanode's data server asks.
func (f *faults) data(node string) datanode.TransferHook {
	return func(ctx context.Context, e *datanode.Event) error {
		for _, i := range f.all() {
			fits := i.fault.Data == e.Kind && (i.fault.Node == "" || i.fault.Node == node) && (i.fault.Match == nil || i.fault.Match(e))
			if !fits || !i.hit() {
				continue
			}
			if err := i.do(ctx, datanode.ErrDrop); err != nil {
				return err
			}
		}
		return nil
	}
}

// watched reports whether there is a fault for events of that kind.
func (f *faults) watched(kind datanode.EventKind) bool {
	return slices.ContainsFunc(f.all(), func(i *Injection) bool { return i.fault.Data == kind })
}

// on reports whether a node and the user who calls it are meant.
func (f *Fault) on(node, user string) bool {
	return (f.Node == "" || f.Node == node) && (f.User == "" || f.User == user)
}
