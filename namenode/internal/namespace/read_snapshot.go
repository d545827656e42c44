package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// Snapshottables answers getSnapshottableDirListing: the caller's own directories, all for superusers, ordered by id.
// It is nil when there are none at all.
func (n *Namespace) Snapshottables(c dfs.Caller) ([]SnapshottableDir, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	n.lock.readIndex()
	ids := n.sortedSnapDirs()
	dirs := make([]*inode, len(ids))
	for i, id := range ids {
		dirs[i] = n.inodes.get(id)
	}
	n.lock.unreadIndex()
	if len(dirs) == 0 {
		return nil, nil
	}
	list := make([]SnapshottableDir, 0, len(dirs))
	for _, in := range dirs {
		if !s.super && n.names.name(in.attrs().owner) != c.User {
			continue
		}
		row := SnapshottableDir{Snapshots: len(in.snaps().list), Quota: int(s.params.MaxSnapshots)}
		if in.parent != 0 {
			row.Parent = parentOf(s.pathOf(in))
		}
		s.fill(&row.Status, in, in.name, s.policyAt(in))
		row.Snapshottable = false // HDFS does not say it here
		list = append(list, row)
	}
	return list, nil
}

// policyAt gives the storage policy in force at an inode of the present state.
func (s *session) policyAt(in *inode) uint8 {
	var buf [16]*inode
	return policyOf(s.chain(in, buf[:0]).nodes)
}

// SnapshotListing answers getSnapshotListing: the snapshots of a directory, ordered by name.
func (n *Namespace) SnapshotListing(c dfs.Caller, path string) ([]SnapshotInfo, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return nil, err
	}
	if err := s.check(&r, need{target: dfs.AccessRead}); err != nil {
		return nil, err
	}
	in, err := needSnapshottable(&r)
	if err != nil {
		return nil, err
	}
	list := make([]SnapshotInfo, 0, len(in.snaps().list))
	for _, snap := range in.snaps().list {
		row := SnapshotInfo{SnapshotID: snap.id, Parent: r.path}
		s.fillSnapshot(&row.Status, snap)
		row.Children = s.dirLen(in) // HDFS gives those of the present
		list = append(list, row)
	}
	return list, nil
}
