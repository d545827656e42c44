package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/spf13/afero"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// Config names one directory that holds replicas.
type Config struct {
	FS   afero.Fs
	Dir  string
	Type dfs.StorageType // 0: DISK

	// Capacity is the size that the volume has for blocks, real or not. Where it is 0, Space is asked, then the operating
	// system when FS is the real one, then FS if it has a method Usage; at last it is 1 TiB.
	Capacity int64
	Space    func() (capacity, available int64)

	// Real says that FS is the real one, though it may be wrapped.
	Real bool

	// Device names what several volumes share, so that its size is counted once. Volumes with the same FS share it
	// anyhow, unless Capacity gives them a size each.
	Device string

	// Null says that FS keeps the length of block files and drops their bytes: they are then not verified.
	Null bool
}

const defaultCapacity = 1 << 40

// Volume is one directory of a datanode: a storage, in the namenode's words.
type Volume struct {
	cfg Config
	id  string // DS-...

	used     atomic.Int64 // bytes of block and checksum files
	reserved atomic.Int64 // bytes that open replicas may still need
	failed   atomic.Bool

	layout layout // of the pool; set by Set.Join before there are replicas

	mu   sync.Mutex
	made map[string]bool // directories under finalized that exist
}

// ID is the storage id, DS-....
func (v *Volume) ID() string { return v.id }

// Dir is the directory.
func (v *Volume) Dir() string { return v.cfg.Dir }

// FS is the file system that Dir is on.
func (v *Volume) FS() afero.Fs { return v.cfg.FS }

// Type is the storage type.
func (v *Volume) Type() dfs.StorageType { return v.cfg.Type }

// Used is the bytes of block and checksum files.
func (v *Volume) Used() int64 { return v.used.Load() }

// Reserved is the bytes that replicas being written may still need.
func (v *Volume) Reserved() int64 { return v.reserved.Load() }

// Failed reports whether the volume was given up.
func (v *Volume) Failed() bool { return v.failed.Load() }

// grow charges n bytes that are about to be written, taken from the reservation rest as far as that goes. A volume whose
// size is only a number refuses here; others refuse the write itself.
func (v *Volume) grow(n int64, rest *int64) error {
	used := v.used.Add(n)
	if v.cfg.Capacity > 0 && used > v.cfg.Capacity {
		v.used.Add(-n)
		return fmt.Errorf("volume: %s: %d bytes of %d are in use, no room for %d more: %w",
			v.cfg.Dir, used-n, v.cfg.Capacity, n, syscall.ENOSPC)
	}
	if take := min(n, *rest); take > 0 {
		*rest -= take
		v.reserved.Add(-take)
	}
	return nil
}

// mkdirs makes the directory of a replica unless it was made before.
func (v *Volume) mkdirs(dir string) error {
	v.mu.Lock()
	made := v.made[dir]
	v.mu.Unlock()
	if made {
		return nil
	}
	if err := v.cfg.FS.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	v.mu.Lock()
	v.made[dir] = true
	v.mu.Unlock()
	return nil
}

// syncDirs makes names in the directories survive a power loss, as far as the file system can.
func (v *Volume) syncDirs(dirs ...string) error {
	for _, dir := range dirs {
		f, err := v.cfg.FS.Open(dir)
		if err != nil {
			return err
		}
		err = f.Sync()
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
			return err
		}
	}
	return nil
}

// open reads who the volume is, and checks that the volume is usable.
func open(cfg Config) (*Volume, properties, error) {
	if cfg.FS == nil || cfg.Dir == "" {
		return nil, nil, errors.New("volume: FS and Dir must both be set")
	}
	if cfg.Type == 0 {
		cfg.Type = dfs.StorageDisk
	}
	v := &Volume{cfg: cfg, made: make(map[string]bool)}
	if err := cfg.FS.MkdirAll(filepath.Join(cfg.Dir, currentDir), 0o755); err != nil {
		return nil, nil, fmt.Errorf("volume: cannot use %s: %w", cfg.Dir, err)
	}
	p, err := readProperties(cfg.FS, v.versionName())
	if errors.Is(err, fs.ErrNotExist) {
		return v, properties{}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	v.id = p["storageID"]
	if v.id == "" {
		return nil, nil, fmt.Errorf("volume: %s: storageID is missing: %w", v.versionName(), ErrBadVersion)
	}
	return v, p, nil
}

func (v *Volume) versionName() string { return filepath.Join(v.cfg.Dir, currentDir, versionFile) }

func (v *Volume) poolVersionName() string {
	return filepath.Join(v.layout.pool, currentDir, versionFile)
}

// join binds the volume to a pool: it lays the directories out, or checks that they belong to the pool.
func (v *Volume) join(uuid string, p Pool) error {
	have, err := readProperties(v.cfg.FS, v.versionName())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = writeProperties(v.cfg.FS, v.versionName(), properties{
			"storageID": v.id, "clusterID": p.ClusterID, "cTime": "0", "datanodeUuid": uuid,
			"storageType": storageType, "layoutVersion": strconv.Itoa(layoutVersion),
		})
		if err != nil {
			return fmt.Errorf("volume: cannot write %s: %w", v.versionName(), err)
		}
	case err != nil:
		return err
	case have["clusterID"] != p.ClusterID:
		return wrongPool("Incompatible clusterIDs in %s: namenode clusterID = %s; datanode clusterID = %s", v.cfg.Dir, p.ClusterID, have["clusterID"])
	}
	v.layout = newLayout(v.cfg.Dir, p.ID)
	return v.joinPool(p)
}

func (v *Volume) joinPool(p Pool) error {
	name := v.poolVersionName()
	have, err := readProperties(v.cfg.FS, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		ns, err := have.uint("namespaceID", 32)
		if err != nil {
			return fmt.Errorf("volume: %s: %w", name, err)
		}
		if uint32(ns) != p.NamespaceID {
			return wrongPool("Incompatible namespaceIDs in %s: namenode namespaceID = %d; datanode namespaceID = %d", v.cfg.Dir, p.NamespaceID, ns)
		}
		if ctime, err := have.uint("cTime", 64); err != nil {
			return fmt.Errorf("volume: %s: %w", name, err)
		} else if ctime > p.CTime {
			return wrongPool("Datanode state: CTime = %d is newer than the namespace state: CTime = %d", ctime, p.CTime)
		}
	}
	for _, dir := range []string{v.layout.finalized, v.layout.rbw, v.layout.tmp} {
		if err := v.mkdirs(dir); err != nil {
			return fmt.Errorf("volume: cannot use %s: %w", v.cfg.Dir, err)
		}
	}
	if err == nil {
		return nil
	}
	err = writeProperties(v.cfg.FS, name, properties{
		"namespaceID": strconv.FormatUint(uint64(p.NamespaceID), 10), "cTime": strconv.FormatUint(p.CTime, 10),
		"blockpoolID": p.ID, "layoutVersion": strconv.Itoa(layoutVersion),
	})
	if err != nil {
		return fmt.Errorf("volume: cannot write %s: %w", name, err)
	}
	return nil
}

// ErrWrongPool is in the chain of the error when a volume belongs to another file system than the namenode's.
var ErrWrongPool = errors.New("the volumes belong to another file system")

func wrongPool(format string, args ...any) error {
	return fmt.Errorf("volume: %w: %w", ErrWrongPool, dfs.Errorf(dfs.ClassIO, format, args...))
}

// newUUID makes a random (version 4) UUID.
func newUUID(rng *rand.Rand) string {
	a, b := rng.Uint64(), rng.Uint64()
	a = a&^0xf000 | 0x4000
	b = b&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}
