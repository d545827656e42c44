package editlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/spf13/afero"
)

var errInjected = errors.New("injected")

// A disk is a file system in memory that loses in a crash what was not synced: bytes of a file until its Sync,
// changes of names until the Sync of the directory. Methods that the journal should not need are missing: they panic.
type disk struct {
	afero.Fs

	mu      sync.Mutex
	names   map[string]*node
	dirs    map[string]bool
	changes []change // of names, since the directory was synced
	stable  map[string]*node

	trace  []string
	keep   bool                                // trace
	fault  func(n int, op string) (int, error) // asked before each change; a write may leave so many bytes behind
	count  int
	locked bool // after a crash nothing changes any more
}

// A change of names: a rename; without from a creation, without to a removal.
type change struct {
	from, to string
	n        *node
}

// A node is a file: what is on the disk, and the writes since.
type node struct {
	data, stable []byte
	pending      []pendingWrite
}

type pendingWrite struct {
	offset int64
	data   []byte
	cut    bool // truncate at offset
}

func newDisk() *disk {
	return &disk{names: map[string]*node{}, stable: map[string]*node{}, dirs: map[string]bool{"/": true}}
}

// before counts and traces a change and asks for a fault.
func (d *disk) before(format string, args ...any) (int, error) {
	if d.locked {
		return 0, errors.New("crashed")
	}
	d.count++
	if !d.keep && d.fault == nil {
		return -1, nil
	}
	op := fmt.Sprintf(format, args...)
	if d.keep {
		d.trace = append(d.trace, op)
	}
	if d.fault != nil {
		return d.fault(d.count, op)
	}
	return -1, nil
}

func (d *disk) MkdirAll(path string, _ os.FileMode) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs[path] {
		return nil
	}
	if _, err := d.before("mkdir %s", path); err != nil {
		return err
	}
	for ; path != "/"; path = filepath.Dir(path) {
		d.dirs[path] = true
	}
	return nil
}

func (d *disk) Open(path string) (afero.File, error) { return d.OpenFile(path, os.O_RDONLY, 0) }

func (d *disk) OpenFile(path string, flag int, _ os.FileMode) (afero.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs[path] {
		return &handle{d: d, path: path}, nil
	}
	n := d.names[path]
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	case n != nil && flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrExist}
	case n == nil:
		if _, err := d.before("create %s", path); err != nil {
			return nil, err
		}
		n = &node{}
		d.names[path] = n
		d.changes = append(d.changes, change{to: path, n: n})
	case flag&os.O_TRUNC != 0:
		if _, err := d.before("truncate %s to 0", path); err != nil {
			return nil, err
		}
		n.truncate(0)
	}
	return &handle{d: d, path: path, n: n}, nil
}

func (d *disk) Stat(path string) (os.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.dirs[path] {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
	}
	return info{filepath.Base(path), 0, true}, nil
}

func (d *disk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[path] == nil {
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrNotExist}
	}
	if _, err := d.before("remove %s", path); err != nil {
		return err
	}
	d.changes = append(d.changes, change{from: path, n: d.names[path]})
	delete(d.names, path)
	return nil
}

func (d *disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.names[from]
	if n == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	if _, err := d.before("rename %s to %s", from, to); err != nil {
		return err
	}
	delete(d.names, from)
	d.names[to] = n
	d.changes = append(d.changes, change{from, to, n})
	return nil
}

// syncDir makes all names durable.
func (d *disk) syncDir(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.before("syncdir %s", path); err != nil {
		return err
	}
	d.changes = nil
	d.stable = make(map[string]*node, len(d.names))
	for name, n := range d.names {
		d.stable[name] = n
	}
	return nil
}

// crash gives the disk as it is found after a power loss: any of the changes of names and of the
// unsynced writes of each file, torn in units of sector bytes. The old disk no longer changes.
func (d *disk) crash(rng *rand.Rand, sector int) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.locked = true
	after := newDisk()
	after.dirs = d.dirs
	names := make(map[string]*node)
	for name, n := range d.stable {
		names[name] = n
	}
	for mode, i := rng.IntN(3), 0; i < len(d.changes); i++ { // all, none, any of the changes
		if mode == 1 || mode == 2 && rng.IntN(2) == 0 {
			continue
		}
		c := d.changes[i]
		delete(names, c.from)
		if c.to != "" {
			names[c.to] = c.n
		}
	}
	for name, n := range names {
		data := n.survive(rng, sector)
		after.names[name] = &node{data: data, stable: slices.Clone(data)}
		after.stable[name] = after.names[name]
	}
	return after
}

// reboot gives the disk as it is found after a kill of the process: nothing is lost.
func (d *disk) reboot() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.locked = true
	after := newDisk()
	after.dirs = d.dirs
	for name, n := range d.names {
		after.names[name] = &node{data: slices.Clone(n.data), stable: slices.Clone(n.data)}
		after.stable[name] = after.names[name]
	}
	return after
}

// survive gives what a power loss leaves of a file.
func (n *node) survive(rng *rand.Rand, sector int) []byte {
	data := slices.Clone(n.stable)
	mode := rng.IntN(4) // all, none, a prefix, any sectors
	for _, w := range n.pending {
		if w.cut {
			if mode == 0 || mode > 1 && rng.IntN(2) == 0 {
				data = resize(data, w.offset)
			}
			continue
		}
		switch mode {
		case 0:
			data = put(data, w.offset, w.data)
		case 2:
			data = put(data, w.offset, w.data[:rng.IntN(len(w.data)+1)])
			if rng.IntN(3) == 0 {
				return data
			}
		case 3:
			for at := 0; at < len(w.data); at += sector {
				piece := w.data[at:min(at+sector, len(w.data))]
				if rng.IntN(2) == 0 {
					data = put(data, w.offset+int64(at), piece)
				} else if rng.IntN(2) == 0 { // the length arrived, the bytes did not
					data = resize(data, max(int64(len(data)), w.offset+int64(at+len(piece))))
				}
			}
		}
	}
	return data
}

func put(data []byte, offset int64, b []byte) []byte {
	data = resize(data, max(int64(len(data)), offset+int64(len(b))))
	copy(data[offset:], b)
	return data
}

func resize(data []byte, n int64) []byte {
	if n <= int64(len(data)) {
		return data[:n:n]
	}
	return append(data, make([]byte, n-int64(len(data)))...)
}

func (n *node) truncate(size int64) {
	n.data = resize(n.data, size)
	n.pending = append(n.pending, pendingWrite{offset: size, cut: true})
}

func (n *node) write(b []byte, offset int64) {
	if offset == int64(len(n.data)) {
		n.data = append(n.data, b...)
	} else {
		n.data = put(n.data, offset, b)
	}
	n.pending = append(n.pending, pendingWrite{offset: offset, data: n.data[offset : offset+int64(len(b))]})
}

func (n *node) sync() {
	if len(n.pending) == 1 && !n.pending[0].cut && n.pending[0].offset == int64(len(n.stable)) {
		n.stable = append(n.stable, n.pending[0].data...)
	} else {
		n.stable = slices.Clone(n.data)
	}
	n.pending = n.pending[:0]
}

// A handle is an open file or directory.
type handle struct {
	afero.File
	d    *disk
	path string
	n    *node // nil: a directory
	at   int64
}

func (h *handle) Name() string { return h.path }
func (h *handle) Close() error { return nil }

func (h *handle) Sync() error {
	if h.n == nil {
		return h.d.syncDir(h.path)
	}
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if _, err := h.d.before("sync %s", h.path); err != nil {
		return err
	}
	h.n.sync()
	return nil
}

func (h *handle) Truncate(size int64) error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if _, err := h.d.before("truncate %s to %d", h.path, size); err != nil {
		return err
	}
	h.n.truncate(size)
	return nil
}

func (h *handle) Write(p []byte) (int, error) {
	n, err := h.WriteAt(p, h.at)
	h.at += int64(n)
	return n, err
}

func (h *handle) WriteAt(p []byte, offset int64) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	left, err := h.d.before("write %s %d+%d", h.path, offset, len(p))
	if err != nil {
		left = min(left, len(p))
		if left > 0 {
			h.n.write(p[:left], offset)
		}
		return max(left, 0), err
	}
	h.n.write(p, offset)
	return len(p), nil
}

func (h *handle) Read(p []byte) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if h.at >= int64(len(h.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.n.data[h.at:])
	h.at += int64(n)
	return n, nil
}

func (h *handle) Stat() (os.FileInfo, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return info{filepath.Base(h.path), int64(len(h.n.data)), false}, nil
}

func (h *handle) Readdir(int) ([]os.FileInfo, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	var infos []os.FileInfo
	for name, n := range h.d.names {
		if filepath.Dir(name) == h.path {
			infos = append(infos, info{filepath.Base(name), int64(len(n.data)), false})
		}
	}
	for name := range h.d.dirs {
		if name != h.path && filepath.Dir(name) == h.path {
			infos = append(infos, info{filepath.Base(name), 0, true})
		}
	}
	sort.Slice(infos, func(i, k int) bool { return infos[i].Name() < infos[k].Name() })
	return infos, nil
}

type info struct {
	name string
	size int64
	dir  bool
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() os.FileMode  { return 0o644 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }
