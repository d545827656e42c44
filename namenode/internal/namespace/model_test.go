package namespace

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// model is a file system as a set of paths: true for directories.
type model map[string]bool

func (m model) below(path string) []string {
	var found []string
	for p := range m {
		if strings.HasPrefix(p, path+"/") || path == "/" && p != "/" {
			found = append(found, p)
		}
	}
	return found
}

// parents makes the directories above a path; false when a file is in the way.
func (m model) parents(path string, make bool) bool {
	for p := parentOf(path); p != "/"; p = parentOf(p) {
		if dir, ok := m[p]; ok && !dir {
			return false
		}
	}
	if make {
		for p := parentOf(path); p != "/"; p = parentOf(p) {
			m[p] = true
		}
	}
	return true
}

func (m model) mkdirs(path string) bool {
	if dir, ok := m[path]; ok {
		return dir
	}
	if !m.parents(path, true) {
		return false
	}
	m[path] = true
	return true
}

func (m model) create(path string, overwrite bool) bool {
	if dir, ok := m[path]; ok && (dir || !overwrite) || !m.parents(path, true) {
		return false
	}
	m[path] = false
	return true
}

// remove answers whether the call fails, and whether something was removed.
func (m model) remove(path string, recursive bool) (ok, removed bool) {
	dir, exists := m[path]
	switch {
	case !exists:
		return m.parents(path, false), false
	case dir && !recursive && len(m.below(path)) > 0:
		return false, false
	case path == "/":
		return true, false
	}
	for _, p := range m.below(path) {
		delete(m, p)
	}
	delete(m, path)
	return true, true
}

func (m model) rename(src, dst string, overwrite bool) bool {
	from, exists := m[src]
	to, taken := m[dst]
	parent, above := m[parentOf(dst)]
	switch {
	case !exists, src == "/", dst == "/", src == dst, strings.HasPrefix(dst, src+"/"), !above, !parent:
		return false
	case taken && (!overwrite || to != from || to && len(m.below(dst)) > 0):
		return false
	}
	moved := map[string]bool{dst: from}
	for _, p := range m.below(src) {
		moved[dst+strings.TrimPrefix(p, src)] = m[p]
		delete(m, p)
	}
	delete(m, src)
	maps.Copy(m, moved)
	return true
}

// TestModel compares random calls with what they do to a set of paths.
func TestModel(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			e, m := newEnv(t), model{"/": true}
			path := func() string {
				p := ""
				for range r.IntN(4) {
					p += "/" + string(rune('a'+r.IntN(4)))
				}
				return max(p, "/")
			}
			for i := range 3000 {
				var want, removed bool
				var a Args
				switch p := path(); r.IntN(5) {
				case 0:
					a, want = &Mkdirs{p, 0o755, true}, m.mkdirs(p)
				case 1:
					f := dfs.CreateNew
					if r.IntN(2) == 0 {
						f |= dfs.CreateOverwrite
					}
					a = &Create{Path: p, Holder: "h", Flags: f, CreateParent: true, Replication: 1, BlockSize: 1}
					want = m.create(p, f.Has(dfs.CreateOverwrite))
				case 2:
					recursive := r.IntN(2) == 0
					a = &Delete{p, recursive}
					want, removed = m.remove(p, recursive)
				default:
					q, overwrite := path(), r.IntN(2) == 0
					a, want = &Rename2{p, q, overwrite, false}, m.rename(p, q, overwrite)
				}
				res := e.do(root, a)
				require.Equal(t, want, res.Err == nil, "call %d: %s %+v: %v", i, a.kind(), a, res.Err)
				if a.kind() == KindDelete {
					require.Equal(t, removed, res.Bool)
				}
				if i%100 == 0 {
					require.Equal(t, slices.Sorted(maps.Keys(m)), slices.Sorted(maps.Keys(tree(e))))
					require.Equal(t, map[string]bool(m), tree(e))
				}
			}
			e.verify()
		})
	}
}

// tree lists everything by pages of three.
func tree(e *env) map[string]bool {
	all := map[string]bool{}
	var walk func(path string)
	walk = func(path string) {
		all[path] = true
		after := ""
		for {
			l, err := e.List(root, path, after, 3, false)
			require.NoError(e.t, err)
			for _, s := range l.Entries {
				if after = s.Name; s.Type == TypeDir {
					walk(join(path, s.Name))
				} else {
					all[join(path, s.Name)] = false
				}
			}
			if l.Remaining == 0 {
				return
			}
		}
	}
	walk("/")
	return all
}
