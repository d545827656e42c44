package osfs

import (
	"io/fs"
	"os"

	"github.com/spf13/afero"
)

// FS is the file system.
type FS struct{ afero.OsFs }

var _ afero.Fs = FS{}

// Create opens a file for reading and writing, made or emptied.
func (f FS) Create(name string) (afero.File, error) {
	return f.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open opens a file or directory for reading.
func (f FS) Open(name string) (afero.File, error) { return f.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a file with the flags of package os. The permissions have no bits beyond rwx.
func (FS) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	f, err := Open(name, flag, perm)
	if err != nil {
		return nil, err // not a nil *os.File, which would be a File that is not nil
	}
	return f, nil
}

// Rename moves a file, in place of another one if need be, or a directory, in place of an empty one if need be.
func (FS) Rename(from, to string) error { return rename(from, to) }
