package namespace

import (
	"fmt"
	"math/rand/v2"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// scribe makes random ops that mean something on the state of a namespace: most name things that are there.
type scribe struct {
	r    *rand.Rand
	n    *Namespace // looked at, never changed
	now  int64
	call int32
	ops  []*Op // the last ones, to repeat
}

func newScribe(seed uint64, n *Namespace) *scribe {
	return &scribe{r: rand.New(rand.NewPCG(seed, seed)), n: n, now: 1000}
}

func (s *scribe) pick(list ...string) string { return list[s.r.IntN(len(list))] }

func (s *scribe) chance(percent int) bool { return s.r.IntN(100) < percent }

// inode gives a random inode: a walk from the root that stops somewhere.
func (s *scribe) inode(want func(*inode) bool) *inode {
	for range 20 {
		in := s.n.root
		for in.isDir() && in.dir.len() > 0 && s.chance(80) {
			_, in, _ = in.dir.kids.GetAt(s.r.IntN(in.dir.len()))
		}
		if want(in) {
			return in
		}
	}
	return s.n.root
}

func anything(*inode) bool       { return true }
func isDirectory(in *inode) bool { return in.isDir() }
func isFile(in *inode) bool      { return !in.isDir() }
func isOpen(in *inode) bool      { return !in.isDir() && in.file().open() }
func isClosed(in *inode) bool    { return !in.isDir() && !in.file().open() }

// path gives the path of an inode, now and then one that is not there.
func (s *scribe) path(want func(*inode) bool) string {
	p := s.n.path(s.inode(want))
	switch {
	case s.chance(3):
		return join(p, "nowhere")
	case s.chance(2):
		return join(p, dotSnapshot)
	}
	return p
}

// fresh gives a path at which something may be made.
func (s *scribe) fresh() string {
	p := join(s.n.path(s.inode(isDirectory)), s.pick("a", "b", "c", "d", "e", "f", "ä", "\xff\x01"))
	if s.chance(15) {
		p = join(p, s.pick("x", "y"))
	}
	return p
}

func (s *scribe) caller() dfs.Caller {
	switch s.r.IntN(10) {
	case 0:
		return dfs.Caller{User: "alice", Groups: []string{"users"}, Host: "127.0.0.1"}
	case 1:
		return dfs.Caller{User: "bob", Groups: []string{"users"}, Host: "127.0.0.2"}
	}
	return dfs.Caller{User: "root", Groups: []string{"supergroup"}, Host: "127.0.0.1"}
}

func (s *scribe) holder() string { return s.pick("h1", "h2", "h3") }

// snapshotOf gives a snapshottable directory and the name of one of its snapshots.
func (s *scribe) snapshotOf() (path, name string) {
	ids := s.n.sortedSnapDirs()
	if len(ids) == 0 {
		return s.path(isDirectory), "s1"
	}
	d := s.n.inodes.get(ids[s.r.IntN(len(ids))])
	if list := d.snaps().list; len(list) > 0 {
		name = list[s.r.IntN(len(list))].name
	}
	return s.n.path(d), name
}

// writing gives an open file as its writer knows it.
func (s *scribe) writing() (path string, id dfs.INodeID, holder string, last *dfs.Block) {
	in := s.inode(isOpen)
	path, id, holder = s.n.path(in), in.id, s.holder()
	if isOpen(in) {
		f := in.file()
		if !s.chance(5) {
			holder = f.writer.holder
		}
		if f.hasBlocks() && !s.chance(4) {
			b := f.last
			if f.lastState == dfs.BlockUnderConstruction {
				b.Len = max(b.Len, int64(1+s.r.IntN(100)))
			}
			last = &b
		}
	}
	if s.chance(20) {
		id = 0
	}
	return path, id, holder, last
}

// next makes one op.
func (s *scribe) next() *Op {
	if len(s.ops) > 0 && s.chance(2) {
		return s.ops[s.r.IntN(len(s.ops))]
	}
	s.now += int64(s.r.IntN(50))
	s.call++
	op := &Op{Time: s.now, Caller: s.caller(), CallID: s.call, Args: s.args()}
	op.ClientID[0] = byte(1 + s.r.IntN(3))
	switch op.Args.(type) {
	case *StartRecovery, *CloseFile, *CommitBlockSync, *TouchAccess, *StartSegment:
		op.Caller, op.CallID = dfs.Caller{}, -1
	}
	if s.ops = append(s.ops, op); len(s.ops) > 50 {
		s.ops = s.ops[1:]
	}
	return op
}

func (s *scribe) args() Args {
	switch s.r.IntN(44) {
	case 0, 1, 2, 3:
		return &Mkdirs{s.fresh(), dfs.Perm(0o700 | s.r.IntN(0o1000)), s.chance(80)}
	case 4, 5, 6, 7, 8:
		f := dfs.CreateNew
		if s.chance(30) {
			f |= dfs.CreateOverwrite
		}
		return &Create{Path: s.fresh(), Perm: 0o644, Holder: s.holder(), Flags: f, CreateParent: s.chance(80), Replication: int16(1 + s.r.IntN(3)), BlockSize: 100}
	case 9, 10, 11, 12, 13, 14, 15:
		path, id, holder, last := s.writing()
		return &AddBlock{path, id, holder, last}
	case 16, 17, 18, 19:
		path, id, holder, last := s.writing()
		return &Complete{path, id, holder, last, s.chance(10)}
	case 20:
		path, id, holder, last := s.writing()
		if last == nil {
			last = &dfs.Block{}
		}
		return &AbandonBlock{path, id, holder, *last}
	case 21:
		path, id, holder, _ := s.writing()
		return &Fsync{path, id, holder, int64(s.r.IntN(100)) - 1}
	case 22:
		_, _, holder, last := s.writing()
		if last == nil {
			last = &dfs.Block{ID: 1<<30 + 1}
		}
		next := *last
		if next.GenStamp = s.n.counters.stamp; next.GenStamp == last.GenStamp || s.chance(30) {
			return &BumpGenStamp{holder, *last}
		}
		return &UpdatePipeline{holder, *last, next}
	case 23, 24:
		return &Append{s.path(isClosed), s.holder(), s.chance(30)}
	case 25, 26:
		return &Delete{s.path(anything), s.chance(70)}
	case 27:
		return &Rename{s.path(anything), s.pick(s.fresh(), s.path(anything))}
	case 28, 29:
		return &Rename2{s.path(anything), s.pick(s.fresh(), s.path(anything)), s.chance(60), s.chance(10)}
	case 30:
		return &SetPermission{s.path(anything), dfs.Perm(0o700 | s.r.IntN(0o2000))}
	case 31:
		return &SetOwner{s.path(anything), s.pick("alice", "bob", "root", ""), s.pick("users", "")}
	case 32:
		return &SetTimes{s.path(anything), int64(s.r.IntN(1000)) - 1, int64(s.r.IntN(1000)) - 1}
	case 33:
		if s.chance(50) {
			return &TouchAccess{s.inode(isFile).id, s.now}
		}
		return &SetReplication{s.path(isFile), int16(1 + s.r.IntN(4))}
	case 34:
		return &SetStoragePolicy{s.path(anything), uint8(s.r.IntN(8))}
	case 35, 36:
		in := s.inode(isClosed)
		length := int64(s.r.IntN(300))
		if isClosed(in) && s.chance(80) {
			length = s.r.Int64N(in.file().length() + 1)
		}
		return &Truncate{s.n.path(in), length, s.holder()}
	case 37:
		in := s.inode(isClosed)
		c := &Concat{Target: s.n.path(in)}
		if in.parent != 0 {
			s.n.inodes.get(in.parent).dir.each(func(k *inode) bool {
				if isClosed(k) && k != in && s.chance(50) {
					c.Sources = append(c.Sources, s.n.path(k))
				}
				return true
			})
		}
		return c
	case 38:
		x := XAttr{Namespace: dfs.XAttrNamespace(s.r.IntN(2)), Name: s.pick("k", "l"), Value: []byte(s.pick("v", "w", ""))}
		if s.chance(30) {
			return &RemoveXAttr{s.path(anything), x.Namespace, x.Name}
		}
		return &SetXAttr{s.path(anything), x, dfs.XAttrFlag(1 + s.r.IntN(3))}
	case 39:
		switch path, name := s.snapshotOf(); s.r.IntN(8) {
		case 0, 1:
			return &AllowSnapshot{s.path(isDirectory)}
		case 2:
			return &DisallowSnapshot{path}
		case 3:
			return &RenameSnapshot{path, name, fmt.Sprintf("r%d", s.call)}
		default:
			return &DeleteSnapshot{path, name}
		}
	case 40:
		path, _ := s.snapshotOf()
		return &CreateSnapshot{path, fmt.Sprintf("s%d", s.call)}
	case 41:
		in := s.inode(isOpen)
		if isOpen(in) && (!in.file().hasBlocks() || s.chance(20)) {
			return &CloseFile{in.id, s.chance(20)}
		}
		return &StartRecovery{in.id, "NN"}
	}
	return s.recovered()
}

// recovered reports the end of a recovery, if there is one under way.
func (s *scribe) recovered() Args {
	in := s.inode(func(in *inode) bool { return isOpen(in) && in.file().writer.recovery != 0 })
	if !isOpen(in) {
		return &StartSegment{uint64(s.call)}
	}
	f := in.file()
	c := &CommitBlockSync{Block: f.last, NewGenStamp: f.writer.recovery, NewLength: f.last.Len, CloseFile: s.chance(90), DeleteBlock: s.chance(10)}
	if f.writer.truncate {
		c.NewLength = f.writer.truncateTo
	}
	if f.writer.copyOf.ID != 0 {
		c.Block = f.writer.copyOf
	}
	return c
}
