package namespace

import (
	"slices"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// SnapshotDiff answers getSnapshotDiffReport: what has to happen to go from one state of a directory to another. ""
// stands for the present state. The directory may also be one below a snapshottable directory.
func (n *Namespace) SnapshotDiff(c dfs.Caller, path, from, to string) (*SnapshotDiff, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return nil, err
	}
	if in := r.last(); in != nil && !in.isDir() && from+to != "" {
		return nil, dfs.Errorf(dfs.ClassAccessControl, "%s (is not a directory)", r.path) // snapshots are looked for below it
	}
	owner := -1
	for i, d := range r.nodes {
		if d.snaps() != nil || i == 0 && len(r.nodes) == 1 {
			owner = i
		}
	}
	switch {
	case r.inSnapshot() || owner < 0 && len(r.nodes) >= r.depth:
		return nil, snapshotError("The path %s is neither snapshottable nor under a snapshot root!", r.path)
	case len(r.nodes) < r.depth:
		return nil, notFound("Directory does not exist: %s", r.parentPath())
	}
	in, err := needDir(&r)
	if err != nil {
		return nil, err
	}
	top := r.nodes[owner]
	var snaps [2]*snapshot
	for i, name := range []string{from, to} {
		if name == "" {
			continue
		}
		if snaps[i] = top.snaps().find(name); snaps[i] == nil {
			return nil, snapshotError("Cannot find the snapshot of directory %s with name %s", r.prefix(owner), name)
		}
	}
	d := &SnapshotDiff{Root: r.path, From: from, To: to}
	// The present state is later than every snapshot; of two snapshots the one with the greater id is.
	earlier, later, forward := snaps[0], snaps[1], true
	if earlier == nil || later != nil && later.id < earlier.id {
		earlier, later, forward = later, earlier, false
	}
	if earlier == nil || earlier == later {
		return d, nil
	}
	old, now := s.versionIn(in, earlier), in
	if later != nil {
		now = s.versionIn(in, later)
	}
	for _, side := range []struct {
		in   *inode
		snap *snapshot
	}{{old, earlier}, {now, later}} {
		if err := s.mayCompare(&r, owner, side.in, side.snap); err != nil {
			return nil, err
		}
	}
	if old == nil || now == nil {
		return d, nil
	}
	w := differ{s: &s, top: now, renames: map[dfs.INodeID][2]string{}}
	w.walk(old, now, "")
	d.Entries = w.report(forward)
	return d, nil
}

// mayCompare asks whether the caller may read the whole of a tree; a snapshot's is reached through its directory.
func (s *session) mayCompare(r *resolved, owner int, in *inode, snap *snapshot) error {
	if s.super || in == nil {
		return nil
	}
	path := r.path
	if snap != nil {
		if err := s.access(r, owner, dfs.AccessExecute); err != nil {
			return err
		}
		path = join(join(r.prefix(owner), dotSnapshot), snap.name) + strings.TrimPrefix(r.path, r.prefix(owner))
	}
	if !s.may(in.attrs(), dfs.AccessRead) {
		return s.denied(in, path, dfs.AccessRead)
	}
	return s.checkTree(path, in, dfs.AccessRead, false)
}

// versionIn gives an inode as a snapshot has it, nil when it was not there.
func (s *session) versionIn(in *inode, snap *snapshot) *inode {
	s.n.lock.readIndex()
	defer s.n.lock.unreadIndex()
	for _, v := range s.n.versions(in) {
		if v.snap == snap.id {
			return v.node
		}
	}
	return nil
}

// differ compares two states of a tree.
type differ struct {
	s       *session
	top     *inode                    // of the later state
	paths   map[dfs.INodeID]place     // where inodes are in the later state; built when first asked for
	renames map[dfs.INodeID][2]string // source and target
	changes []change                  // in the order of the earlier paths
}

type place struct {
	path string
	in   *inode
}

// change is an inode that is not what it was; created and deleted are its children.
type change struct {
	path             string
	created, deleted []*inode
}

// walk compares an inode's two versions and what is below them. path is that of the earlier one.
func (w *differ) walk(old, now *inode, path string) {
	if old == now {
		return
	}
	if !old.isDir() || !now.isDir() {
		if !w.sameFile(old, now) {
			w.changes = append(w.changes, change{path: path})
		}
		return
	}
	was, is := w.s.kids(old), w.s.kids(now)
	c := change{path: path, created: without(is, was), deleted: without(was, is)}
	if len(c.created)+len(c.deleted) > 0 || !w.sameDir(old, now) {
		w.changes = append(w.changes, c)
	}
	for _, k := range was {
		below := relative(path, k.name)
		if i, ok := search(is, k.name); ok && is[i].id == k.id {
			w.walk(k, is[i], below)
		} else if to, ok := w.find(k.id); ok {
			w.renames[k.id] = [2]string{below, to.path}
			w.walk(k, to.in, below)
		}
	}
}

func search(kids []*inode, name string) (int, bool) {
	return slices.BinarySearchFunc(kids, name, func(in *inode, name string) int { return compareNames(in.name, name) })
}

// without gives those of a that are not in b under the same name.
func without(a, b []*inode) []*inode {
	var left []*inode
	for _, in := range a {
		if i, ok := search(b, in.name); !ok || b[i].id != in.id {
			left = append(left, in)
		}
	}
	return left
}

// find tells where an inode is in the later state.
func (w *differ) find(id dfs.INodeID) (place, bool) {
	if w.paths == nil {
		w.paths = map[dfs.INodeID]place{}
		w.index(w.top, "")
	}
	p, ok := w.paths[id]
	return p, ok
}

func (w *differ) index(in *inode, path string) {
	w.paths[in.id] = place{path, in}
	if in.isDir() {
		for _, c := range w.s.kids(in) {
			w.index(c, relative(path, c.name))
		}
	}
}

func relative(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// sameFile leaves times out, as HDFS does.
func (w *differ) sameFile(a, b *inode) bool {
	if a.isDir() || b.isDir() {
		return false
	}
	x, y := w.s.frozenFile(a), w.s.frozenFile(b)
	return x == y || x.attrs == y.attrs && x.replication == y.replication && x.length() == y.length() && sameXAttrs(a, b)
}

func (w *differ) sameDir(a, b *inode) bool { return a.attrs() == b.attrs() && sameXAttrs(a, b) }

func sameXAttrs(a, b *inode) bool {
	return slices.EqualFunc(a.xattrs(), b.xattrs(), func(x, y XAttr) bool {
		return sameXAttr(x, y) && string(x.Value) == string(y.Value)
	})
}

// report puts the changes into HDFS's order: of each changed inode itself, what was created in it, what was deleted or
// moved away. Backward, created and deleted change places, and renames go from target to source.
func (w *differ) report(forward bool) []DiffEntry {
	created, deleted := DiffCreate, DiffDelete
	if !forward {
		created, deleted = deleted, created
	}
	var list []DiffEntry
	for _, c := range w.changes {
		list = append(list, DiffEntry{Kind: DiffModify, Path: c.path})
		for _, in := range c.created {
			if _, moved := w.renames[in.id]; !moved {
				list = append(list, DiffEntry{Kind: created, Path: relative(c.path, in.name)})
			}
		}
		for _, in := range c.deleted {
			move, moved := w.renames[in.id]
			switch {
			case !moved:
				list = append(list, DiffEntry{Kind: deleted, Path: relative(c.path, in.name)})
			case forward:
				list = append(list, DiffEntry{Kind: DiffRename, Path: move[0], Target: move[1]})
			default:
				list = append(list, DiffEntry{Kind: DiffRename, Path: move[1], Target: move[0]})
			}
		}
	}
	return list
}
