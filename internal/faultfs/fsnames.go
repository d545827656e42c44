package faultfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/afero"
)

// Create opens a file for reading and writing, made or emptied.
func (s *FS) Create(name string) (afero.File, error) {
	return s.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open opens a file or directory for reading.
func (s *FS) Open(name string) (afero.File, error) { return s.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a file with the flags of package os.
func (s *FS) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	f := &file{fs: s, gate: s.gate.Load(), name: name, path: key(name), flag: flag}
	op := Op{Kind: Open, Path: f.path}
	if flag&os.O_CREATE != 0 {
		op.Kind = Create
	}
	if err := s.run(op, "open", func() error { return f.open(perm) }); err != nil {
		return nil, err
	}
	f.gate.open.Add(1)
	s.counts.opened.Add(1)
	return f, nil
}

// Mkdir makes one directory.
func (s *FS) Mkdir(name string, perm fs.FileMode) error {
	return s.run(Op{Kind: Mkdir, Path: key(name)}, "mkdir", func() error {
		err := s.inner.Mkdir(name, perm)
		if err == nil {
			s.record(nameChange{to: key(name), dir: true})
		}
		return err
	})
}

// MkdirAll makes a directory and those above it that are missing.
func (s *FS) MkdirAll(name string, perm fs.FileMode) error {
	return s.run(Op{Kind: Mkdir, Path: key(name)}, "mkdir", func() error {
		var missing []string
		if s.track {
			missing = s.missing(key(name))
		}
		err := s.inner.MkdirAll(name, perm)
		for _, p := range missing {
			if _, statErr := s.inner.Stat(p); statErr == nil {
				s.record(nameChange{to: p, dir: true})
			}
		}
		return err
	})
}

// missing lists the directories on the way to a path that are not there, from the top.
func (s *FS) missing(path string) (all []string) {
	for {
		if _, err := s.inner.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		all = append(all, path)
		up := filepath.Dir(path)
		if up == path {
			break
		}
		path = up
	}
	slices.Reverse(all)
	return all
}

// Remove removes a file or an empty directory.
func (s *FS) Remove(name string) error {
	return s.run(Op{Kind: Remove, Path: key(name)}, "remove", func() error { return s.remove(name) })
}

// RemoveAll removes whatever is at the path and below; it is no error when nothing is.
func (s *FS) RemoveAll(name string) error {
	return s.run(Op{Kind: Remove, Path: key(name)}, "removeall", func() error {
		if !s.keepsBooks() {
			return s.inner.RemoveAll(name)
		}
		return s.removeAll(name)
	})
}

// removeAll removes one by one, so that each file is accounted for.
func (s *FS) removeAll(name string) error {
	info, err := s.inner.Stat(name)
	if err != nil {
		return s.inner.RemoveAll(name) // nothing there, or it says what is wrong
	}
	if info.IsDir() {
		names, err := readNames(s.inner, name)
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := s.removeAll(filepath.Join(name, n)); err != nil {
				return err
			}
		}
	}
	return s.remove(name)
}

func readNames(fsys afero.Fs, dir string) ([]string, error) {
	f, err := fsys.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Rename moves a file or directory.
func (s *FS) Rename(oldname, newname string) error {
	op := Op{Kind: Rename, Path: key(oldname), To: key(newname)}
	return s.run(op, "rename", func() error { return s.rename(oldname, newname) })
}

// Stat describes a file or directory.
func (s *FS) Stat(name string) (info fs.FileInfo, err error) {
	err = s.run(Op{Kind: Stat, Path: key(name)}, "stat", func() error {
		info, err = s.inner.Stat(name)
		return err
	})
	return info, err
}

// Chmod sets the permission bits.
func (s *FS) Chmod(name string, mode fs.FileMode) error {
	return s.run(Op{Kind: Attr, Path: key(name)}, "chmod", func() error { return s.inner.Chmod(name, mode) })
}

// Chown sets the owner.
func (s *FS) Chown(name string, uid, gid int) error {
	return s.run(Op{Kind: Attr, Path: key(name)}, "chown", func() error { return s.inner.Chown(name, uid, gid) })
}

// Chtimes sets the times.
func (s *FS) Chtimes(name string, atime, mtime time.Time) error {
	return s.run(Op{Kind: Attr, Path: key(name)}, "chtimes", func() error { return s.inner.Chtimes(name, atime, mtime) })
}
