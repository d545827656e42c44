package namespace

import (
	"runtime"
	"sync"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Apply carries a batch of ops out, in order, and answers each. It is the only thing that changes the state.
func (n *Namespace) Apply(batch []*Op) []Result {
	n.applying.Lock()
	defer n.applying.Unlock()
	results := make([]Result, len(batch))
	p := &n.planner
	p.session, p.seen, p.c = session{n: n}, &n.wave.seen, n.counters
	if !n.waves {
		n.lock.exclude()
		defer n.lock.include()
	}
	for i, op := range batch {
		n.nextWave(p)
		before := p.c
		p.plan(op)
		if len(n.wave.steps) > 0 && (p.again || p.change && p.step.exclusive()) {
			n.flush()
			n.nextWave(p)
			p.c = before
			p.plan(op)
		}
		results[i] = p.res
		n.carryOut(p, &results[i])
	}
	n.flush()
	if p.c != n.counters { // refused ops move the time too
		n.lock.writeIndex()
		n.setCounters(p.c)
		n.lock.unwriteIndex()
	}
	return results
}

// carryOut executes the step of a plan, or puts it into the wave.
func (n *Namespace) carryOut(p *planner, res *Result) {
	s := &p.step
	switch {
	case !p.change:
	case !n.waves:
		n.thawStep(s)
		n.execute(s)
		n.publish(s)
		n.remember(p.op, res, p.now)
		n.setCounters(s.after)
	case s.exclusive() || n.stale(s):
		n.flush()
		n.lock.exclude()
		n.thawStep(s)
		n.execute(s)
		n.publish(s)
		n.remember(p.op, res, p.now)
		n.setCounters(s.after)
		n.lock.include()
	default:
		n.wave.add(p, res)
	}
}

// execute changes the tree. The caller holds the locks that the step needs.
func (n *Namespace) execute(s *step) {
	switch s.kind {
	case stepLink:
		s.dir.dir.set(s.node)
		s.dir.dir.mtime = s.time
	case stepUnlink:
		s.dir.dir.remove(s.node.name)
		s.dir.dir.mtime = s.time
	case stepContent:
		s.node.content.Store(s.next)
	case stepWide:
		s.wide()
	}
}

// publish brings the indexes up to a step that was executed, and tells the observer. The caller holds the indexes.
func (n *Namespace) publish(s *step) {
	switch s.kind {
	case stepLink:
		if s.old != nil {
			n.forgetFile(s.old)
		}
		n.enter(s.node)
	case stepUnlink:
		n.forgetFile(s.node)
	case stepContent:
		n.changed(s.node, s.prev, s.next)
	}
}

// enter puts a new inode, and what hangs below it, into the indexes.
func (n *Namespace) enter(in *inode) {
	n.inodes.set(in.id, in)
	n.counts.INodes++
	if in.isDir() {
		n.counts.Directories++
		in.dir.each(func(c *inode) bool { n.enter(c); return true })
		return
	}
	n.counts.Files++
	n.changed(in, &file{}, in.file())
}

// changed brings the indexes from one content of a file to the next.
func (n *Namespace) changed(in *inode, prev, next *file) {
	if prev.writer != next.writer {
		if prev.open() {
			n.endLease(prev.writer.holder, in.id)
		}
		if next.open() {
			n.startLease(next.writer.holder, in.id)
		} else if prev.open() {
			n.settle(next, n.versions(in))
		}
	}
	from := 0
	if prev.replication == next.replication {
		from = max(0, min(prev.count(), next.count())-2)
	}
	for i := from; i < max(prev.count(), next.count()); i++ {
		switch {
		case i >= next.count():
			n.lose(in, prev, i)
		case i >= prev.count():
			n.gain(in.id, next, i)
		case prev.block(i).ID != next.block(i).ID:
			n.lose(in, prev, i)
			n.gain(in.id, next, i)
		default:
			if b := next.info(in.id, i); b != prev.info(in.id, i) {
				n.observer.PutBlock(b)
			}
		}
	}
}

func (n *Namespace) gain(id dfs.INodeID, f *file, i int) {
	b := f.info(id, i)
	n.blocks.set(b.ID, id)
	n.counts.Blocks++
	n.observer.PutBlock(b)
}

// wave is a run of steps that touch different names, planned but not executed yet.
type wave struct {
	number uint32
	steps  []waved
	links  int
	seen   filter
}

// waved is a step with what is needed to remember its answer.
type waved struct {
	step
	op  *Op
	res *Result
}

// A wave is spread over goroutines only when it is long enough to pay for waking them.
const (
	maxWave      = 4096
	parallelWave = 512
)

// nextWave readies the planner to plan on top of the steps that wait.
func (n *Namespace) nextWave(p *planner) {
	if len(n.wave.steps) > 0 {
		return
	}
	n.wave.number++
	p.wave = n.wave.number
	p.settledINode, p.settledBlock = n.counters.inode, n.counters.block
}

// add takes the plan's step into the wave and marks what it touches.
func (w *wave) add(p *planner, res *Result) {
	s := &p.step
	switch s.kind {
	case stepLink, stepUnlink:
		p.seen.mark(w.number, hashName(s.dir.id, s.node.name))
		s.node.wave = w.number
		if s.old != nil {
			s.old.wave = w.number
		}
		w.links++
	case stepContent:
		s.node.wave = w.number
	}
	if p.op.remembered() {
		p.seen.mark(w.number, hashCall(p.op))
	}
	w.steps = append(w.steps, waved{step: *s, op: p.op, res: res})
	if len(w.steps) == maxWave {
		p.n.flush()
	}
}

// flush executes the wave.
func (n *Namespace) flush() {
	w := &n.wave
	if len(w.steps) == 0 {
		return
	}
	n.lock.share()
	if w.links >= n.spread && runtime.GOMAXPROCS(0) > 1 {
		n.executeParallel(w)
	} else {
		for i := range w.steps {
			n.executeLocked(&w.steps[i].step)
		}
	}
	n.lock.writeIndex()
	for i := range w.steps {
		s := &w.steps[i]
		n.publish(&s.step)
		n.remember(s.op, s.res, s.time)
	}
	n.setCounters(w.steps[len(w.steps)-1].after)
	n.lock.unwriteIndex()
	n.lock.unshare()
	clear(w.steps)
	w.steps, w.links = w.steps[:0], 0
}

func (n *Namespace) executeLocked(s *step) {
	if s.dir == nil {
		n.execute(s)
		return
	}
	n.lock.writeDir(s.dir.id)
	n.execute(s)
	n.lock.unwriteDir(s.dir.id)
}

// executeParallel spreads the steps by directory. Steps on one directory stay in order, on one goroutine.
func (n *Namespace) executeParallel(w *wave) {
	workers := min(runtime.GOMAXPROCS(0), 8)
	var done sync.WaitGroup
	for k := range workers {
		done.Go(func() {
			for i := range w.steps {
				s := &w.steps[i].step
				id := dfs.INodeID(0)
				if s.dir != nil {
					id = s.dir.id
				}
				if partition(id, workers) == k {
					n.executeLocked(s)
				}
			}
		})
	}
	done.Wait()
}

// filter remembers, with false positives, what the present wave touches.
type filter struct{ slots [2048]uint32 }

func (f *filter) mark(wave uint32, hash uint64) { f.slots[hash%uint64(len(f.slots))] = wave }

func (f *filter) has(wave uint32, hash uint64) bool {
	return f.slots[hash%uint64(len(f.slots))] == wave
}

func hashName(dir dfs.INodeID, name string) uint64 {
	h := uint64(dir)*0x9E3779B97F4A7C15 ^ 0xcbf29ce484222325
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return h ^ h>>29
}
