package namespace

import (
	"errors"
	"fmt"
)

// next reads one inode of a tree, crossing into the next frame where that is needed. size is the number of inodes that
// it stands for, itself and what is below it, when it was written before.
func (r *imageReader) next() (in *inode, kids, size uint64, err error) {
	if len(r.rec.b) == 0 && r.rec.err == nil {
		s := r.cur
		if err := r.frame(); err != nil {
			return nil, 0, 0, err
		}
		if r.cur != s {
			return nil, 0, 0, r.bad(fmt.Errorf("section %s ends in the middle of a tree", s))
		}
	}
	if len(r.rec.b) > 0 && r.rec.b[0] == recordShared {
		r.rec.byte()
		if k := r.rec.uvarint(); k < uint64(r.sharable) {
			return r.shared[k].in, 0, r.shared[k].size, nil
		}
		return nil, 0, 0, r.bad(errors.New("a reference to an inode that is not there"))
	}
	in, kids = r.rec.inode(1)
	if r.rec.err != nil {
		return nil, 0, 0, r.bad(r.rec.err)
	}
	r.count++
	if r.state.counters.snapshots > 0 {
		r.shared = append(r.shared, sharedInode{in, 1})
	}
	if t := in.snaps(); t != nil {
		r.snaps = append(r.snaps, t.list...)
	}
	return in, kids, 0, nil
}

// sharedInode is an inode that a later tree may refer to, and the number of inodes that it stands for.
type sharedInode struct {
	in   *inode
	size uint64
}

// maxDepth bounds trees that are read, so that walks of them do not exhaust a stack.
const maxDepth = 1 << 20

// tree reads a tree; visit is called for each inode of it that is not shared with a tree before.
func (r *imageReader) tree(visit func(*inode) error) (*inode, error) {
	type open struct {
		dir     *inode
		left    uint64
		size    uint64
		ordinal int
	}
	var stack []open
	var root *inode
	r.sharable = len(r.shared)
	for {
		ordinal := len(r.shared)
		in, kids, size, err := r.next()
		if err != nil {
			return nil, err
		}
		isNew := size == 0
		if len(stack) == 0 {
			root = in
		} else {
			d := &stack[len(stack)-1]
			d.left--
			if in.name == "" || d.dir.dir.child(in.name) != nil {
				return nil, r.bad(fmt.Errorf("inode %d: its name %q is empty or taken", in.id, in.name))
			}
			if isNew {
				in.parent = d.dir.id
			}
			d.dir.dir.set(in)
		}
		if isNew {
			if err := visit(in); err != nil {
				return nil, r.bad(err)
			}
			if kids > 0 {
				stack = append(stack, open{in, kids, 1, ordinal})
				continue
			}
			size = 1
		}
		// Directories that are complete now count below theirs.
		for len(stack) > 0 {
			d := &stack[len(stack)-1]
			if d.size += size; d.left > 0 {
				break
			}
			if size = d.size; d.ordinal < len(r.shared) {
				r.shared[d.ordinal].size = size
			}
			stack = stack[:len(stack)-1]
		}
		// An id is in a tree once: more inodes than records would mean that references multiply.
		if size > r.count {
			return nil, r.bad(errors.New("a tree in which inodes are there more than once"))
		}
		if len(stack) == 0 {
			return root, nil
		}
		if len(stack) > maxDepth {
			return nil, r.bad(fmt.Errorf("directories more than %d deep", maxDepth))
		}
	}
}
