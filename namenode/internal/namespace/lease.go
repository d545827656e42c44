package namespace

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func (n *Namespace) startLease(holder string, id dfs.INodeID) {
	files := n.leases[holder]
	if files == nil {
		files = map[dfs.INodeID]struct{}{}
		n.leases[holder] = files
	}
	files[id] = struct{}{}
	n.counts.OpenFiles++
}

func (n *Namespace) endLease(holder string, id dfs.INodeID) {
	files := n.leases[holder]
	delete(files, id)
	if len(files) == 0 {
		delete(n.leases, holder)
	}
	n.counts.OpenFiles--
}

// leaseFiles gives the number of files that a holder has open.
func (s *session) leaseFiles(holder string) int {
	if s.locked {
		s.n.lock.readIndex()
		defer s.n.lock.unreadIndex()
	}
	s.looked()
	return len(s.n.leases[holder])
}

// leaseText is how HDFS's lease errors end.
func (s *session) leaseText(path string, id dfs.INodeID, holder string) string {
	if k := s.leaseFiles(holder); k > 0 {
		return fmt.Sprintf("%s (inode %d) [Lease.  Holder: %s, pending creates: %d]", path, id, holder, k)
	}
	return fmt.Sprintf("%s (inode %d) Holder %s does not have any open files.", path, id, holder)
}

// openFile finds the file that a writer's call is about: by id where the client sent one.
func (s *session) openFile(path string, id dfs.INodeID, buf []*inode) (resolved, error) {
	if id == 0 {
		return s.toWrite(path, buf)
	}
	in := s.byID(id)
	if in == nil {
		return resolved{path: path, depth: 1}, nil
	}
	return s.chain(in, buf), nil
}

// checkLease answers the file when holder has it open.
func (s *session) checkLease(r *resolved, id dfs.INodeID, holder string) (*file, error) {
	expired := func(format string, args ...any) error {
		return dfs.Errorf(dfs.ClassLeaseExpired, format, append(args, s.leaseText(r.path, id, holder))...)
	}
	in := r.last()
	switch {
	case in == nil:
		return nil, notFound("File does not exist: %s", s.leaseText(r.path, id, holder))
	case in.isDir():
		return nil, expired("INode is not a regular file: %s")
	}
	f := in.file()
	switch {
	case !f.open():
		return nil, expired("File is not open for writing: %s")
	case f.writer.holder != holder:
		return nil, expired("Client (=%s) is not the lease owner (=%s: %s", holder, f.writer.holder)
	}
	return f, nil
}

// checkNotOpen refuses a call that needs a closed file. An active that finds the lease old starts its recovery first.
func (p *planner) checkNotOpen(call string, r *resolved, holder string) error {
	f := r.last().file()
	if !f.open() {
		return nil
	}
	refuse := func(class dfs.Class, why string) error {
		return dfs.Errorf(class, "Failed to %s %s for %s on %s because %s", call, r.path, holder, p.caller.Host, why)
	}
	w := f.writer
	switch {
	case w.holder == holder:
		return refuse(dfs.ClassAlreadyBeingCreated, holder+" is already the current lease holder.")
	case f.hasBlocks() && f.lastState == dfs.BlockUnderRecovery:
		return refuse(dfs.ClassRecoveryInProgress, "another recovery is in progress by "+w.holder+" on "+w.host)
	}
	return refuse(dfs.ClassAlreadyBeingCreated, "this file lease is currently owned by "+w.holder+" on "+w.host)
}

// CheckLease gives an open file when holder has it open, and HDFS's error otherwise.
func (n *Namespace) CheckLease(c dfs.Caller, path string, id dfs.INodeID, holder string) (*FileInfo, error) {
	n.lock.share()
	defer n.lock.unshare()
	s := n.reader(&c)
	var buf [16]*inode
	r, err := s.openFile(path, id, buf[:0])
	if err != nil {
		return nil, err
	}
	if _, err := s.checkLease(&r, id, holder); err != nil {
		return nil, err
	}
	return s.info(r.last(), r.path), nil
}

// OpenForRecovery makes the checks of recoverLease, and gives the file when it is open; nil when it is closed.
func (n *Namespace) OpenForRecovery(c dfs.Caller, path string) (*FileInfo, error) {
	s := n.begin(&c)
	defer n.lock.unshare()
	var buf [16]*inode
	r, err := s.toWrite(path, buf[:0])
	if err != nil {
		return nil, err
	}
	f, err := needFile(&r)
	if err != nil || !f.open() {
		return nil, err
	}
	if err := s.check(&r, need{target: dfs.AccessWrite}); err != nil {
		return nil, err
	}
	return s.info(r.last(), r.path), nil
}

// Lease gives the files that a holder has open; false when it has none.
func (n *Namespace) Lease(holder string) (Lease, bool) {
	n.lock.share()
	defer n.lock.unshare()
	n.lock.readIndex()
	defer n.lock.unreadIndex()
	files, ok := n.leases[holder]
	return lease(holder, files), ok
}

func lease(holder string, files map[dfs.INodeID]struct{}) Lease {
	l := Lease{Holder: holder, Files: make([]dfs.INodeID, 0, len(files))}
	for id := range files {
		l.Files = append(l.Files, id)
	}
	slices.Sort(l.Files)
	return l
}

// Leases gives all leases as they were when the iteration began, ordered by holder.
func (n *Namespace) Leases() iter.Seq[Lease] {
	return func(yield func(Lease) bool) {
		for _, l := range n.allLeases() {
			if !yield(l) {
				return
			}
		}
	}
}

func (n *Namespace) allLeases() []Lease {
	n.lock.share()
	defer n.lock.unshare()
	n.lock.readIndex()
	defer n.lock.unreadIndex()
	all := make([]Lease, 0, len(n.leases))
	for holder, files := range n.leases {
		all = append(all, lease(holder, files))
	}
	slices.SortFunc(all, func(a, b Lease) int { return strings.Compare(a.Holder, b.Holder) })
	return all
}

// OpenFiles gives a page of the files under construction with ids behind after, ordered by id.
func (n *Namespace) OpenFiles(after dfs.INodeID, limit int) (files []OpenFile, more bool) {
	n.lock.share()
	defer n.lock.unshare()
	n.lock.readIndex()
	defer n.lock.unreadIndex()
	var ids []dfs.INodeID
	for _, l := range n.leases {
		for id := range l {
			if id > after {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	if more = limit > 0 && len(ids) > limit; more {
		ids = ids[:limit]
	}
	for _, id := range ids {
		in := n.inodes.get(id)
		if w := in.file().writer; w != nil { // a wave may be closing it
			files = append(files, OpenFile{ID: id, Path: n.path(in), Holder: w.holder, Machine: w.host})
		}
	}
	return files, more
}
