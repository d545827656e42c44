//go:build linux || darwin

package volume

import "syscall"

// statfs asks the operating system for the size of, and the room left on, the file system that holds dir.
func statfs(dir string) (capacity, available int64, ok bool) {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return 0, 0, false
	}
	return int64(st.Blocks) * int64(st.Bsize), int64(st.Bavail) * int64(st.Bsize), true
}

// deviceOf gives the number of the device that holds dir.
func deviceOf(dir string) (uint64, bool) {
	var st syscall.Stat_t
	if syscall.Stat(dir, &st) != nil {
		return 0, false
	}
	return uint64(st.Dev), true
}
