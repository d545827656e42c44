package volume

import (
	"reflect"

	"github.com/spf13/afero"
)

// Space gives the size, and the room for new replicas.
func (v *Volume) Space() (capacity, available int64) {
	capacity, free := v.total()
	return capacity, max(0, free-v.reserved.Load())
}

func (v *Volume) total() (capacity, free int64) {
	switch {
	case v.cfg.Capacity > 0:
		return v.cfg.Capacity, v.cfg.Capacity - v.used.Load()
	case v.cfg.Space != nil:
		return v.cfg.Space()
	case v.real():
		if capacity, free, ok := statfs(v.cfg.Dir); ok {
			return capacity, free
		}
	default:
		if f, ok := v.cfg.FS.(interface {
			Usage() (capacity, used, available int64)
		}); ok {
			capacity, _, free := f.Usage()
			return capacity, free
		}
	}
	return defaultCapacity, defaultCapacity - v.used.Load()
}

// real reports whether the folder is one of the operating system's.
func (v *Volume) real() bool {
	_, is := v.cfg.FS.(*afero.OsFs)
	return is || v.cfg.Real
}

// Usage is what a volume has to say of its space. Of a device that several volumes are on each has its share, so that
// the sum is right.
type Usage struct {
	Volume   *Volume
	Capacity int64
	Used     int64 // by block and checksum files
	Room     int64 // for new replicas
	Other    int64 // used by something else
}

// deviceKey tells which volumes are on one device; nil where the volume has a size of its own.
func (v *Volume) deviceKey() any {
	switch {
	case v.cfg.Device != "":
		return v.cfg.Device
	case v.cfg.Capacity > 0 || v.cfg.Space != nil:
		return nil
	}
	if v.real() {
		if id, ok := deviceOf(v.cfg.Dir); ok {
			return id
		}
		return nil
	}
	if reflect.ValueOf(v.cfg.FS).Comparable() {
		return v.cfg.FS
	}
	return nil
}

// Usage gives the space of the volumes in use, in their order.
func (s *Set) Usage() []Usage {
	vols := s.Volumes()
	out := make([]Usage, len(vols))
	keys := make([]any, len(vols))
	sharers := make(map[any]int64)
	used := make(map[any]int64)
	for i, v := range vols {
		out[i] = Usage{Volume: v, Used: v.Used()}
		keys[i] = v.deviceKey()
		if keys[i] == nil {
			keys[i] = v
		}
		sharers[keys[i]]++
		used[keys[i]] += out[i].Used
	}
	for i, v := range vols {
		n := sharers[keys[i]]
		capacity, free := v.total()
		other := max(0, capacity-free-used[keys[i]])
		out[i].Capacity, out[i].Other = capacity/n, other/n
		out[i].Room = max(0, free/n-v.Reserved())
	}
	return out
}
