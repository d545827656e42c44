package minidfs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/memnet"
)

// node is what namenodes and datanodes have in common: a name, a place on the network, disks, and lives that verbs begin
// and end. One verb at a time begins or ends a life; Kill and PowerLoss do not wait for one that hangs, they break it off.
type node struct {
	id    string
	c     *core
	ip    string // of its ports; "" in memory
	host  *memnet.Host
	disks []*faultfs.FS // one a volume, made with the node: they outlive its servers
	dirs  []string
	ports []*port       // kept across lives
	turn  chan struct{} // holds a token while no verb is under way

	missing error // what every verb answers where the cluster has no such node

	mu     sync.Mutex
	life   server // nil while the node does not run
	lives  uint64
	ending int              // verbs that are about to cut the node off: nothing may start
	paused []*faultfs.Fault // nil unless paused
	harmed []string         // verbs that did more to the node than stop it in good order
}

// server is one life of a node.
type server interface {
	Close() error
	Kill()
}

// newNode makes the disks of a node and takes its ports, of which the first is to be want unless that is 0.
func newNode(c *core, id, ip string, volumes []string, ports, want int) (*node, error) {
	n := &node{id: id, c: c, ip: ip, turn: make(chan struct{}, 1)}
	n.turn <- struct{}{}
	n.host = c.host(id, ip, n.listenOn)
	for _, volume := range volumes {
		disk, dir, err := c.dirs.disk(volume)
		if err != nil {
			return n, fmt.Errorf("minidfs: %s: %w", id, err)
		}
		n.disks, n.dirs = append(n.disks, disk), append(n.dirs, dir)
	}
	for range ports {
		p := &port{}
		if !c.conf.memory {
			var err error
			if p, err = takePort(ip, want); err != nil {
				return n, fmt.Errorf("minidfs: %s: %w", id, err)
			}
		}
		n.ports = append(n.ports, p)
		want = 0
	}
	return n, nil
}

// ID is the node's stable name.
func (n *node) ID() string { return n.id }

// Addr is the host:port where the node serves clients, the same in every life.
func (n *node) Addr() string {
	if n.missing != nil {
		return ""
	}
	return n.addr(0)
}

func (n *node) addr(i int) string {
	ip := n.ip
	if ip == "" {
		ip = n.host.IP()
	}
	return net.JoinHostPort(ip, strconv.Itoa(int(n.ports[i].number.Load())))
}

// listen opens the node's i-th port.
func (n *node) listen(i int) (net.Listener, error) {
	l, err := n.host.Listen("tcp", n.addr(i))
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		n.ports[i].number.Store(int32(a.Port))
	}
	return l, nil
}

// listenOn is what the node's host listens with where the network is the machine's.
func (n *node) listenOn(_, addr string) (net.Listener, error) {
	for i, p := range n.ports {
		if n.addr(i) == addr {
			return p.listen(n.ip)
		}
	}
	return nil, fmt.Errorf("%s is no port of %s", addr, n.id)
}

// begin starts a life.
func (n *node) begin(ctx context.Context, start func(ctx context.Context) (server, error)) error {
	if n.missing != nil {
		return n.missing
	}
	select {
	case <-n.turn:
	case <-ctx.Done():
		return fmt.Errorf("minidfs: %s has not started: another verb is at work on it: %w", n.id, context.Cause(ctx))
	}
	defer func() { n.turn <- struct{}{} }()
	if n.c.isClosed() {
		return fmt.Errorf("minidfs: %s cannot start: %w", n.id, ErrClosed)
	}
	if err := n.connect(); err != nil {
		return err
	}
	var life server
	var err error
	labelled(ctx, n.c.id, func() { life, err = start(ctx) })
	if err != nil {
		return fmt.Errorf("minidfs: %s cannot start: %w", n.id, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.life = life
	n.lives++
	return nil
}

// connect gives the node its network and its disks back.
func (n *node) connect() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.life != nil:
		return fmt.Errorf("minidfs: %s runs already", n.id)
	case n.ending > 0:
		return fmt.Errorf("minidfs: %s is being killed", n.id)
	}
	n.c.net.Up(n.id)
	for _, d := range n.disks {
		d.Thaw()
	}
	return nil
}

// Stop ends the node in good order: what it has acknowledged is on its disks.
func (n *node) Stop() error {
	if n.missing != nil {
		return n.missing
	}
	n.resume()
	<-n.turn
	defer func() { n.turn <- struct{}{} }()
	if life := n.take(); life != nil {
		if err := life.Close(); err != nil {
			return fmt.Errorf("minidfs: stopping %s: %w", n.id, err)
		}
	}
	return nil
}

// stopWithin is Stop, and a kill when that takes too long: disks that hang, or a start under way, then no longer hold it.
func (n *node) stopWithin(patience time.Duration) error {
	stopped := make(chan error, 1)
	labelled(context.Background(), n.c.id, func() { go func() { stopped <- n.Stop() }() })
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-stopped:
		return err
	case <-timer.C:
	}
	n.kill("Kill", func() {})
	err := <-stopped
	n.c.log.Warn("minidfs: a node did not stop in good order and was killed", "node", n.id, "after", patience, "err", err)
	return nil
}

// Kill ends the node as SIGKILL does: connections break, what was written to its disks stays, and once Kill has returned
// nothing more is written or sent. A start that is under way is broken off.
func (n *node) Kill() error {
	if n.missing != nil {
		return n.missing
	}
	n.kill("Kill", func() {})
	return nil
}

// PowerLoss is Kill, and what was not synced to the disks is lost or torn; a node that is down already loses as much. The
// report has a line for each file that lost something.
func (n *node) PowerLoss() (report []string, err error) {
	if n.missing != nil {
		return nil, n.missing
	}
	if !n.c.dirs.canLosePower() {
		return nil, fmt.Errorf("minidfs: power loss of %s: a cluster on real folders needs the option PowerCuts", n.id)
	}
	n.kill("PowerLoss", func() {
		for i, d := range n.disks {
			report = append(report, d.PowerLoss(n.c.random(n.id, n.lives, uint64(i)))...)
		}
	})
	return report, nil
}

// kill cuts the node off, ends its life, and does what is to be done before the next one can begin.
func (n *node) kill(verb string, then func()) {
	n.mu.Lock()
	n.ending++
	n.mu.Unlock()
	n.cutOff(verb)
	<-n.turn
	defer func() { n.turn <- struct{}{} }()
	if life := n.take(); life != nil {
		life.Kill()
	}
	n.resume()
	then()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ending--
}

// cutOff breaks the node's connections, so that nobody is told of what happens next, and then cuts its disks off. It
// stays so until the next life begins.
func (n *node) cutOff(verb string) {
	n.mu.Lock()
	n.harmLocked(verb)
	n.mu.Unlock()
	n.c.net.Down(n.id)
	for _, d := range n.disks {
		d.Freeze()
	}
}

// harmLocked puts on record what was done to the node: Check excuses its consequences.
func (n *node) harmLocked(verb string) {
	if !slices.Contains(n.harmed, verb) {
		n.harmed = append(n.harmed, verb)
	}
}

// Pause stops the node as SIGSTOP does: nothing enters or leaves it, its disks stand still, no connection breaks. Resume
// ends it, and so does every verb that ends the node.
func (n *node) Pause() error {
	if n.missing != nil {
		return n.missing
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.life == nil {
		return fmt.Errorf("minidfs: %s cannot pause: it does not run", n.id)
	}
	if n.paused != nil {
		return nil
	}
	n.harmLocked("Pause")
	n.holdLocked(true)
	n.c.net.Pause(n.id)
	n.paused = []*faultfs.Fault{}
	for _, d := range n.disks {
		n.paused = append(n.paused, d.Inject(faultfs.Rule{Hang: true}))
	}
	return nil
}

// Resume ends a Pause; without one it does nothing.
func (n *node) Resume() error {
	n.resume()
	return n.missing
}

func (n *node) resume() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.paused == nil {
		return
	}
	for _, f := range n.paused {
		f.Remove()
	}
	n.paused = nil
	n.c.net.Resume(n.id)
	n.holdLocked(false)
}

// holdLocked stops what a server does by itself, where it can be told to, or lets it go on.
func (n *node) holdLocked(hold bool) {
	if s, ok := n.life.(interface{ HoldMonitor(bool) }); ok {
		s.HoldMonitor(hold)
	}
}

// take gives the life up: the caller ends it.
func (n *node) take() server {
	n.mu.Lock()
	defer n.mu.Unlock()
	life := n.life
	n.life = nil
	return life
}

// current is the present life; nil while the node does not run, or is paused.
func (n *node) current() server {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.paused != nil {
		return nil
	}
	return n.life
}

// Running reports whether the node is up. A paused node is.
func (n *node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life != nil
}

// restarted reports whether this is not the node's first life.
func (n *node) restarted() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lives > 1
}

// damage says what was done to the node in all its lives.
func (n *node) damage() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.harmed)
}

// close lets go of disks and ports; nothing starts afterwards.
func (n *node) close() error {
	var errs []error
	for _, d := range n.disks {
		errs = append(errs, d.Close())
	}
	for _, p := range n.ports {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

// random is a source for the choices about one node in one of its lives.
func (c *core) random(id string, life, what uint64) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(id) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(c.conf.seed+what, h+life))
}
