//go:build !linux && !darwin

package volume

// statfs is not to be had here.
func statfs(string) (capacity, available int64, ok bool) { return 0, 0, false }

// deviceOf is not to be had here.
func deviceOf(string) (uint64, bool) { return 0, false }
