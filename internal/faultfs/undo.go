package faultfs

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/spf13/afero"
)

// maxHeldFiles bounds the handles on removed files that a power loss could bring back.
const maxHeldFiles = 64

// nameChange is an operation on names in a real directory that is not durable yet. from is empty when something was
// made, to when it was removed.
type nameChange struct {
	from, to string
	dir      bool        // of a creation or removal: of a directory
	mode     fs.FileMode // of the directory
	lost     *lostFile   // what was removed or replaced
}

// lostFile is a file without name that a power loss can bring back.
type lostFile struct {
	mode  fs.FileMode
	held  afero.File // its bytes; nil when none was durable
	books *tracked   // nil when all of it was
	size  int64
}

// record remembers a change of names, and lets the oldest become durable when there are too many.
func (s *FS) record(c nameChange) {
	if !s.track {
		c.lost.drop()
		return
	}
	s.mu.Lock()
	s.changes = append(s.changes, c)
	s.held += c.lost.handles()
	n, held := 0, s.held
	for ; len(s.changes)-n > maxChanges || held > maxHeldFiles; n++ {
		held -= s.changes[n].lost.handles()
	}
	done := s.oldestLocked(n)
	s.mu.Unlock()
	for _, c := range done {
		c.lost.drop()
	}
}

// oldestLocked takes the first n changes off the list.
func (s *FS) oldestLocked(n int) []nameChange {
	done := s.changes[:n]
	s.changes = s.changes[n:]
	for _, c := range done {
		s.held -= c.lost.handles()
	}
	return done
}

// handles is the number of handles that a lost file costs.
func (l *lostFile) handles() int {
	if l == nil || l.held == nil {
		return 0
	}
	return 1
}

// drop gives up a lost file.
func (l *lostFile) drop() {
	if l != nil && l.held != nil {
		l.held.Close()
	}
}

// commit makes durable all changes up to the last one that gave a path its name or, of a directory, changed an entry.
func (s *FS) commit(path string) {
	s.mu.Lock()
	n := len(s.changes)
	for ; n > 0; n-- {
		c := s.changes[n-1]
		if c.from == path || c.to != "" && within(path, c.to) ||
			c.from != "" && filepath.Dir(c.from) == path || c.to != "" && filepath.Dir(c.to) == path {
			break
		}
	}
	done := s.oldestLocked(n)
	s.mu.Unlock()
	for _, c := range done {
		c.lost.drop()
	}
}

// sync syncs a handle.
func (s *FS) sync(f *file) error {
	t, path := f.books, f.path
	s.mu.Lock()
	if t == nil && s.track {
		t = s.files[path]
	}
	if t != nil {
		path = t.path
	}
	s.mu.Unlock()
	var err error
	if t != nil {
		err = t.sync(f.inner)
	} else {
		err = f.inner.Sync()
	}
	if err == nil && s.track {
		s.commit(path)
	}
	return err
}

// hold keeps what a removal or replacement is about to take away.
func (s *FS) hold(path string, info fs.FileInfo) (*lostFile, error) {
	s.mu.Lock()
	t := s.files[path]
	s.mu.Unlock()
	l := &lostFile{mode: info.Mode().Perm(), books: t, size: info.Size()}
	synced := info.Size()
	if t != nil {
		t.mu.Lock()
		synced = t.synced
		t.mu.Unlock()
	}
	if !s.track || synced == 0 {
		return l, nil
	}
	var err error
	l.held, err = s.inner.Open(path)
	return l, err
}

// forget takes a file that lost its name off the books and the capacity.
func (s *FS) forget(path string, l *lostFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := l.books
	if t == nil {
		s.charge(-l.size)
		return
	}
	delete(s.files, path)
	t.gone = true
	if t.opens == 0 {
		s.charge(-t.length())
	}
}

// remove removes a file or an empty directory.
func (s *FS) remove(name string) error {
	if !s.keepsBooks() {
		return s.inner.Remove(name)
	}
	path, c := key(name), nameChange{from: key(name)}
	info, regular := s.isRegular(name)
	if regular {
		var err error
		if c.lost, err = s.hold(path, info); err != nil {
			return err
		}
	} else if info != nil {
		c.dir, c.mode = true, info.Mode().Perm()
	}
	if err := s.inner.Remove(name); err != nil {
		c.lost.drop()
		return err
	}
	if c.lost != nil {
		s.forget(path, c.lost)
	}
	s.record(c)
	return nil
}

// rename moves a file or directory.
func (s *FS) rename(oldname, newname string) error {
	from, to := key(oldname), key(newname)
	if !s.keepsBooks() || from == to {
		return s.inner.Rename(oldname, newname)
	}
	c := nameChange{from: from, to: to}
	if info, regular := s.isRegular(newname); regular {
		var err error
		if c.lost, err = s.hold(to, info); err != nil {
			return err
		}
	}
	if err := s.inner.Rename(oldname, newname); err != nil {
		c.lost.drop()
		return err
	}
	if c.lost != nil {
		s.forget(to, c.lost)
	}
	s.move(from, to)
	s.record(c)
	return nil
}

// move changes the paths of the books of a file, or of all below a directory.
func (s *FS) move(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, t := range maps.Clone(s.files) {
		if within(path, from) {
			delete(s.files, path)
			t.path = to + path[len(from):]
			s.files[t.path] = t
		}
	}
}

// undo takes a change of names back; it is the last one.
func (s *FS) undo(c nameChange) error {
	switch {
	case c.from == "": // a creation
		info, regular := s.isRegular(c.to)
		if err := s.inner.Remove(c.to); err != nil || !regular {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if t := s.files[c.to]; t != nil {
			delete(s.files, c.to)
			s.abandonLocked(t)
		} else {
			s.charge(-info.Size())
		}
		return nil
	case c.to != "":
		if err := s.inner.Rename(c.to, c.from); err != nil {
			return err
		}
		s.move(c.to, c.from)
		if c.lost == nil {
			return nil
		}
		return s.restore(c.to, c.lost)
	case c.dir:
		return s.inner.Mkdir(c.from, c.mode)
	default:
		return s.restore(c.from, c.lost)
	}
}

// restore brings a removed file back under its name.
func (s *FS) restore(path string, l *lostFile) error {
	f, err := s.inner.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, l.mode)
	if err != nil {
		return err
	}
	defer f.Close()
	if l.held == nil { // none of its bytes was durable
		return nil
	}
	defer l.held.Close()
	n, err := io.Copy(f, io.NewSectionReader(l.held, 0, 1<<62))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.charge(n)
	if t := l.books; t != nil {
		s.files[path] = &tracked{path: path, size: n, synced: t.synced, pages: t.pages}
		s.abandonLocked(t)
	}
	return nil
}

// abandonLocked takes a file off the capacity whose handles, if any, are dead.
func (s *FS) abandonLocked(t *tracked) {
	if !t.gone || t.opens > 0 {
		s.charge(-t.length())
	}
	t.gone = true
	t.mu.Lock()
	t.size = 0
	t.mu.Unlock()
}
