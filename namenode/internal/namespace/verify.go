package namespace

import (
	"errors"
	"fmt"

	"github.com/tidwall/btree"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Verify compares the tree with the indexes that say the same in another way: ids, blocks, leases, counts. Nothing is
// applied meanwhile; also, if not nil, is called in that time with every block that a file or a snapshot holds, so that
// an observer can be compared. What Verify returns is a bug of ours, or damage.
func (n *Namespace) Verify(also func(blocks []BlockInfo) error) error {
	n.applying.Lock()
	defer n.applying.Unlock()
	v := &verifier{n: n, blocks: map[dfs.BlockID]dfs.INodeID{}, open: map[dfs.INodeID]string{}}
	v.inode(n.root, 0)
	v.indexes()
	v.leases()
	n.kept.Scan(func(id dfs.BlockID, k keptBlock) bool {
		v.all = append(v.all, k.BlockInfo)
		if file, live := v.blocks[id]; live {
			v.fail("block %d is held by inode %d and also kept for snapshots only", id, file)
		}
		if k.ID != id || len(k.holders) == 0 {
			v.fail("block %d is kept as %s for %d snapshots", id, k.Block, len(k.holders))
		}
		return true
	})
	if also != nil {
		v.errs = append(v.errs, also(v.all))
	}
	return errors.Join(v.errs...)
}

// verifier walks the tree once.
type verifier struct {
	n      *Namespace
	counts Counts
	blocks map[dfs.BlockID]dfs.INodeID
	open   map[dfs.INodeID]string // files under construction -> holder
	all    []BlockInfo
	errs   []error
}

// worst bounds the list of errors: one cause often has many.
const worst = 20

func (v *verifier) fail(format string, args ...any) {
	if len(v.errs) < worst {
		v.errs = append(v.errs, fmt.Errorf("namespace: "+format, args...))
	}
}

func (v *verifier) inode(in *inode, parent dfs.INodeID) {
	v.counts.INodes++
	if in.parent != parent {
		v.fail("inode %d (%q) is below inode %d, and names inode %d as its parent", in.id, in.name, parent, in.parent)
	}
	if v.n.inodes.get(in.id) != in {
		v.fail("inode %d (%q) is in the tree; the index of inodes has another under this id, or none", in.id, in.name)
	}
	if in.id > v.n.counters.inode {
		v.fail("inode %d has an id beyond the last one handed out, %d", in.id, v.n.counters.inode)
	}
	if !in.isDir() {
		v.counts.Files++
		v.file(in, in.file())
		return
	}
	v.counts.Directories++
	if t := in.snaps(); t != nil {
		v.counts.Snapshots += int64(len(t.list))
		if _, ok := v.n.snapDirs[in.id]; !ok {
			v.fail("inode %d is snapshottable, and not in the list of those", in.id)
		}
	}
	if in.dir.kids == nil {
		return
	}
	in.dir.kids.Scan(func(key string, c *inode) bool {
		if nameKey(c.name) != key {
			v.fail("inode %d is %q in its directory and %q by itself", c.id, key, c.name)
		}
		v.inode(c, in.id)
		return true
	})
}

func (v *verifier) file(in *inode, f *file) {
	if f.open() {
		v.open[in.id] = f.writer.holder
	}
	var settled int64
	for i := range f.count() {
		b := f.info(in.id, i)
		if i < len(f.settled) {
			settled += b.Len
		}
		switch other, twice := v.blocks[b.ID]; {
		case twice:
			v.fail("block %d is in the files %d and %d", b.ID, other, in.id)
		case b.ID > v.n.counters.block || b.GenStamp > v.n.counters.stamp:
			v.fail("%s of file %d has an id or stamp beyond the last ones handed out, %d and %d", b.Block, in.id, v.n.counters.block, v.n.counters.stamp)
		case !f.open() && b.State != dfs.BlockComplete:
			v.fail("%s of file %d, which is closed, is %s", b.Block, in.id, b.State)
		case v.n.blocks.get(b.ID) != in.id:
			v.fail("block %d is of file %d, and of %d by the index of blocks", b.ID, in.id, v.n.blocks.get(b.ID))
		}
		v.blocks[b.ID] = in.id
		v.counts.Blocks++
		v.all = append(v.all, b)
	}
	if settled != f.settledLen {
		v.fail("file %d: its blocks but the last have %d bytes, it counts %d", in.id, settled, f.settledLen)
	}
}

func (v *verifier) indexes() {
	n := v.n
	v.counts.OpenFiles = int64(len(v.open))
	if v.counts != n.counts {
		v.fail("the tree has %+v, the counters say %+v", v.counts, n.counts)
	}
	if int64(n.inodes.len()) != v.counts.INodes {
		v.fail("the index has %d inodes, the tree %d", n.inodes.len(), v.counts.INodes)
	}
	if n.blocks.len() != len(v.blocks) {
		v.fail("the index has %d blocks, the files %d", n.blocks.len(), len(v.blocks))
	}
	for id := range n.snapDirs {
		if in := n.inodes.get(id); in == nil || in.snaps() == nil {
			v.fail("inode %d is in the list of snapshottable directories, and is none", id)
		}
	}
	v.kept(n.kept)
}

func (v *verifier) kept(kept *btree.Map[dfs.BlockID, keptBlock]) {
	held := 0
	for snap, ids := range v.n.keptBy {
		held += len(ids)
		for _, id := range ids {
			if _, ok := kept.Get(id); !ok {
				v.fail("snapshot %d holds block %d, which is not kept", snap, id)
			}
		}
	}
	holders := 0
	kept.Scan(func(_ dfs.BlockID, k keptBlock) bool { holders += len(k.holders); return true })
	if held != holders {
		v.fail("snapshots hold %d blocks, kept blocks have %d holders", held, holders)
	}
}

// leases compares the files under construction with those that somebody holds a lease of.
func (v *verifier) leases() {
	leased := 0
	for holder, files := range v.n.leases {
		if len(files) == 0 {
			v.fail("%s holds the lease of no file", holder)
		}
		leased += len(files)
		for id := range files {
			if v.open[id] != holder {
				v.fail("%s holds the lease of inode %d, whose writer is %q", holder, id, v.open[id])
			}
		}
	}
	if leased != len(v.open) {
		v.fail("%d files are open for writing, %d are leased", len(v.open), leased)
	}
}
