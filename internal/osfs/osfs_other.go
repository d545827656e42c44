//go:build !unix

package osfs

import (
	"io/fs"
	"os"
)

// Open opens a file.
func Open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

func rename(from, to string) error { return os.Rename(from, to) }
