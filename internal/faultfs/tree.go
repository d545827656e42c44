package faultfs

import (
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// clean gives the rooted form of a path: "/" or "/a/b".
func clean(name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return path.Clean(name)
}

// findLocked walks to the node of a clean path.
func (d *Disk) findLocked(name string) (*node, error) {
	n := d.root
	for rest := name[1:]; rest != ""; {
		var elem string
		elem, rest, _ = strings.Cut(rest, "/")
		if !n.dir {
			return nil, syscall.ENOTDIR
		}
		if n = n.children[elem]; n == nil {
			return nil, syscall.ENOENT
		}
	}
	return n, nil
}

// slot is a name in a directory, taken or not.
type slot struct {
	dir  *node
	name string
}

// node is who has the name, or nil.
func (s slot) node() *node { return s.dir.children[s.name] }

// slotLocked finds the directory that holds the last element of a clean path other than the root.
func (d *Disk) slotLocked(name string) (slot, error) {
	i := strings.LastIndexByte(name, '/')
	dir, err := d.findLocked(name[:max(i, 1)])
	if err != nil {
		return slot{}, err
	}
	if !dir.dir {
		return slot{}, syscall.ENOTDIR
	}
	return slot{dir, name[i+1:]}, nil
}
