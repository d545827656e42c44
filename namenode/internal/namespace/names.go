package namespace

import (
	"sync"
	"sync/atomic"
)

// names numbers the names of owners and groups, so that an inode needs four bytes for each. The numbers are not part
// of the state: every process has its own.
type names struct {
	list atomic.Pointer[[]string] // number -> name; grows by copying

	mu    sync.Mutex
	index map[string]uint32
}

func newNames() *names {
	t := &names{index: map[string]uint32{"": 0}}
	t.list.Store(&[]string{""})
	return t
}

// name gives the name behind a number.
func (t *names) name(i uint32) string { return (*t.list.Load())[i] }

// number gives a name its number.
func (t *names) number(name string) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.index[name]; ok {
		return i
	}
	// Appending in place is safe: readers of the old list never look behind its end.
	old := *t.list.Load()
	list := append(old, name)
	i := uint32(len(old))
	t.index[name] = i
	t.list.Store(&list)
	return i
}
