package namespace

import "github.com/minidfs/go-minidfs/internal/dfs"

// begin readies a read: everybody who reads holds the barrier shared.
func (n *Namespace) begin(c *dfs.Caller) session {
	n.lock.share()
	return n.reader(c)
}

// Status answers getFileInfo: nil without an error when the path does not exist.
func (n *Namespace) Status(c dfs.Caller, path string, resolveLast bool) (*Status, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		if s.super && dfs.AsRemote(err).Class == dfs.ClassAccessControl {
			return nil, nil // below a file there is nothing
		}
		return nil, err
	}
	if r.isDotSnapshot() {
		return dotSnapshotStatus(), nil
	}
	if r.path == "/"+dotReserved {
		return &Status{ID: -1, Type: TypeDir, Perm: 0o1770}, nil
	}
	in := r.last()
	if in == nil {
		return nil, nil
	}
	st := s.status(in, "", policyOf(r.nodes))
	if r.inSnapshot() && !in.isDir() {
		s.fillFile(st, in.id, s.frozenFile(in), policyOf(r.nodes))
	}
	return st, nil
}

// dotSnapshotStatus is what HDFS shows for a ".snapshot" directory.
func dotSnapshotStatus() *Status { return &Status{ID: -1, Type: TypeDir, Perm: 0o777} }

// policyOf gives the storage policy in force for the last of the nodes on a path.
func policyOf(nodes []*inode) uint8 {
	for i := len(nodes) - 1; i >= 0; i-- {
		if p := nodes[i].attrs().policy; p != 0 {
			return p
		}
	}
	return 0
}

func inherited(own, above uint8) uint8 {
	if own != 0 {
		return own
	}
	return above
}

// status describes an inode. policy is the storage policy in force above it.
func (s *session) status(in *inode, name string, policy uint8) *Status {
	st := new(Status)
	s.fill(st, in, name, policy)
	return st
}

func (s *session) fill(st *Status, in *inode, name string, policy uint8) {
	st.ID, st.Name = in.id, name
	if !in.isDir() {
		s.fillFile(st, in.id, in.file(), policy)
		return
	}
	st.Type = TypeDir
	st.Snapshottable = in.snaps() != nil || in.parent == 0
	if f := in.dir.features; f != nil {
		st.ATime = f.atime
	}
	s.fillAttrs(st, in.dir.attrs, policy)
	if s.locked {
		s.n.lock.readDir(in.id)
		defer s.n.lock.unreadDir(in.id)
	}
	st.MTime, st.Children = in.dir.mtime, in.dir.len()
}

func (s *session) fillFile(st *Status, id dfs.INodeID, f *file, policy uint8) {
	st.ID, st.Type = id, TypeFile
	s.fillAttrs(st, f.attrs, policy)
	st.Length, st.MTime, st.ATime = f.length(), f.mtime, f.atime
	st.Replication, st.BlockSize, st.UnderConstruction = f.replication, f.blockSize, f.open()
}

func (s *session) fillAttrs(st *Status, a attrs, policy uint8) {
	st.Perm, st.StoragePolicy = a.perm, inherited(a.policy, policy)
	st.Owner, st.Group = s.n.names.name(a.owner), s.n.names.name(a.group)
}

// needFile gives the content of the file that a path names, or HDFS's error.
func needFile(r *resolved) (*file, error) {
	switch in := r.last(); {
	case in == nil:
		return nil, notFound("File does not exist: %s", r.path)
	case in.isDir():
		return nil, notFound("Path is not a file: %s", r.path)
	default:
		return in.file(), nil
	}
}

// PreferredBlockSize answers getPreferredBlockSize.
func (n *Namespace) PreferredBlockSize(c dfs.Caller, path string) (int64, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return 0, err
	}
	f, err := needFile(&r)
	if err != nil {
		return 0, err
	}
	return f.blockSize, nil
}

// IsFileClosed answers isFileClosed.
func (n *Namespace) IsFileClosed(c dfs.Caller, path string) (bool, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return false, err
	}
	f, err := needFile(&r)
	if err != nil {
		return false, err
	}
	return !f.open(), nil
}

// CheckAccess answers checkAccess: nil when the caller may.
func (n *Namespace) CheckAccess(c dfs.Caller, path string, access dfs.Access) error {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return err
	}
	if r.last() == nil {
		return notFound("Path not found: %s", r.path)
	}
	return s.check(&r, need{target: access})
}

// ACLStatus answers getAclStatus.
func (n *Namespace) ACLStatus(c dfs.Caller, path string) (*ACLStatus, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err != nil {
		return nil, err
	}
	in := r.last()
	if in == nil {
		return nil, notFound("cannot find %s", r.path)
	}
	a := in.attrs()
	return &ACLStatus{
		Owner: n.names.name(a.owner), Group: n.names.name(a.group),
		Perm: a.perm, Sticky: a.perm&dfs.PermSticky != 0,
	}, nil
}

// StoragePolicy answers getStoragePolicy: 0 when none is set on the path or above.
func (n *Namespace) StoragePolicy(c dfs.Caller, path string) (uint8, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toRead(path, buf[:0])
	if err == nil {
		err = s.check(&r, need{target: dfs.AccessRead})
	}
	if err != nil {
		return 0, err
	}
	if r.last() == nil {
		return 0, notFound("File/Directory does not exist: %s", r.path)
	}
	return policyOf(r.nodes), nil
}
