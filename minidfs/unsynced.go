package minidfs

import (
	"io/fs"
	"os"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/internal/osfs"
)

// unsynced is the operating system's file system without syncs, for folders that go with their cluster: nobody comes back
// to look for what a power loss would take.
type unsynced struct{ osfs.FS }

// Create is OpenFile, as package os has it.
func (u unsynced) Create(name string) (afero.File, error) {
	return u.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open opens a file or directory for reading.
func (u unsynced) Open(name string) (afero.File, error) { return u.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a file whose Sync does nothing.
func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	f, err := osfs.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

type unsyncedFile struct{ *os.File }

// Sync does nothing.
func (unsyncedFile) Sync() error { return nil }

// OSFile shows the file to who wants to send or lock it.
func (f unsyncedFile) OSFile() (*os.File, bool) { return f.File, true }
