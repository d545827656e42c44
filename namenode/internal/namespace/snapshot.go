package namespace

import (
	"slices"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// snapshot is a frozen tree: the directory's inode as it was.
type snapshot struct {
	id    int
	name  string
	root  *inode
	mtime int64 // of the snapshot's root as shown: when it was taken
}

// snapshottable are the snapshots of a directory, ordered by name. It is never changed, only replaced.
type snapshottable struct{ list []*snapshot }

// find gives a snapshot by name, nil when there is none.
func (t *snapshottable) find(name string) *snapshot {
	if t == nil {
		return nil
	}
	i, ok := t.search(name)
	if !ok {
		return nil
	}
	return t.list[i]
}

func (t *snapshottable) search(name string) (int, bool) {
	return slices.BinarySearchFunc(t.list, name, func(s *snapshot, name string) int { return compareNames(s.name, name) })
}

func (t *snapshottable) byID(id int) *snapshot {
	if t != nil {
		for _, s := range t.list {
			if s.id == id {
				return s
			}
		}
	}
	return nil
}

// heldIn says that a snapshot captured an inode under a path that a rename has left.
type heldIn struct {
	dir  dfs.INodeID // the snapshottable directory
	snap int
	path string // from the snapshot's root, "/" between names
}

// keptBlock is a block that no file of the present state has any more, only snapshots.
type keptBlock struct {
	BlockInfo
	holders []int // ids of the snapshots, never changed in place
}

// version is an inode as a snapshot has it.
type version struct {
	dir  dfs.INodeID
	snap int
	node *inode
	path string // from the snapshot's root
}

// versions finds an inode of the present state in all snapshots that captured it: along its present path, and where
// renames have left word of it.
func (n *Namespace) versions(in *inode) []version {
	if n.counters.snapshots == 0 {
		return nil
	}
	var above []version
	if in.parent != 0 {
		above = n.versions(n.inodes.get(in.parent))
	}
	return n.versionsBelow(above, in)
}

// versionsBelow goes one step down: from the versions of a directory to those of one of its children.
func (n *Namespace) versionsBelow(above []version, in *inode) []version {
	if n.counters.snapshots == 0 {
		return nil
	}
	var found []version
	for _, v := range above {
		if c := v.node.dir.child(in.name); c != nil && c.id == in.id {
			path := in.name
			if v.path != "" {
				path = v.path + "/" + in.name
			}
			found = append(found, version{v.dir, v.snap, c, path})
		}
	}
	for _, h := range in.held() {
		if slices.ContainsFunc(found, func(v version) bool { return v.snap == h.snap }) {
			continue
		}
		if c := n.heldVersion(in.id, h); c != nil {
			found = append(found, version{h.dir, h.snap, c, h.path})
		}
	}
	if t := in.snaps(); t != nil {
		for _, s := range t.list {
			found = append(found, version{in.id, s.id, s.root, ""})
		}
	}
	return found
}

// heldVersion follows the word that a rename has left; nil when the snapshot is gone.
func (n *Namespace) heldVersion(id dfs.INodeID, h heldIn) *inode {
	owner := n.inodes.get(h.dir)
	if owner == nil {
		return nil
	}
	s := owner.snaps().byID(h.snap)
	if s == nil {
		return nil
	}
	cur := s.root
	for name := range strings.SplitSeq(h.path, "/") {
		if cur == nil || !cur.isDir() {
			return nil
		}
		cur = cur.dir.child(name)
	}
	if cur == nil || cur.id != id {
		return nil
	}
	return cur
}

// checkNoSnapshots refuses to take away a tree in which some directory has snapshots; it names the first one.
func (p *planner) checkNoSnapshots(in *inode) error {
	if !in.isDir() {
		return nil
	}
	if p.locked {
		p.n.lock.readIndex()
		defer p.n.lock.unreadIndex()
	}
	first := ""
	for id := range p.n.snapDirs {
		if d := p.n.inodes.get(id); len(d.snaps().list) > 0 && p.n.below(d, in) {
			if path := p.n.path(d); first == "" || comparePaths(path, first) < 0 {
				first = path
			}
		}
	}
	if first == "" {
		return nil
	}
	return snapshotError("The directory %s cannot be deleted since %s is snapshottable and already has snapshots", first, first)
}

// below reports whether an inode of the present state is top or in the tree below it.
func (n *Namespace) below(in, top *inode) bool {
	for in != nil {
		if in.id == top.id {
			return true
		}
		in = n.inodes.get(in.parent)
	}
	return false
}
