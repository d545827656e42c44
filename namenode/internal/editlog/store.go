package editlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/afero"
)

// Names below the directory of a journal, those of HDFS.
const (
	currentDir  = "current"
	versionName = "VERSION"
	seenName    = "seen_txid"
	lockName    = "in_use.lock"

	tempSuffix       = ".tmp"
	inProgressPrefix = "edits_inprogress_"
	editsPrefix      = "edits_"
	imagePrefix      = "fsimage_"
)

// A store is the directory with the files of one journal.
type store struct {
	fs  afero.Fs
	dir string // of the files: current
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

func inProgressName(first uint64) string { return fmt.Sprintf("%s%019d", inProgressPrefix, first) }
func editsName(first, last uint64) string {
	return fmt.Sprintf("%s%019d-%019d", editsPrefix, first, last)
}
func imageName(txid uint64) string { return fmt.Sprintf("%s%019d", imagePrefix, txid) }

// parseTxID reads a transaction id as the names above write it.
func parseTxID(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return n, err == nil && fmt.Sprintf("%019d", n) == s
}

// A listing is what a directory holds.
type listing struct {
	images   []uint64      // txids, ascending
	segments []segmentFile // by first txid, ascending
	temps    []string      // unfinished files of a crash
	version  bool
}

// A segmentFile is what a segment's name says.
type segmentFile struct {
	name        string
	first, last uint64 // txids; last only when closed
	closed      bool
}

// list reads the directory; names that are not the journal's are left alone.
func (s *store) list() (listing, error) {
	var l listing
	infos, err := afero.ReadDir(s.fs, s.dir)
	if err != nil {
		return l, fmt.Errorf("editlog: cannot list %s: %w", s.dir, err)
	}
	for _, info := range infos {
		name := info.Name()
		if info.IsDir() {
			continue
		}
		if strings.HasSuffix(name, tempSuffix) {
			l.temps = append(l.temps, name)
		} else if name == versionName {
			l.version = true
		} else if id, ok := cutTxID(name, imagePrefix); ok {
			l.images = append(l.images, id)
		} else if id, ok := cutTxID(name, inProgressPrefix); ok {
			l.segments = append(l.segments, segmentFile{name: name, first: id})
		} else if span, ok := strings.CutPrefix(name, editsPrefix); ok {
			from, to, _ := strings.Cut(span, "-")
			first, ok1 := parseTxID(from)
			last, ok2 := parseTxID(to)
			if ok1 && ok2 && first <= last {
				l.segments = append(l.segments, segmentFile{name: name, first: first, last: last, closed: true})
			}
		}
	}
	slices.Sort(l.images)
	slices.SortFunc(l.segments, func(a, b segmentFile) int {
		switch {
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return l, nil
}

func cutTxID(name, prefix string) (uint64, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	return parseTxID(rest)
}

// read gives the whole content of a file.
func (s *store) read(name string) ([]byte, error) {
	b, err := afero.ReadFile(s.fs, s.path(name))
	if err != nil {
		return nil, fmt.Errorf("editlog: cannot read %s: %w", s.path(name), err)
	}
	return b, nil
}

// write makes a file appear under its name with everything that fill writes, durably, or not at all.
func (s *store) write(name string, fill func(w io.Writer) error) error {
	temp := s.path(name + tempSuffix)
	f, err := s.fs.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("editlog: cannot create %s: %w", temp, err)
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = s.fs.Remove(temp) // else the next start removes it
		return fmt.Errorf("editlog: cannot write %s: %w", temp, err)
	}
	return s.rename(name+tempSuffix, name)
}

func writeBytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// sync makes the bytes of a file durable.
func (s *store) sync(name string) error {
	f, err := s.fs.OpenFile(s.path(name), os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("editlog: cannot open %s: %w", s.path(name), err)
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("editlog: cannot sync %s: %w", s.path(name), err)
	}
	return nil
}

func (s *store) rename(from, to string) error {
	if err := s.fs.Rename(s.path(from), s.path(to)); err != nil {
		return fmt.Errorf("editlog: cannot rename %s to %s: %w", s.path(from), to, err)
	}
	return s.syncDir(s.dir)
}

func (s *store) remove(name string) error {
	err := s.fs.Remove(s.path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("editlog: cannot remove %s: %w", s.path(name), err)
	}
	return nil
}

// makeDir makes a directory, and those above it that are missing, durably.
func (s *store) makeDir(dir string) error {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		_, err := s.fs.Stat(d)
		if err == nil || d == filepath.Dir(d) {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("editlog: cannot stat %s: %w", d, err)
		}
		missing = append(missing, d)
	}
	if err := s.fs.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("editlog: cannot make directory %s: %w", dir, err)
	}
	for _, d := range missing {
		if err := s.syncDir(filepath.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

// syncDir makes the entries of a directory durable, where the file system knows of such a thing.
func (s *store) syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced; NTFS journals their entries
	}
	d, err := s.fs.Open(dir)
	if err != nil {
		return fmt.Errorf("editlog: cannot open directory %s: %w", dir, err)
	}
	err = d.Sync()
	_ = d.Close()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("editlog: cannot sync directory %s: %w", dir, err)
	}
	return nil
}
