package minidfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/osfs"
	"github.com/minidfs/go-minidfs/namenode"
)

const (
	marker       = "minidfs-cluster" // the file by which a folder is known as a cluster's
	markerFormat = "minidfs cluster, format 1\n"
)

// dirs is where a cluster's disks are: in memory, or below one folder of the real file system.
type dirs struct {
	root      string // "": in memory
	temporary bool
	capacity  int64
	powerCuts bool
	unsynced  bool // nothing needs to be durable
	old       bool // the folder has a cluster's data
}

// openDirs makes the folder, and refuses one that holds something else.
func openDirs(c *config) (*dirs, error) {
	d := &dirs{root: c.dir, temporary: c.temporary, capacity: c.capacity, powerCuts: c.powerCuts, unsynced: c.syncMode() == namenode.SyncNone && c.temporary}
	switch {
	case c.temporary:
		root, err := os.MkdirTemp(c.dir, "minidfs-")
		if err != nil {
			return nil, fmt.Errorf("minidfs: no temporary folder: %w", err)
		}
		d.root = root
	case c.dir != "":
		root, err := filepath.Abs(c.dir)
		if err != nil {
			return nil, fmt.Errorf("minidfs: %w", err)
		}
		d.root = root
		if err := claim(root); err != nil {
			return nil, err
		}
		if err := fits(root, c); err != nil {
			return nil, err
		}
		if d.old, err = holds(root, "nn1/*"); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// claim marks an empty folder as a cluster's; one that is marked already is fine.
func claim(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("minidfs: no folder for the cluster: %w", err)
	}
	path := filepath.Join(dir, marker)
	text, err := os.ReadFile(path)
	switch {
	case err == nil && string(text) == markerFormat:
		return nil
	case err == nil:
		return fmt.Errorf("minidfs: %s is of an unknown format: it begins with %.40q, %.40q is known; it needs another version of minidfs", path, text, markerFormat)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("minidfs: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("minidfs: %w", err)
	}
	for _, e := range entries {
		if e.Name() != marker+".tmp" { // of a start that was killed
			return fmt.Errorf("minidfs: %s is not a minidfs folder and not empty (it has %s): give an empty or a new one", dir, e.Name())
		}
	}
	if err := os.WriteFile(path+".tmp", []byte(markerFormat), 0o644); err != nil {
		return fmt.Errorf("minidfs: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("minidfs: %w", err)
	}
	return nil
}

// holds tells whether something is below a cluster's folder.
func holds(root, glob string) (bool, error) {
	paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(glob)))
	if err != nil {
		return false, fmt.Errorf("minidfs: %w", err)
	}
	return len(paths) > 0, nil
}

// fitsNameNodes refuses a folder whose namenodes are of another number: a single one keeps its journal by itself, and a
// group knows its members.
func fitsNameNodes(root string, c *config) error {
	groups, err := filepath.Glob(filepath.Join(root, "nn*", groupFolder))
	if err != nil {
		return fmt.Errorf("minidfs: %w", err)
	}
	alone, err := holds(root, "nn1/current")
	if err != nil {
		return err
	}
	have := len(groups)
	if alone {
		have = 1
	}
	if have > 0 && have != c.nameNodes {
		return fmt.Errorf("minidfs: %s holds the data of a cluster with NameNodes(%d), not %d: give as many, or another folder", root, have, c.nameNodes)
	}
	return nil
}

// fits refuses to leave out datanodes or volumes that have data in the folder: their blocks would be missing.
func fits(dir string, c *config) error {
	if err := fitsNameNodes(dir, c); err != nil {
		return err
	}
	for _, beyond := range []struct {
		glob, option string
		have         int
	}{{"dn*", "DataNodes", c.dataNodes}, {"dn*/data*", "Volumes", c.volumes}} {
		paths, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(beyond.glob)))
		if err != nil {
			return fmt.Errorf("minidfs: %w", err)
		}
		for _, path := range paths {
			var n int
			name := strings.TrimLeft(filepath.Base(path), "dnat")
			if _, err := fmt.Sscanf(name, "%d", &n); err == nil && n > beyond.have {
				return fmt.Errorf("minidfs: %s holds data, and %s(%d) would leave it out: give %s(%d) or more, or another folder",
					path, beyond.option, beyond.have, beyond.option, n)
			}
		}
	}
	return nil
}

// disk makes the disk of a node, name being for example "nn1" or "dn1/data1", and gives the folder on it.
func (d *dirs) disk(name string) (*faultfs.FS, string, error) {
	if d.root == "" {
		disk := faultfs.NewDisk(faultfs.Options{Name: name, Capacity: d.capacity})
		return faultfs.Wrap(disk, faultfs.WithName(name)), "/data", nil
	}
	options := []faultfs.Option{faultfs.WithName(name)}
	if d.capacity > 0 {
		options = append(options, faultfs.WithSpace(faultfs.NewSpace(d.capacity)))
	}
	if d.powerCuts {
		options = append(options, faultfs.WithPowerLoss())
	}
	var system afero.Fs = osfs.FS{}
	if d.unsynced {
		system = unsynced{}
	}
	fs := faultfs.Wrap(system, options...)
	dir := filepath.Join(d.root, filepath.FromSlash(name))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", err
	}
	return fs, dir, fs.Charge(dir)
}

// canLosePower reports whether it is known what of the disks is synced.
func (d *dirs) canLosePower() bool { return d.root == "" || d.powerCuts }

// close removes a temporary cluster's folder.
func (d *dirs) close() error {
	if !d.temporary {
		return nil
	}
	if err := os.RemoveAll(d.root); err != nil {
		return fmt.Errorf("minidfs: the temporary folder stays: %w", err)
	}
	return nil
}
