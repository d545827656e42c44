package namespace

import (
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// session is one caller's view of the tree.
type session struct {
	n         *Namespace
	params    *Params
	caller    *dfs.Caller
	operation string // the call's name, for messages
	super     bool
	locked    bool // by the applying goroutine: needs no lock to read

	// The planner's view of the wave that is not executed yet (see wave.go). again is set when a plan looked at
	// something that the wave changes: it has to be made anew after the wave.
	wave         uint32
	seen         *filter // nil when there is none
	again        bool
	settledINode dfs.INodeID
	settledBlock dfs.BlockID
}

func (n *Namespace) reader(c *dfs.Caller) session {
	p := n.params.Load()
	return session{n: n, params: p, caller: c, super: p.superuser(c), locked: true}
}

// need is what an op asks of the inodes on a path. Zero fields ask nothing.
type need struct {
	ancestor  dfs.Access // of the deepest directory that exists above the last component
	parent    dfs.Access // of the directory above the last component
	target    dfs.Access // of what the path names
	owner     bool       // the caller must own what the path names
	sub       dfs.Access // of every directory in the tree below; empty ones are spared with skipEmpty
	skipEmpty bool
}

// traverse asks that every component above the last is a directory that the caller may pass. class is what the answer
// is when one is a file: ParentNotDirectoryException for calls that create, AccessControlException for the others.
func (s *session) traverse(r *resolved, class dfs.Class) error {
	for i, in := range r.nodes {
		if i == r.depth {
			break
		}
		if !in.isDir() {
			return dfs.Errorf(class, "%s (is not a directory)", r.prefix(i))
		}
		if err := s.access(r, i, dfs.AccessExecute); err != nil {
			return err
		}
	}
	return nil
}

// check asks what an op needs, in HDFS's order. traverse has been asked before.
func (s *session) check(r *resolved, w need) error {
	if s.super {
		return nil
	}
	last := r.last()
	if w.parent&dfs.AccessWrite != 0 && r.depth > 0 && last != nil {
		if err := s.checkSticky(r); err != nil {
			return err
		}
	}
	if w.ancestor != 0 && r.depth > 0 {
		if err := s.access(r, min(len(r.nodes)-1, r.depth-1), w.ancestor); err != nil {
			return err
		}
	}
	if w.parent != 0 && r.depth > 0 && r.parent() != nil {
		if err := s.access(r, r.depth-1, w.parent); err != nil {
			return err
		}
	}
	if last == nil {
		return nil
	}
	if w.target != 0 {
		if err := s.access(r, r.depth, w.target); err != nil {
			return err
		}
	}
	if w.sub != 0 && last.isDir() {
		if err := s.checkTree(r.path, last, w.sub, w.skipEmpty); err != nil {
			return err
		}
	}
	if w.owner && s.n.names.name(last.attrs().owner) != s.caller.User {
		return dfs.Errorf(dfs.ClassAccessControl, "Permission denied. user=%s is not the owner of inode=%s", s.caller.User, r.path)
	}
	return nil
}

// access asks for one access to node i of a path.
func (s *session) access(r *resolved, i int, want dfs.Access) error {
	if s.super || s.may(r.nodes[i].attrs(), want) {
		return nil
	}
	return s.denied(r.nodes[i], r.prefix(i), want)
}

// may applies the nine bits: those of the first class that the caller belongs to.
func (s *session) may(a attrs, want dfs.Access) bool {
	bits := a.perm
	switch {
	case s.n.names.name(a.owner) == s.caller.User:
		bits >>= 6
	case slices.Contains(s.caller.Groups, s.n.names.name(a.group)):
		bits >>= 3
	}
	return dfs.Access(bits&7)&want == want
}

func (s *session) denied(in *inode, path string, want dfs.Access) error {
	return dfs.Errorf(dfs.ClassAccessControl, "Permission denied: user=%s, access=%s, inode=\"%s\":%s",
		s.caller.User, want, path, s.describe(in, dfs.PermMask))
}

// describe gives owner, group and the bits that are shown as HDFS's messages have them.
func (s *session) describe(in *inode, shown dfs.Perm) string {
	a, kind := in.attrs(), "-"
	if in.isDir() {
		kind = "d"
	}
	return s.n.names.name(a.owner) + ":" + s.n.names.name(a.group) + ":" + kind + (a.perm & shown).String()
}

// checkSticky lets only the owner of the directory or of the entry take an entry out of a directory with a sticky bit.
func (s *session) checkSticky(r *resolved) error {
	return s.checkStickyEntry(r.parent(), r.last(), r.parentPath(), r.name(), dfs.PermMask)
}

// checkStickyEntry is checkSticky for one entry; shown are the bits of the directory that the message has.
func (s *session) checkStickyEntry(dir, in *inode, dirPath, name string, shown dfs.Perm) error {
	d := dir.attrs()
	if d.perm&dfs.PermSticky == 0 || s.n.names.name(d.owner) == s.caller.User || s.n.names.name(in.attrs().owner) == s.caller.User {
		return nil
	}
	return dfs.Errorf(dfs.ClassAccessControl, "Permission denied by sticky bit: user=%s, path=\"%s\":%s, parent=\"%s\":%s",
		s.caller.User, join(dirPath, name), s.describe(in, dfs.PermMask), dirPath, s.describe(dir, shown))
}

// checkTree asks for an access to every directory of a tree, and that no sticky bit keeps an entry in its place. Like
// HDFS it takes the last directory first.
func (s *session) checkTree(path string, in *inode, want dfs.Access, skipEmpty bool) error {
	type below struct {
		path string
		in   *inode
	}
	shown := dfs.PermMask
	for stack := []below{{path, in}}; len(stack) > 0; {
		d := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		kids := s.kids(d.in)
		if skipEmpty && len(kids) == 0 {
			continue
		}
		if !s.may(d.in.attrs(), want) {
			return s.denied(d.in, d.path, want)
		}
		for _, c := range kids {
			if err := s.checkStickyEntry(d.in, c, d.path, c.name, shown); err != nil {
				return err
			}
			if c.isDir() {
				stack = append(stack, below{join(d.path, c.name), c})
			}
		}
		shown = dfs.PermMask &^ dfs.PermSticky // below the first, HDFS does not show the bit that it speaks of
	}
	return nil
}

// superuserNeeded is the answer to a call that only superusers may make.
func (s *session) superuserNeeded() error {
	return dfs.Errorf(dfs.ClassAccessControl, "Access denied for user %s. Superuser privilege is required for operation %s", s.caller.User, s.operation)
}

// Resolving for a kind of access, as HDFS distinguishes them.

// toRead resolves a path that is only looked at.
func (s *session) toRead(path string, buf []*inode) (resolved, error) {
	r, err := s.walk(path, buf)
	if err == nil {
		err = s.traverse(&r, dfs.ClassAccessControl)
	}
	return r, err
}

// toWrite resolves a path whose inode is to be changed.
func (s *session) toWrite(path string, buf []*inode) (resolved, error) {
	if isRaw(path) && !s.super {
		return resolved{}, s.superuserNeeded()
	}
	r, err := s.toRead(path, buf)
	if err == nil && r.inSnapshot() {
		err = readOnly()
	}
	return r, err
}

// toCreate resolves a path at which something is to be made.
func (s *session) toCreate(path string, buf []*inode) (resolved, error) {
	if !validName(path) {
		return resolved{}, invalidPath(path)
	}
	if isRaw(path) && !s.super {
		return resolved{}, s.superuserNeeded()
	}
	r, err := s.walk(path, buf)
	if err == nil {
		err = s.traverse(&r, dfs.ClassParentNotDirectory)
	}
	if err == nil && r.inSnapshot() {
		err = readOnly()
	}
	return r, err
}

func readOnly() error {
	return dfs.Errorf(dfs.ClassSnapshotAccess, "Modification on a read-only snapshot is disallowed")
}
