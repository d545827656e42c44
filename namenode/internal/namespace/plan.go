package namespace

import (
	"github.com/minidfs/go-minidfs/internal/dfs"
)

// stepKind says what executing a plan changes.
type stepKind uint8

const (
	stepCount   stepKind = iota // counters only
	stepLink                    // node, a new inode, enters dir; old, if any, is the file that it replaces
	stepUnlink                  // node, a file, leaves dir
	stepContent                 // node, a file, gets the content next
	stepWide                    // wide does all of it
)

// step is the change that an op makes. It cannot fail.
type step struct {
	kind  stepKind
	dir   *inode
	node  *inode
	old   *inode
	prev  *file // of stepContent: what next replaces
	next  *file
	alone bool // snapshots change with it: nobody may look meanwhile
	wide  func()
	time  int64
	after counters // the counters once this step is done
}

// exclusive reports whether the step reaches beyond names in one directory.
func (s *step) exclusive() bool { return s.alone || s.kind == stepWide }

// planner makes plans: every check of an op, and the step that carries it out. It never changes the state, so that
// Check can use one too; counters are handed out from a copy.
type planner struct {
	session
	op     *Op
	dry    bool // only the question whether there is something to do: no step is built
	now    int64
	c      counters
	res    Result
	change bool // there is something to do
	step   step
	buf    [24]*inode
	buf2   [24]*inode
}

// plan plans one op. Afterwards res holds the answer and, when change is set, step what to do for it.
func (p *planner) plan(op *Op) {
	p.op = op
	p.caller, p.operation = &op.Caller, op.Kind().String()
	p.params = p.n.params.Load()
	p.super = p.params.superuser(p.caller)
	p.now = max(p.c.time, op.Time)
	p.res, p.change, p.again = Result{}, false, false
	p.step = step{}
	start := p.c
	p.c.time = p.now
	if first := p.recall(op); first != nil {
		p.res = *first
		return
	}
	if err := op.Args.plan(p); err != nil {
		p.res, p.change = Result{Err: err}, false
	}
	if !p.change {
		p.c = start
		p.c.time = p.now
	}
	p.res.TxID = p.c.tx
	p.step.time, p.step.after = p.now, p.c
}

// begin marks the op as one that changes something, with so many edit records. It answers true when that was all that
// there was to find out.
func (p *planner) begin(records int) bool {
	p.change = true
	p.c.tx += uint64(records)
	return p.dry
}

// wide makes f the step.
func (p *planner) wide(f func()) {
	p.step.kind, p.step.wide = stepWide, f
}

// content makes next the new content of a file.
func (p *planner) content(node *inode, next *file) {
	p.step.kind, p.step.node, p.step.prev, p.step.next = stepContent, node, node.file(), next
}

// owner is the user that something new belongs to.
func (p *planner) owner() string {
	if p.caller.User == "" {
		return p.params.Superuser
	}
	return p.caller.User
}

func (p *planner) nextINode() dfs.INodeID { p.c.inode++; return p.c.inode }

func (p *planner) nextBlock() dfs.BlockID { p.c.block++; return p.c.block }

func (p *planner) nextStamp() dfs.GenStamp { p.c.stamp++; return p.c.stamp }

// ioError and its kin save the call sites a package name.
func ioError(format string, args ...any) error { return dfs.Errorf(dfs.ClassIO, format, args...) }

func notFound(format string, args ...any) error {
	return dfs.Errorf(dfs.ClassFileNotFound, format, args...)
}

func illegal(format string, args ...any) error {
	return dfs.Errorf(dfs.ClassHadoopIllegal, format, args...)
}

// Check answers an op without journaling it where that can be done: a repetition that the retry cache knows, and ops
// that the present state refuses or that would change nothing. False: the op has to be journaled.
func (n *Namespace) Check(op *Op) (Result, bool) {
	n.lock.share()
	defer n.lock.unshare()
	p, _ := n.checkers.Get().(*planner)
	if p == nil {
		p = &planner{session: session{n: n, locked: true}, dry: true}
	}
	defer n.checkers.Put(p)
	p.c.time, p.c.tx = n.last.time.Load(), n.last.tx.Load() // ids are not handed out
	p.plan(op)
	return p.res, !p.change
}
