package main

import (
	"errors"
	"fmt"
	"io/fs"
)

// health is what fsck counts.
type health struct {
	dirs, files, blocks     int
	size, replicas          int64
	under, missing, corrupt int
}

// fsck reads the locations of every block below a path and says what is short of replicas. Its last line is HDFS's.
func (s *session) fsck(_ map[string]bool, args []string) error {
	var h health
	root := args[0]
	err := s.fs.Walk(s.ctx, root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			h.dirs++
			return nil
		}
		return s.checkFile(path, &h)
	})
	if err != nil {
		return err
	}
	average := 0.0
	if h.blocks > 0 {
		average = float64(h.replicas) / float64(h.blocks)
	}
	s.std.say(" Total size:\t%d B\n Total files:\t%d\n Total directories:\t%d\n Total blocks:\t%d\n", h.size, h.files, h.dirs, h.blocks)
	s.std.say(" Under-replicated blocks:\t%d\n Average block replication:\t%.1f\n Missing blocks:\t%d\n Corrupt blocks:\t%d\n",
		h.under, average, h.missing, h.corrupt)
	if h.missing+h.corrupt > 0 {
		s.std.say("\nThe filesystem under path '%s' is CORRUPT\n", root)
		return errors.New("blocks are missing or corrupt")
	}
	s.std.say("\nThe filesystem under path '%s' is HEALTHY\n", root)
	return nil
}

func (s *session) checkFile(path string, h *health) error {
	info, err := s.fs.Stat(s.ctx, path)
	if err != nil {
		return err
	}
	blocks, err := s.fs.Locations(s.ctx, path)
	if err != nil {
		return err
	}
	h.files++
	h.size += info.Size()
	for _, b := range blocks {
		h.blocks++
		h.replicas += int64(len(b.Replicas))
		trouble := ""
		switch {
		case b.Corrupt:
			h.corrupt++
			trouble = "CORRUPT"
		case len(b.Replicas) == 0:
			h.missing++
			trouble = "MISSING"
		case len(b.Replicas) < info.Replication:
			h.under++
			trouble = fmt.Sprintf("Under replicated, %d of %d replicas", len(b.Replicas), info.Replication)
		}
		if trouble != "" {
			s.std.say("%s: %s: %s\n", path, b.Block, trouble)
		}
	}
	return nil
}
