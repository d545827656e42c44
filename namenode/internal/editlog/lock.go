package editlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/afero"
)

// errLocked is what lockFile returns when somebody else holds the lock.
var errLocked = errors.New("locked")

// lock makes sure that no other live process, nor another journal of this one, works on dir. The lock is the
// operating system's, on in_use.lock: it ends with the process. File systems that are not the operating system's
// have no such lock: whoever made them keeps others away. unlock closes the file.
func lock(fs afero.Fs, dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, lockName)
	f, err := fs.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o644) // wrappers show the file below of a handle that only reads
	if err != nil {
		return nil, fmt.Errorf("editlog: cannot open %s: %w", path, err)
	}
	osFile := underlying(f)
	if osFile == nil {
		return f.Close, nil
	}
	if err := lockFile(osFile); err != nil {
		holder := "another process"
		if b, rerr := io.ReadAll(io.LimitReader(f, 256)); rerr == nil && len(b) > 0 {
			holder = strings.TrimSpace(string(b))
		}
		_ = f.Close()
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("editlog: %s is in use by %s; stop it or give another directory", dir, holder)
		}
		return nil, fmt.Errorf("editlog: cannot lock %s: %w", path, err)
	}
	if err := afero.WriteFile(fs, path, fmt.Appendf(nil, "process %d\n", os.Getpid()), 0o644); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("editlog: cannot write %s: %w", path, err)
	}
	return f.Close, nil
}

// underlying is the file of the operating system below f, nil if there is none.
func underlying(f afero.File) *os.File {
	switch f := f.(type) {
	case *os.File:
		return f
	case interface{ OSFile() (*os.File, bool) }:
		if of, ok := f.OSFile(); ok {
			return of
		}
	case *afero.BasePathFile:
		return underlying(f.File)
	}
	return nil
}
