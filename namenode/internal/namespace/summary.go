package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// ContentSummary answers getContentSummary. What only snapshots hold counts too, and is told apart.
func (n *Namespace) ContentSummary(c dfs.Caller, path string) (*ContentSummary, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return nil, err
	}
	in := r.last()
	if in == nil {
		return nil, notFound("File does not exist: %s", r.path)
	}
	t := tally{s: &s, frozen: r.inSnapshot()}
	if !t.frozen {
		t.snapshots()
	}
	if err := t.add(r.path, in); err != nil {
		return nil, err
	}
	if t.seen != nil {
		t.addSnapshots(in)
	}
	t.sum.Quota, t.sum.SpaceQuota = -1, -1
	if in.parent == 0 {
		t.sum.Quota = 1<<63 - 1 // HDFS keeps one for the root that nothing can exceed
	}
	return &t.sum, nil
}

// tally adds trees up.
type tally struct {
	s      *session
	sum    ContentSummary
	frozen bool                     // a snapshot's tree is added up
	seen   map[dfs.INodeID]struct{} // what was counted; nil: there are no snapshots to look at
	kept   map[dfs.INodeID]int64    // space that files of the present state take up in snapshots only
	looked int                      // children seen since the barrier was last let go
}

// yieldAfter is the number of children after which a tally lets others through.
const yieldAfter = 5000

// kids gives the children of a directory. The tree may change meanwhile, as it may in HDFS: inodes that have been
// taken out of it can still be looked at.
func (t *tally) kids(in *inode) []*inode {
	kids := t.s.kids(in)
	if t.looked += len(kids); t.looked >= yieldAfter {
		t.looked = 0
		t.s.n.lock.unshare()
		t.s.n.lock.share()
	}
	return kids
}

// snapshots readies the tally to look at snapshots, if there are any.
func (t *tally) snapshots() {
	n := t.s.n
	n.lock.readIndex()
	defer n.lock.unreadIndex()
	if n.counters.snapshots == 0 {
		return
	}
	t.seen, t.kept = map[dfs.INodeID]struct{}{}, map[dfs.INodeID]int64{}
	n.kept.Scan(func(_ dfs.BlockID, k keptBlock) bool {
		t.kept[k.File] += k.Len * int64(k.Replication)
		return true
	})
}

// add counts an inode and what is below it, where the caller may look.
func (t *tally) add(path string, in *inode) error {
	if t.seen != nil {
		t.seen[in.id] = struct{}{}
	}
	if !in.isDir() {
		f := in.file()
		if t.frozen {
			f = t.s.frozenFile(in)
		}
		length, space := f.size(t.frozen)
		t.sum.Files++
		t.sum.Length += length
		t.sum.SpaceConsumed += space + t.kept[in.id]
		return nil
	}
	const want = dfs.AccessRead | dfs.AccessExecute
	if !t.s.super && !t.s.may(in.attrs(), want) {
		return t.s.denied(in, path, want)
	}
	t.sum.Directories++
	for _, c := range t.kids(in) {
		if err := t.add(join(path, c.name), c); err != nil {
			return err
		}
	}
	return nil
}

// size gives a file's length, and its space: that of a block being written counts as a full block.
func (f *file) size(frozen bool) (length, space int64) {
	length = f.length()
	space = length
	if !frozen && f.hasBlocks() && f.lastState != dfs.BlockComplete {
		space += f.blockSize - f.last.Len
	}
	return length, space * int64(f.replication)
}

// addSnapshots counts what the snapshots below an inode hold that is not in the present state.
func (t *tally) addSnapshots(in *inode) {
	if !in.isDir() {
		return
	}
	if snaps := in.snaps(); snaps != nil {
		for _, s := range snaps.list {
			t.addGone(s.root)
		}
		return
	}
	for _, c := range t.kids(in) {
		t.addSnapshots(c)
	}
}

// addGone counts the inodes of a snapshot that were not counted before.
func (t *tally) addGone(in *inode) {
	_, counted := t.seen[in.id]
	t.seen[in.id] = struct{}{}
	if in.isDir() {
		if !counted {
			t.sum.Directories++
			t.sum.SnapshotDirectories++
		}
		for _, c := range t.kids(in) {
			t.addGone(c)
		}
		return
	}
	if counted {
		return
	}
	length, space := in.file().size(false)
	t.sum.Files++
	t.sum.SnapshotFiles++
	t.sum.Length += length
	t.sum.SnapshotLength += length
	t.sum.SpaceConsumed += space
	t.sum.SnapshotSpaceConsumed += space
}
