package faultfs

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"
)

// info is what Stat and Readdir say of a node.
type info struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.size }
func (i *info) Mode() fs.FileMode  { return i.mode }
func (i *info) ModTime() time.Time { return i.mtime }
func (i *info) IsDir() bool        { return i.mode.IsDir() }
func (i *info) Sys() any           { return nil }

// stat describes the node under the last element of name.
func (n *node) stat(name string) *info {
	n.mu.RLock()
	defer n.mu.RUnlock()
	i := &info{name: path.Base(name), size: n.size, mode: n.mode, mtime: n.mtime}
	if n.dir {
		i.mode |= fs.ModeDir
	}
	return i
}

// namesLocked lists a directory in order; Disk.mu is held.
func (n *node) namesLocked() []string { return slices.Sorted(maps.Keys(n.children)) }

// touch sets the modification time to now.
func (n *node) touch() {
	n.mu.Lock()
	n.mtime = time.Now()
	n.mu.Unlock()
}
