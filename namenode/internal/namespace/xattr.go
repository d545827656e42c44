package namespace

import (
	"slices"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// unreadable is the attribute that keeps superusers from reading a file. It has no value, not even an empty one, and
// stays once it is set.
const unreadable = "hdfs.unreadable.by.superuser"

func sameXAttr(a, b XAttr) bool { return a.Namespace == b.Namespace && a.Name == b.Name }

// findXAttr gives the place of an attribute in a list, -1 when it is not there.
func findXAttr(list []XAttr, ns dfs.XAttrNamespace, name string) int {
	return slices.IndexFunc(list, func(x XAttr) bool { return x.Namespace == ns && x.Name == name })
}

func isUnreadable(x XAttr) bool { return x.Namespace == dfs.XAttrSecurity && x.Name == unreadable }

// mayXAttr asks whether the caller may use an attribute's namespace at all.
func (s *session) mayXAttr(x XAttr, raw bool) bool {
	switch x.Namespace {
	case dfs.XAttrUser:
		return true
	case dfs.XAttrTrusted:
		return s.super
	case dfs.XAttrRaw:
		return raw // who changes such a path is a superuser
	}
	return isUnreadable(x)
}

func (s *session) checkXAttr(x XAttr, raw bool) error {
	if !s.mayXAttr(x, raw) {
		return dfs.Errorf(dfs.ClassAccessControl, "User doesn't have permission for xattr: %s.%s", x.Namespace, x.Name)
	}
	if isUnreadable(x) && x.Value != nil {
		return dfs.Errorf(dfs.ClassAccessControl, "Attempt to set a value for '%s.%s'. Values are not allowed for this xattr.", x.Namespace, x.Name)
	}
	return nil
}

// isRaw reports whether a path is under /.reserved/raw.
func isRaw(path string) bool {
	_, ok := cutDir(path, rawPath)
	return ok
}

// toXAttr resolves a path whose attributes are to be changed.
func (p *planner) toXAttr(path string, x XAttr) (resolved, error) {
	if err := p.checkXAttr(x, isRaw(path)); err != nil {
		return resolved{}, err
	}
	r, err := p.toWrite(path, p.buf[:0])
	if err != nil {
		return r, err
	}
	in, w := r.last(), need{target: dfs.AccessWrite}
	if x.Namespace != dfs.XAttrUser {
		w = need{}
	} else if in != nil && in.isDir() && in.attrs().perm&dfs.PermSticky != 0 {
		w = need{owner: true}
	}
	if err := p.check(&r, w); err != nil {
		return r, err
	}
	if in == nil {
		return r, notFound("cannot find %s", r.path)
	}
	return r, nil
}

func (a *SetXAttr) plan(p *planner) error {
	x := a.XAttr
	if size := int64(len(x.Name) + len(x.Value)); p.params.MaxXAttrSize > 0 && size > p.params.MaxXAttrSize {
		return illegal("The XAttr is too big. The maximum combined size of the name and value is %d, but the total size is %d", p.params.MaxXAttrSize, size)
	}
	r, err := p.toXAttr(a.Path, x)
	if err != nil {
		return err
	}
	list := r.last().xattrs()
	i := findXAttr(list, x.Namespace, x.Name)
	exists := i >= 0
	switch {
	case a.Flags&(dfs.XAttrCreate|dfs.XAttrReplace) == 0:
		return illegal("A flag must be specified.")
	case exists && a.Flags&dfs.XAttrReplace == 0:
		return ioError("XAttr: %s already exists. The REPLACE flag must be specified.", x.Name)
	case !exists && a.Flags&dfs.XAttrCreate == 0:
		return ioError("XAttr: %s does not exist. The CREATE flag must be specified.", x.Name)
	}
	visible := int64(0)
	for _, y := range list {
		if y.Namespace == dfs.XAttrUser || y.Namespace == dfs.XAttrTrusted {
			visible++
		}
	}
	if !exists && (x.Namespace == dfs.XAttrUser || x.Namespace == dfs.XAttrTrusted) && visible >= p.params.MaxXAttrs {
		return ioError("Cannot add additional XAttr to inode, would exceed limit of %d", p.params.MaxXAttrs)
	}
	if isUnreadable(x) && r.last().isDir() {
		return ioError("Can only set '%s.%s' on a file.", x.Namespace, x.Name)
	}
	if p.begin(1) {
		return nil
	}
	if len(x.Value) == 0 {
		x.Value = nil
	}
	next := append(make([]XAttr, 0, len(list)+1), x)
	for _, y := range list {
		if !sameXAttr(x, y) {
			next = append(next, y)
		}
	}
	p.setXAttrs(r.last(), next)
	return nil
}

func (a *RemoveXAttr) plan(p *planner) error {
	x := XAttr{Namespace: a.Namespace, Name: a.Name}
	r, err := p.toXAttr(a.Path, x)
	if err != nil {
		return err
	}
	list := r.last().xattrs()
	i := findXAttr(list, a.Namespace, a.Name)
	switch {
	case i < 0:
		return ioError("No matching attributes found for remove operation")
	case isUnreadable(x):
		return dfs.Errorf(dfs.ClassAccessControl, "The xattr '%s.%s' can not be deleted.", a.Namespace, a.Name)
	}
	if p.begin(1) {
		return nil
	}
	p.setXAttrs(r.last(), slices.Delete(slices.Clone(list), i, i+1))
	return nil
}

func (p *planner) setXAttrs(in *inode, list []XAttr) {
	set := func(f *features) { f.xattrs = list }
	if in.isDir() {
		n := p.n
		p.wide(func() {
			d := n.thaw(in).dir
			d.features = d.features.with(set)
		})
		return
	}
	next := *in.file()
	next.features = next.features.with(set)
	p.content(in, &next)
}

// XAttrs answers getXAttrs: the attributes that are named, by namespace and name, or all that the caller may see.
func (n *Namespace) XAttrs(c dfs.Caller, path string, names []XAttr) ([]XAttr, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	raw := isRaw(path)
	for _, x := range names {
		if err := s.checkXAttr(x, raw); err != nil {
			return nil, err
		}
	}
	all, err := s.visibleXAttrs(path)
	if err != nil || len(names) == 0 {
		return all, err
	}
	found := make([]XAttr, 0, len(names))
	for _, x := range names {
		i := findXAttr(all, x.Namespace, x.Name)
		if i < 0 {
			return nil, dfs.Errorf(dfs.ClassXAttrNotFound, "At least one of the attributes provided was not found.")
		}
		found = append(found, all[i])
	}
	return found, nil
}

// ListXAttrs answers listXAttrs: all attributes that the caller may see.
func (n *Namespace) ListXAttrs(c dfs.Caller, path string) ([]XAttr, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	return s.visibleXAttrs(path)
}

func (s *session) visibleXAttrs(path string) ([]XAttr, error) {
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return nil, err
	}
	if err := s.check(&r, need{target: dfs.AccessRead}); err != nil {
		return nil, err
	}
	in := r.last()
	if in == nil {
		return nil, notFound("cannot find %s", r.path)
	}
	raw := isRaw(path)
	var list []XAttr
	for _, x := range in.xattrs() {
		if s.mayXAttr(x, raw) {
			x.Value = slices.Clone(x.Value)
			list = append(list, x)
		}
	}
	return list, nil
}
