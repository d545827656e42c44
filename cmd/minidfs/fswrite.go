package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/minidfs/go-minidfs/client"
)

func (s *session) put(flags map[string]bool, args []string) error {
	sources, to := args[:len(args)-1], args[len(args)-1]
	info, err := s.fs.Stat(s.ctx, to)
	intoDir := err == nil && info.IsDir()
	if len(sources) > 1 && !intoDir {
		return fmt.Errorf("%s is no directory, and there are %d files to copy", to, len(sources))
	}
	return each(sources, func(source string) error {
		if !intoDir {
			return s.copyIn(source, to, flags["f"])
		}
		full, err := filepath.Abs(source) // a folder may be given as . or ..
		if err != nil {
			return err
		}
		return s.copyIn(source, path.Join(to, filepath.Base(full)), flags["f"])
	})
}

// copyIn writes a file, or a folder with all that is in it.
func (s *session) copyIn(source, target string, overwrite bool) error {
	if source == "-" {
		return s.copyFile(s.std.in, target, overwrite)
	}
	info, err := os.Stat(source)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return s.copyFolder(source, target, overwrite)
	}
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	return s.copyFile(in, target, overwrite)
}

// copyFolder copies what is in a folder, and goes on after errors, but not when it is told to stop. A directory that is
// there already keeps what is in it.
func (s *session) copyFolder(source, target string, overwrite bool) error {
	entries, err := os.ReadDir(source)
	if err != nil {
		return err
	}
	if info, err := s.fs.Stat(s.ctx, target); err != nil || !info.IsDir() {
		if err := s.fs.Mkdir(s.ctx, target, 0o755); err != nil {
			return err
		}
	}
	var errs []error
	for _, e := range entries {
		err := s.copyIn(filepath.Join(source, e.Name()), path.Join(target, e.Name()), overwrite)
		errs = append(errs, err)
		if err != nil && s.ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// copyFile writes a file under a name of its own first: a copy that fails leaves nothing under the target's.
func (s *session) copyFile(in io.Reader, target string, overwrite bool) error {
	if !overwrite {
		if _, err := s.fs.Stat(s.ctx, target); err == nil {
			return &fs.PathError{Op: "put", Path: target, Err: fs.ErrExist}
		}
	}
	partial := target + "._COPYING_"
	out, err := s.fs.Create(s.ctx, partial, client.Overwrite())
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		return errors.Join(err, out.Abort(), s.fs.Remove(s.ctx, partial))
	}
	if err := out.Close(); err != nil {
		return errors.Join(err, s.fs.Remove(s.ctx, partial))
	}
	if overwrite {
		return s.fs.RenameOverwrite(s.ctx, partial, target)
	}
	return s.fs.Rename(s.ctx, partial, target)
}

func (s *session) mkdir(flags map[string]bool, args []string) error {
	return each(args, func(path string) error {
		if flags["p"] {
			return s.fs.MkdirAll(s.ctx, path, 0o755)
		}
		return s.fs.Mkdir(s.ctx, path, 0o755)
	})
}

func (s *session) rm(flags map[string]bool, args []string) error {
	return each(args, func(path string) error {
		info, err := s.fs.Stat(s.ctx, path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && flags["f"]:
			return nil
		case err != nil:
			return err
		case info.IsDir() && !flags["r"]:
			return fmt.Errorf("%s is a directory: add -r", path)
		case info.IsDir():
			return s.fs.RemoveAll(s.ctx, path)
		}
		return s.fs.Remove(s.ctx, path)
	})
}

func (s *session) mv(flags map[string]bool, args []string) error {
	if len(args) != 2 {
		return errors.New("one source and one target are wanted")
	}
	src, dst := args[0], args[1]
	if info, err := s.fs.Stat(s.ctx, dst); err == nil && info.IsDir() {
		dst = path.Join(dst, path.Base(src))
	}
	if flags["f"] {
		return s.fs.RenameOverwrite(s.ctx, src, dst)
	}
	return s.fs.Rename(s.ctx, src, dst)
}

func (s *session) chmod(_ map[string]bool, args []string) error {
	bits, err := strconv.ParseUint(args[0], 8, 32)
	if err != nil || bits > 0o1777 {
		return fmt.Errorf("%q is no mode: write it in octal, from 0 to 1777", args[0])
	}
	mode := fs.FileMode(bits & 0o777)
	if bits&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	return each(args[1:], func(path string) error { return s.fs.Chmod(s.ctx, path, mode) })
}

func (s *session) chown(_ map[string]bool, args []string) error {
	owner, group, _ := strings.Cut(args[0], ":")
	return each(args[1:], func(path string) error { return s.fs.Chown(s.ctx, path, owner, group) })
}
