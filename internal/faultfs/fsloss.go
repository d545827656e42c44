package faultfs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
)

// PowerLoss takes the files to a state that a power loss could have left, as Disk.PowerLoss does; an FS over a Disk
// leaves it to the Disk. Without WithPowerLoss nothing is lost. It freezes the file system while it works: handles are
// dead afterwards. It returns a line for each loss, and for each that could not be made.
func (s *FS) PowerLoss(rng *rand.Rand) []string {
	s.mu.Lock()
	frozen := s.frozen
	s.mu.Unlock()
	s.Freeze()
	if !frozen {
		defer s.Thaw()
	}
	if inner, ok := s.inner.(powered); ok {
		return inner.PowerLoss(rng)
	}
	if !s.track {
		return nil
	}
	s.mu.Lock()
	changes := s.oldestLocked(len(s.changes))
	s.mu.Unlock()
	var report []string
	keep := len(changes) - rng.IntN(len(changes)+1)
	for len(changes) > keep {
		c := changes[len(changes)-1]
		changes = changes[:len(changes)-1]
		if err := s.undo(c); err != nil {
			report = append(report, fmt.Sprintf("not lost: %s: %v", c, err))
		} else {
			report = append(report, "lost: "+c.String())
		}
	}
	for _, c := range changes {
		c.lost.drop()
	}
	s.mu.Lock()
	files := maps.Clone(s.files)
	s.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		t := files[path]
		if !t.dirty() {
			continue
		}
		synced, written := t.synced, t.size
		outcome, err := s.lose(rng, path, t)
		if err != nil {
			outcome = "not lost: " + err.Error()
		}
		report = append(report, fmt.Sprintf("%s: %s (%d bytes synced, %d written, %d left)", path, outcome, synced, written, t.size))
	}
	return report
}

// Close ends the file system and lets go of what it held for a power loss.
func (s *FS) Close() error {
	s.Freeze()
	s.mu.Lock()
	changes := s.oldestLocked(len(s.changes))
	s.mu.Unlock()
	for _, c := range changes {
		c.lost.drop()
	}
	return nil
}

// String says what was done.
func (c nameChange) String() string {
	switch {
	case c.from == "":
		return "creation of " + c.to
	case c.to == "":
		return "removal of " + c.from
	case c.lost != nil:
		return "rename of " + c.from + " over " + c.to
	}
	return "rename of " + c.from + " to " + c.to
}

// lose decides what is left of a file and makes it so.
func (s *FS) lose(rng *rand.Rand, path string, t *tracked) (outcome string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pages := slices.Sorted(maps.Keys(t.pages))
	first := t.synced
	if len(pages) > 0 {
		first = min(first, pages[0]*pageSize)
	}
	fate := chooseFate(rng, t.synced, t.size, first)
	f, err := s.inner.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := f.Truncate(max(t.size, fate.size)); err != nil {
		return "", err
	}
	for _, page := range pages {
		if err := t.restore(f, page, fate); err != nil {
			return "", err
		}
	}
	zeros := make([]byte, sectorSize)
	for off := t.synced; off < min(t.size, fate.size); {
		next := min(fate.size, off-off%sectorSize+sectorSize)
		if !fate.keep(off) {
			if _, err := f.WriteAt(zeros[:next-off], off); err != nil {
				return "", err
			}
		}
		off = next
	}
	if err := f.Truncate(fate.size); err != nil {
		return "", err
	}
	s.charge(fate.size - t.size)
	t.size, t.synced, t.pages = fate.size, fate.size, nil
	return fate.name, nil
}

// restore writes back the old sectors of a page.
func (t *tracked) restore(f interface {
	WriteAt([]byte, int64) (int, error)
}, page int64, fate fate) error {
	old := t.pages[page]
	for at := 0; at < len(old); at += sectorSize {
		off := page*pageSize + int64(at)
		sector := old[at:min(len(old), at+sectorSize)]
		if fate.keep(off) {
			// What lies behind the end of a truncated file was not written.
			cut := min(int64(len(sector)), max(0, t.size-off))
			sector, off = sector[cut:], off+cut
		}
		if _, err := f.WriteAt(sector, off); err != nil {
			return err
		}
	}
	return nil
}
