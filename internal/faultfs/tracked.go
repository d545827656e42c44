package faultfs

import (
	"errors"
	"io"
	"io/fs"
	"sync"
	"syscall"

	"github.com/spf13/afero"
)

// pageSize is the grain in which overwritten bytes of real files are kept.
const pageSize = 4096

// tracked is what an FS knows of a file that is open for writing, or was and has unsynced bytes.
type tracked struct {
	path  string // now; guarded by FS.mu, as are opens and gone
	opens int
	gone  bool // has no name any more

	mu     sync.Mutex
	size   int64
	synced int64            // length at the last Sync
	pages  map[int64][]byte // synced bytes that were overwritten since, by page
}

// keepsBooks says whether lengths matter.
func (s *FS) keepsBooks() bool { return s.space != nil || s.track }

// acquire finds or makes the books of an open file; of a directory there are none.
func (s *FS) acquire(path string, f afero.File, created bool) (*tracked, error) {
	s.mu.Lock()
	t := s.files[path]
	if t != nil {
		t.opens++
	}
	s.mu.Unlock()
	if t != nil {
		return t, nil
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.files[path]; t == nil {
		t = &tracked{path: path, size: info.Size(), synced: info.Size()}
		if created {
			t.synced = 0
		}
		s.files[path] = t
	}
	t.opens++
	return t, nil
}

// release is for a handle that ends.
func (s *FS) release(t *tracked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.opens--
	if t.opens > 0 {
		return
	}
	if t.gone {
		s.charge(-t.length())
	} else if !s.track || !t.dirty() {
		delete(s.files, t.path)
	}
}

// charge adjusts the capacity without asking.
func (s *FS) charge(n int64) {
	if s.space != nil {
		s.space.force(n)
	}
}

func (t *tracked) length() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

func (t *tracked) dirty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size != t.synced || len(t.pages) > 0
}

// reserve makes room for n bytes at off, or at the end when off is negative. It says how many have it and where they are.
func (t *tracked) reserve(space *Space, off int64, n int) (at int64, room int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if off < 0 {
		off = t.size
	}
	grow := off + int64(n) - t.size
	if grow <= 0 {
		return off, n, nil
	}
	if space != nil {
		got := space.take(grow)
		if got < grow {
			err = syscall.ENOSPC
			n -= int(min(int64(n), grow-got))
			if n == 0 {
				space.force(-got)
				return off, 0, err
			}
		}
	}
	t.size = max(t.size, off+int64(n))
	return off, n, err
}

// settle corrects the length after a failed write.
func (s *FS) settle(t *tracked, f afero.File) {
	info, err := f.Stat()
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.charge(info.Size() - t.size)
	t.size = info.Size()
}

// save keeps the synced bytes of a range that is about to change. The file is read without the lock: whoever stored a
// page first had read it before anybody changed it.
func (t *tracked) save(f afero.File, off, end int64) error {
	t.mu.Lock()
	end = min(end, t.synced)
	t.mu.Unlock()
	for page := off / pageSize; page*pageSize < end; page++ {
		t.mu.Lock()
		_, ok := t.pages[page]
		synced := t.synced
		t.mu.Unlock()
		if ok {
			continue
		}
		old := make([]byte, min(pageSize, synced-page*pageSize))
		if _, err := f.ReadAt(old, page*pageSize); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		t.mu.Lock()
		if _, ok := t.pages[page]; !ok {
			if t.pages == nil {
				t.pages = make(map[int64][]byte)
			}
			t.pages[page] = old
		}
		t.mu.Unlock()
	}
	return nil
}

// sync makes the file durable: f.Sync does, and what was kept is dropped.
func (t *tracked) sync(f afero.File) error {
	t.mu.Lock()
	pages, size := t.pages, t.size
	t.pages = nil
	t.mu.Unlock()
	err := f.Sync()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.synced = size
		return nil
	}
	for page, old := range t.pages {
		if _, ok := pages[page]; !ok {
			if pages == nil {
				pages = make(map[int64][]byte)
			}
			pages[page] = old
		}
	}
	t.pages = pages
	return err
}

// truncate sets the length of f, charged and with the cut bytes kept.
func (s *FS) truncate(t *tracked, f afero.File, size int64) error {
	if s.track {
		if err := t.save(f, max(0, size), t.length()); err != nil {
			return err
		}
	}
	if old := t.length(); s.space != nil && size > old {
		if got := s.space.take(size - old); got < size-old {
			s.space.force(-got)
			return syscall.ENOSPC
		}
		s.space.force(old - size)
	}
	if err := f.Truncate(size); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.charge(size - t.size)
	t.size = size
	return nil
}

// isRegular says whether a path is a file, and its length.
func (s *FS) isRegular(name string) (info fs.FileInfo, ok bool) {
	info, err := s.inner.Stat(name)
	return info, err == nil && info.Mode().IsRegular()
}
