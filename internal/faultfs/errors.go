package faultfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// The errors of package os that are not numbers of the kernel.
var (
	errNegative = errors.New("negative offset")
	errAppend   = errors.New("os: invalid use of WriteAt on file opened with O_APPEND")
)

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// linkError is what os.Rename gives: it names both paths.
func linkError(oldname, newname string, err error) error {
	return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: err}
}

// maxFile is the longest file of a Disk; a longer one fails with EFBIG, as on a real file system.
const maxFile = 16 << 40

// checkRange says whether a file may hold bytes off..off+n.
func checkRange(off int64, n int) error {
	switch {
	case off < 0:
		return errNegative
	case off > maxFile-int64(n):
		return syscall.EFBIG
	}
	return nil
}
