package namespace

import (
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// thaw makes an inode of the present state changeable: one of an older epoch is copied, and so are those above it. The
// caller excludes everybody else.
func (n *Namespace) thaw(in *inode) *inode {
	if in.epoch == n.epoch {
		return in
	}
	if c := n.inodes.get(in.id); c.epoch == n.epoch {
		return c
	}
	c := in.clone(n.epoch)
	if in.parent == 0 {
		n.root = c
	} else {
		n.thaw(n.inodes.get(in.parent)).dir.set(c)
	}
	n.inodes.set(in.id, c)
	return c
}

// stale reports whether a step would change an inode of an older epoch.
func (n *Namespace) stale(s *step) bool {
	return s.dir != nil && s.dir.epoch != n.epoch || s.kind == stepContent && s.node.epoch != n.epoch
}

func (n *Namespace) thawStep(s *step) {
	if s.dir != nil {
		s.dir = n.thaw(s.dir)
	}
	if s.kind == stepContent {
		s.node = n.thaw(s.node)
	}
}

// kids gives the children of a directory.
func (s *session) kids(in *inode) []*inode {
	if s.locked {
		s.n.lock.readDir(in.id)
		defer s.n.lock.unreadDir(in.id)
	}
	s.looked()
	kids := make([]*inode, 0, in.dir.len())
	in.dir.each(func(c *inode) bool { kids = append(kids, c); return true })
	return kids
}

// looked notes that a plan relies on more than single names: it has to see what the wave does.
func (s *session) looked() {
	if !s.locked && len(s.n.wave.steps) > 0 {
		s.again = true
	}
}

// hasKids reports whether a directory is not empty.
func (s *session) hasKids(in *inode) bool {
	s.looked()
	return s.dirLen(in) > 0
}

// dirLen gives the number of a directory's children, those of the wave not counted.
func (s *session) dirLen(in *inode) int {
	if !s.locked {
		return in.dir.len()
	}
	s.n.lock.readDir(in.id)
	defer s.n.lock.unreadDir(in.id)
	return in.dir.len()
}

// missed notes that a plan relies on a name not being there.
func (s *session) missed(dir *inode, name string) {
	if s.seen != nil && s.seen.has(s.wave, hashName(dir.id, name)) {
		s.again = true
	}
}

// checkName refuses a name that a directory must not get.
func (p *planner) checkName(dir *inode, dirPath, name string) error {
	if dir != nil && dir.parent == 0 && name == dotReserved {
		return illegal("File name \"%s\" is reserved and cannot be created. If this is during upgrade change the name of the existing file or directory to another name before upgrading to the new release.", name)
	}
	if err := p.checkLimits(dir, dirPath, name); err != nil {
		return err
	}
	if name == dotSnapshot {
		return illegal("\"%s\" is a reserved name.", name)
	}
	return nil
}

// checkLimits refuses a name that is too long, or one more entry in a full directory. dir is nil for a directory that
// is to be made.
func (p *planner) checkLimits(dir *inode, dirPath, name string) error {
	if max := p.params.MaxNameLen; max > 0 && int64(len(name)) > max {
		return dfs.Errorf(dfs.ClassComponentTooLong, "The maximum path component name limit of %s in directory %s is exceeded: limit=%d length=%d", name, dirPath, max, len(name))
	}
	if dir == nil {
		return nil
	}
	count := int64(p.dirLen(dir))
	if !p.locked && count+int64(len(p.n.wave.steps)) >= p.params.MaxDirItems {
		p.looked()
	}
	if count >= p.params.MaxDirItems {
		return dfs.Errorf(dfs.ClassTooManyItems, "The directory item limit of %s is exceeded: limit=%d items=%d", dirPath, p.params.MaxDirItems, count)
	}
	return nil
}

// checkParent refuses to make something below a directory that is not there.
func (p *planner) checkParent(r *resolved) error {
	switch parent := r.parent(); {
	case r.depth <= 1:
		return nil
	case parent == nil:
		return notFound("Parent directory doesn't exist: %s", r.parentPath())
	case !parent.isDir():
		return dfs.Errorf(dfs.ClassParentNotDirectory, "Parent path is not a directory: %s", r.parentPath())
	}
	return nil
}

// checkNew refuses names on the missing part of a path that must not be made.
func (p *planner) checkNew(r *resolved) error {
	dir, dirPath := r.nodes[len(r.nodes)-1], r.prefix(len(r.nodes)-1)
	for i := len(r.nodes); i <= r.depth; i++ {
		path := prefix(r.path, i)
		if err := p.checkName(dir, dirPath, path[strings.LastIndexByte(path, '/')+1:]); err != nil {
			return err
		}
		dir, dirPath = nil, path
	}
	return nil
}

// link makes step put a new inode at the missing end of a path: make builds it for its parent's id. The directories
// missing between, with attributes a, are made around it, so that they appear together.
func (p *planner) link(r *resolved, a attrs, make func(parent dfs.INodeID, name string) *inode) {
	dir := r.nodes[len(r.nodes)-1]
	var top, prev *inode
	for i := len(r.nodes); i <= r.depth; i++ {
		path := prefix(r.path, i)
		name, parent := strings.Clone(path[strings.LastIndexByte(path, '/')+1:]), dir.id
		if prev != nil {
			parent = prev.id
		}
		var in *inode
		if i == r.depth {
			in = make(parent, name)
		} else {
			in = newDir(p.nextINode(), parent, name, p.n.epoch, &directory{attrs: a, mtime: p.now})
		}
		if prev == nil {
			top = in
		} else {
			prev.dir.set(in)
		}
		prev = in
	}
	p.step.kind, p.step.dir, p.step.node = stepLink, dir, top
}
