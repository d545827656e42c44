package minidfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/spf13/afero"
)

// marker names the file by which a folder is known as a cluster's.
const marker = "minidfs-cluster"

// dirs is where a cluster's disks are: in memory, or below one folder of the real file system.
type dirs struct {
	root      string // "": in memory
	temporary bool
	capacity  int64
	powerCuts bool
}

// openDirs makes the folder, and refuses one that holds something else.
func openDirs(c *config) (*dirs, error) {
	d := &dirs{root: c.dir, temporary: c.temporary, capacity: c.capacity, powerCuts: c.powerCuts}
	switch {
	case c.temporary:
		root, err := os.MkdirTemp(c.dir, "minidfs-")
		if err != nil {
			return nil, fmt.Errorf("minidfs: no temporary folder: %w", err)
		}
		d.root = root
	case c.dir != "":
		if err := claim(c.dir); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// claim marks an empty folder as a cluster's; one that is marked already is fine.
func claim(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("minidfs: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("minidfs: %w", err)
	}
	path := filepath.Join(dir, marker)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if len(entries) > 0 {
		return fmt.Errorf("minidfs: %s is not a minidfs folder and not empty (it has %s): give an empty or a new one", dir, entries[0].Name())
	}
	return os.WriteFile(path, []byte("data of a minidfs cluster\n"), 0o644)
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
	fs := faultfs.Wrap(afero.NewOsFs(), options...)
	dir := filepath.Join(d.root, filepath.FromSlash(name))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", fmt.Errorf("minidfs: %w", err)
	}
	return fs, dir, fs.Charge(dir)
}

// close removes a temporary cluster's folder.
func (d *dirs) close() error {
	if !d.temporary {
		return nil
	}
	if err := os.RemoveAll(d.root); err != nil {
		return errors.Join(errors.New("minidfs: the temporary folder stays"), err)
	}
	return nil
}
