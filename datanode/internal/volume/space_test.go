package volume

import (
	"fmt"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/faultfs"
)

// TestOneDevice has several volumes on one disk: its size is counted once.
func TestOneDevice(t *testing.T) {
	const size = 1 << 20
	shared := faultfs.NewDisk(faultfs.Options{Capacity: size})
	space := func() (int64, int64) { return size, size / 2 }
	for _, tc := range []struct {
		name string
		cfg  func(i int) Config
		sum  int64
	}{
		{"the same file system", func(int) Config { return Config{FS: shared} }, size},
		{"wrapped", func(int) Config { return Config{FS: faultfs.Wrap(shared), Device: "sda"} }, size},
		{"one disk each", func(int) Config { return Config{FS: faultfs.NewDisk(faultfs.Options{Capacity: size})} }, 4 * size},
		{"a size each", func(int) Config { return Config{FS: shared, Capacity: size} }, 4 * size},
		{"space is asked", func(int) Config { return Config{FS: shared, Space: space} }, 4 * size},
		{"space is asked, of one device", func(int) Config { return Config{FS: shared, Space: space, Device: "x"} }, size},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var o Options
			for i := range 4 {
				cfg := tc.cfg(i)
				cfg.Dir = fmt.Sprint("/", tc.name, i)
				o.Volumes = append(o.Volumes, cfg)
			}
			s := openSet(t, o)
			put(t, s, block(1, 1001, 5000), random(5000))
			var capacity, used, room, other int64
			for _, u := range s.Usage() {
				capacity += u.Capacity
				used += u.Used
				room += u.Room
				other += u.Other
			}
			require.Equal(t, tc.sum, capacity)
			require.Equal(t, int64(5000+7+40), used)
			require.InDelta(t, capacity, used+room+other, 8)
		})
	}
}

// TestRealSpace has the size of a real folder's disk, whatever stands before the file system.
func TestRealSpace(t *testing.T) {
	for name, cfg := range map[string]Config{
		"itself":  {FS: afero.NewOsFs()},
		"wrapped": {FS: faultfs.Wrap(afero.NewOsFs()), Real: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			one, two := cfg, cfg
			one.Dir, two.Dir = dir+"/1", dir+"/2"
			s := openSet(t, Options{Volumes: []Config{one, two}})
			capacity, free, ok := statfs(dir)
			if !ok {
				t.Skip("this system does not tell")
			}
			u := s.Usage()
			require.InDelta(t, capacity, u[0].Capacity+u[1].Capacity, 1)
			require.InDelta(t, free, u[0].Room+u[1].Room, 1<<30)
		})
	}
}
