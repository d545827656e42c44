package volume

import (
	"github.com/minidfs/go-minidfs/internal/dfs"
)

// ClassDiskOutOfSpace is the class of the error when no volume has room.
const ClassDiskOutOfSpace dfs.Class = "org.apache.hadoop.util.DiskChecker$DiskOutOfSpaceException"

// choose takes the volumes of a type in turn and gives the first that has room for a replica of size bytes and its
// checksums. The room is asked for outside the lock.
func (s *Set) choose(t dfs.StorageType, size int64, c Checksum) (*Volume, error) {
	s.mu.Lock()
	if err := s.usableLocked(); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	first := s.next
	s.next++
	vols := s.volumes
	s.mu.Unlock()

	need := size + c.metaLen(size)
	most, any := int64(0), false
	for i := range vols {
		at := (first + i) % len(vols)
		v := vols[at]
		if v.Type() != t || v.Failed() {
			continue
		}
		_, room := v.Space()
		if room >= need {
			if i > 0 {
				s.mu.Lock()
				s.next = at + 1
				s.mu.Unlock()
			}
			return v, nil
		}
		most, any = max(most, room), true
	}
	if !any {
		return nil, dfs.Errorf(ClassDiskOutOfSpace, "No more available volumes of storage type %s", t)
	}
	return nil, dfs.Errorf(ClassDiskOutOfSpace,
		"Out of space: The volume with the most available space (=%d B) is less than the block size (=%d B).", most, need)
}
