package namespace

import (
	"slices"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// List answers getListing: the entries behind startAfter in the order of their names, at most limit of them (0: all);
// nil without an error when the path does not exist. A file lists itself. With blocks, a page also ends once it holds
// limit replicas, as in HDFS.
func (n *Namespace) List(c dfs.Caller, path, startAfter string, limit int, withBlocks bool) (*Listing, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return nil, err
	}
	if i := strings.LastIndexByte(startAfter, '/'); i >= 0 {
		startAfter = startAfter[i+1:]
	}
	if r.path == "/"+dotReserved {
		reserved := Status{ID: -1, Type: TypeDir, Name: ".inodes", Perm: 0o770, Group: s.params.Supergroup}
		raw := reserved
		raw.Name = "raw"
		return &Listing{Entries: []Status{reserved, raw}, Reserved: true}, nil
	}
	if r.name() == dotSnapshot && r.dotAt == 0 { // whose directory may not have any
		above := resolved{path: r.parentPath(), nodes: r.nodes, depth: r.depth - 1}
		if _, err := needSnapshottable(&above); err != nil {
			return nil, err
		}
	}
	if r.isDotSnapshot() {
		if err := s.check(&resolved{path: r.path, nodes: r.nodes, depth: r.depth - 1}, need{target: dfs.AccessRead | dfs.AccessExecute}); err != nil {
			return nil, err
		}
		return s.listSnapshots(r.snapOwner, startAfter, limit), nil
	}
	in := r.last()
	if in == nil {
		return nil, nil
	}
	policy := policyOf(r.nodes)
	if !in.isDir() {
		l := &Listing{Entries: make([]Status, 1)}
		s.entry(&l.Entries[0], in, "", policy, withBlocks, r.inSnapshot())
		return l, nil
	}
	if err := s.check(&r, need{target: dfs.AccessRead | dfs.AccessExecute}); err != nil {
		return nil, err
	}
	kids, remaining := s.page(in, startAfter, limit)
	l := &Listing{Entries: make([]Status, len(kids)), Remaining: remaining}
	budget := limit
	for i, k := range kids {
		s.entry(&l.Entries[i], k, k.name, policy, withBlocks, r.inSnapshot())
		if b := l.Entries[i].Blocks; b != nil && limit > 0 {
			if budget -= len(b.Blocks) * int(l.Entries[i].Replication); budget <= 0 {
				l.Remaining += len(kids) - i - 1
				l.Entries = l.Entries[:i+1]
				break
			}
		}
	}
	return l, nil
}

func (s *session) entry(st *Status, in *inode, name string, policy uint8, withBlocks, frozen bool) {
	if in.isDir() {
		s.fill(st, in, name, policy)
		return
	}
	f := in.file() // once: status and blocks must belong together
	if frozen {
		f = s.frozenFile(in)
	}
	s.fillFile(st, in.id, f, policy)
	st.Name = name
	if withBlocks {
		st.Blocks = s.fileBlocks(in.id, f, 0, f.length(), st.StoragePolicy, frozen)
	}
}

// page takes up to limit children behind a name, and tells how many follow.
func (s *session) page(in *inode, startAfter string, limit int) (kids []*inode, remaining int) {
	if s.locked {
		s.n.lock.readDir(in.id)
		defer s.n.lock.unreadDir(in.id)
	}
	if in.dir.kids == nil {
		return nil, 0
	}
	// The children form an ordered sequence: the first one behind startAfter is found by halving.
	tree := in.dir.kids
	lo, hi := 0, tree.Len()
	if startAfter == "" {
		hi = 0
	}
	after := nameKey(startAfter)
	for lo < hi {
		mid := (lo + hi) / 2
		if key, _, _ := tree.GetAt(mid); key <= after {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	left := tree.Len() - lo
	size := left
	if limit > 0 {
		size = min(left, limit)
	}
	kids = make([]*inode, 0, size)
	if size > 0 {
		first, _, _ := tree.GetAt(lo)
		tree.Ascend(first, func(_ string, c *inode) bool {
			kids = append(kids, c)
			return len(kids) < size
		})
	}
	return kids, left - size
}

// listSnapshots lists a ".snapshot" directory: the snapshots' roots under the snapshots' names.
func (s *session) listSnapshots(owner *inode, startAfter string, limit int) *Listing {
	l := new(Listing)
	t := owner.snaps()
	if t == nil {
		return l
	}
	i, found := t.search(startAfter)
	if found {
		i++
	}
	list := t.list[i:]
	if limit > 0 && len(list) > limit {
		l.Remaining = len(list) - limit
		list = list[:limit]
	}
	l.Entries = make([]Status, len(list))
	for i, snap := range slices.All(list) {
		s.fillSnapshot(&l.Entries[i], snap)
	}
	return l
}

// fillSnapshot describes a snapshot's root by the snapshot's name and time.
func (s *session) fillSnapshot(st *Status, snap *snapshot) {
	s.fill(st, snap.root, snap.name, 0)
	st.MTime = snap.mtime
}
