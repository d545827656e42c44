package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/minidfs/go-minidfs/client"
)

func (s *session) ls(flags map[string]bool, args []string) error {
	return each(args, func(path string) error {
		info, err := s.fs.Stat(s.ctx, path)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			s.row(path, info)
			return nil
		}
		return s.list(path, flags["R"])
	})
}

// list prints the entries of a directory, and with deep those of the directories in it.
func (s *session) list(dir string, deep bool) error {
	for info, err := range s.fs.List(s.ctx, dir, client.ListOptions{}) {
		if err != nil {
			return err
		}
		path := filepath.ToSlash(filepath.Join(dir, info.Name()))
		s.row(path, info)
		if deep && info.IsDir() {
			if err := s.list(path, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// row prints what `hadoop fs -ls` prints.
func (s *session) row(path string, info *client.FileInfo) {
	replication := "-"
	if !info.IsDir() {
		replication = fmt.Sprint(info.Replication)
	}
	s.std.say("%s %3s %s %s %10d %s %s\n", modeString(info.Mode()), replication, info.Owner, info.Group,
		info.Size(), info.ModTime().Format("2006-01-02 15:04"), path)
}

// modeString is drwxr-xr-x with t for the sticky bit.
func modeString(mode fs.FileMode) string {
	letters := []byte(mode.Perm().String())
	if mode.IsDir() {
		letters[0] = 'd'
	}
	if mode&fs.ModeSticky != 0 {
		letters[9] = 'T'
		if mode&1 != 0 {
			letters[9] = 't'
		}
	}
	return string(letters)
}

func (s *session) stat(_ map[string]bool, args []string) error {
	return each(args, func(path string) error {
		info, err := s.fs.Stat(s.ctx, path)
		if err != nil {
			return err
		}
		s.std.say("%s: %s %s:%s id=%d size=%d replication=%d blocksize=%d modified=%s read=%s\n", path, modeString(info.Mode()),
			info.Owner, info.Group, info.ID, info.Size(), info.Replication, info.BlockSize,
			info.ModTime().Format("2006-01-02T15:04:05.000"), info.AccessTime.Format("2006-01-02T15:04:05.000"))
		if info.IsDir() {
			return nil
		}
		blocks, err := s.fs.Locations(s.ctx, path)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			s.std.say("  %s offset=%d length=%d on", b.Block, b.Offset, b.Len)
			for _, d := range b.Replicas {
				s.std.say(" %s", d.DatanodeID)
			}
			s.std.say("\n")
		}
		return nil
	})
}

func (s *session) cat(_ map[string]bool, args []string) error {
	return each(args, func(path string) error { return s.copyOut(path, s.std.out) })
}

func (s *session) copyOut(path string, to io.Writer) error {
	in, err := s.fs.Open(s.ctx, path)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, in)
	return errors.Join(err, in.Close())
}

func (s *session) get(_ map[string]bool, args []string) error {
	if len(args) != 2 {
		return errors.New("one file and one target are wanted")
	}
	from, to := args[0], args[1]
	if to == "-" {
		return s.copyOut(from, s.std.out)
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, filepath.Base(from))
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = errors.Join(s.copyOut(from, out), out.Close())
	if err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

func (s *session) du(_ map[string]bool, args []string) error {
	return each(args, func(path string) error {
		length, consumed, err := s.fs.DiskUsage(s.ctx, path)
		if err == nil {
			s.std.say("%d  %d  %s\n", length, consumed, path)
		}
		return err
	})
}

func (s *session) df(map[string]bool, []string) error {
	st, err := s.fs.StatFS(s.ctx)
	if err == nil {
		s.std.say("capacity %d used %d remaining %d\n", st.Capacity, st.Used, st.Remaining)
	}
	return err
}
