package namespace

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// The names that HDFS keeps for itself.
const (
	dotSnapshot = ".snapshot"
	dotReserved = ".reserved"
	inodesPath  = "/.reserved/.inodes"
	rawPath     = "/.reserved/raw"
)

// resolved is a path and the inodes on it.
type resolved struct {
	path      string   // absolute, without doubled or trailing slashes
	nodes     []*inode // from the root as far as they exist, one a component; ".snapshot" has none
	depth     int      // components below the root that should have an inode
	dotAt     int      // the component that is ".snapshot", counted from 1; 0: the path does not go through one
	snap      *snapshot
	snapOwner *inode // the snapshottable directory before ".snapshot"
}

// whole reports whether every component exists.
func (r *resolved) whole() bool { return len(r.nodes) == r.depth+1 }

// last gives the inode that the path names, nil when there is none.
func (r *resolved) last() *inode {
	if r.whole() {
		return r.nodes[r.depth]
	}
	return nil
}

// parent gives the inode above, nil when there is none or the path is the root.
func (r *resolved) parent() *inode {
	if r.depth > 0 && len(r.nodes) >= r.depth {
		return r.nodes[r.depth-1]
	}
	return nil
}

// inSnapshot reports whether the path goes through ".snapshot" and so is read-only.
func (r *resolved) inSnapshot() bool { return r.dotAt > 0 }

// isDotSnapshot reports whether the path ends with a snapshottable directory's ".snapshot".
func (r *resolved) isDotSnapshot() bool {
	return r.dotAt > 0 && r.depth == r.dotAt && len(r.nodes) == r.depth && r.snap == nil && strings.HasSuffix(r.path, "/"+dotSnapshot)
}

// name gives the last component, "" for the root.
func (r *resolved) name() string { return r.path[strings.LastIndexByte(r.path, '/')+1:] }

// parentPath gives the path without its last component.
func (r *resolved) parentPath() string { return parentOf(r.path) }

// prefix gives the path of node i.
func (r *resolved) prefix(i int) string {
	if r.dotAt > 0 && i >= r.dotAt {
		i++
	}
	return prefix(r.path, i)
}

// prefix gives the first n components of a clean path.
func prefix(path string, n int) string {
	if n == 0 {
		return "/"
	}
	for i := 1; ; i++ {
		next := strings.IndexByte(path[i:], '/')
		if next < 0 {
			return path
		}
		if i += next; n == 1 {
			return path[:i]
		}
		n--
	}
}

func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// join puts a name behind a clean path.
func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// clean takes doubled and trailing slashes out. It costs nothing for a path that has none.
func clean(path string) string {
	if !strings.Contains(path, "//") && (len(path) == 1 || path == "" || path[len(path)-1] != '/') {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '/' && (i+1 == len(path) || path[i+1] == '/') {
			continue
		}
		b.WriteByte(path[i])
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// validName reports whether HDFS would let the path be created.
//
// A trailing slash is fine, a doubled one is not.
func validName(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	for rest := path[1:]; rest != ""; {
		name := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			name, rest = rest[:i], rest[i+1:]
			if name == "" {
				return false
			}
		} else {
			rest = ""
		}
		if name == "." || name == ".." || strings.IndexByte(name, ':') >= 0 {
			return false
		}
	}
	return true
}

// classAssertion is what HDFS answers to a path that is not absolute where it does not look at names.
const classAssertion dfs.Class = "java.lang.AssertionError"

// isReserved reports whether a path is that of the reserved directory.
func isReserved(path string) bool { return path == "/"+dotReserved }

func invalidPath(path string) error {
	return dfs.Errorf(dfs.ClassInvalidPath, "Invalid path name Invalid file name: %s", path)
}

// checkPathLength refuses a path that is longer or deeper than HDFS allows; call is the name in the message.
func (p *Params) checkPathLength(path, call string) error {
	size := int64(len(path))
	long := size > p.MaxPathLen && int64(utf8.RuneCountInString(path)) > p.MaxPathLen
	if long || (size > p.MaxDepth && int64(strings.Count(clean(path), "/")) > p.MaxDepth) {
		return dfs.Errorf(dfs.ClassIO, "%s: Pathname too long.  Limit %d characters, %d levels.", call, p.MaxPathLen, p.MaxDepth)
	}
	return nil
}

// walk finds the inodes on a path; no permission is asked. buf is where they go while there is room.
func (s *session) walk(path string, buf []*inode) (resolved, error) {
	if path == "" || path[0] != '/' {
		return resolved{}, dfs.Errorf(classAssertion, "Absolute path required, but got '%s'", path)
	}
	path = clean(path)
	if strings.HasPrefix(path, "/"+dotReserved) {
		var err error
		if path, err = s.unreserve(path); err != nil {
			return resolved{}, err
		}
	}
	r := resolved{path: path, nodes: append(buf, s.n.root)}
	cur := s.n.root
	for rest := path[1:]; rest != ""; {
		name := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			name, rest = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		if r.dotAt == 0 && name == dotSnapshot && cur != nil && (cur.snaps() != nil || cur.parent == 0) {
			r.dotAt, r.snapOwner = r.depth+1, cur
			if rest == "" {
				r.depth++
				break
			}
			if name = rest; strings.IndexByte(rest, '/') >= 0 {
				name, rest = rest[:strings.IndexByte(rest, '/')], rest[strings.IndexByte(rest, '/')+1:]
			} else {
				rest = ""
			}
			r.depth++
			if r.snap = cur.snaps().find(name); r.snap == nil {
				cur = nil
				continue
			}
			cur = r.snap.root
			r.nodes = append(r.nodes, cur)
			continue
		}
		r.depth++
		if cur != nil {
			if cur = s.child(cur, name); cur != nil {
				r.nodes = append(r.nodes, cur)
			}
		}
	}
	return r, nil
}

// child looks a name up in an inode; nil also when that is a file.
func (s *session) child(in *inode, name string) *inode {
	if in.dir == nil {
		return nil
	}
	if !s.locked {
		c := in.dir.child(name)
		if c == nil {
			s.missed(in, name)
		} else if s.inWave(c) {
			s.again = true
		}
		return c
	}
	s.n.lock.readDir(in.id)
	c := in.dir.child(name)
	s.n.lock.unreadDir(in.id)
	return c
}

// inWave reports whether the wave that is not executed yet changes the inode.
func (s *session) inWave(in *inode) bool { return s.wave != 0 && in.wave == s.wave }

// unreserve turns a path under /.reserved into the plain one: /.reserved/.inodes/ID/... goes by inode,
// /.reserved/raw/... is for superusers.
func (s *session) unreserve(path string) (string, error) {
	if rest, ok := cutDir(path, rawPath); ok {
		return rest, nil // whether that is allowed, who writes asks
	}
	rest, ok := cutDir(path, inodesPath)
	if !ok || rest == "/" {
		return path, nil
	}
	digits, tail, _ := strings.Cut(rest[1:], "/")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return "", notFound("Invalid inode path: %s", path)
	}
	in := s.byID(dfs.INodeID(id))
	if in == nil {
		return "", notFound("File for given inode path does not exist: %s", path)
	}
	base := s.pathOf(in)
	switch {
	case tail == "..":
		return parentOf(base), nil
	case tail != "":
		return join(base, tail), nil
	}
	return base, nil
}

// cutDir takes a leading directory off a clean path.
func cutDir(path, dir string) (string, bool) {
	if path == dir {
		return "/", true
	}
	if strings.HasPrefix(path, dir) && path[len(dir)] == '/' {
		return path[len(dir):], true
	}
	return "", false
}

// byID finds an inode of the present state.
func (s *session) byID(id dfs.INodeID) *inode {
	if !s.locked {
		in := s.n.inodes.get(id)
		if id > s.settledINode || in != nil && s.inWave(in) {
			s.again = true
		}
		return in
	}
	s.n.lock.readIndex()
	defer s.n.lock.unreadIndex()
	return s.n.inodes.get(id)
}

// pathOf builds the path of an inode of the present state.
func (s *session) pathOf(in *inode) string {
	if s.locked {
		s.n.lock.readIndex()
		defer s.n.lock.unreadIndex()
	}
	return s.n.path(in)
}

// path builds the path of an inode of the present state. The caller holds the indexes.
func (n *Namespace) path(in *inode) string {
	size := 0
	for c := in; c != nil && c.parent != 0; c = n.inodes.get(c.parent) {
		size += len(c.name) + 1
	}
	if size == 0 {
		return "/"
	}
	b := make([]byte, size)
	for c := in; c != nil && c.parent != 0; c = n.inodes.get(c.parent) {
		size -= len(c.name) + 1
		b[size] = '/'
		copy(b[size+1:], c.name)
	}
	return string(b)
}

// chain gives an inode of the present state as a resolved path, for calls that go by id.
func (s *session) chain(in *inode, buf []*inode) resolved {
	if s.locked {
		s.n.lock.readIndex()
		defer s.n.lock.unreadIndex()
	}
	r := resolved{path: s.n.path(in), nodes: buf}
	for c := in; c != nil; c = s.n.inodes.get(c.parent) {
		r.nodes = append(r.nodes, c)
	}
	for i, j := 0, len(r.nodes)-1; i < j; i, j = i+1, j-1 {
		r.nodes[i], r.nodes[j] = r.nodes[j], r.nodes[i]
	}
	r.depth = len(r.nodes) - 1
	return r
}
