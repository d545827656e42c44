package gotest

import (
	"fmt"
	"io"
	"path"
)

// Store is what Publish needs of a file system; *hdfs.Client of colinmarc/hdfs fits through a few lines, see the test.
type Store interface {
	Create(name string) (io.WriteCloser, error)
	Rename(from, to string) error
}

// Publish writes a report so that readers see all of it or nothing: under a temporary name first, then by a rename.
func Publish(s Store, dir, name string, lines []string) error {
	partial := path.Join(dir, "."+name)
	w, err := s.Create(partial)
	if err != nil {
		return fmt.Errorf("publish %s: %w", name, err)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			w.Close()
			return fmt.Errorf("publish %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("publish %s: %w", name, err)
	}
	return s.Rename(partial, path.Join(dir, name))
}
