package namespace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// TestVerify finds each kind of damage, and nothing in a sound namespace.
func TestVerify(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(e *env, file, open *inode)
		want   string
	}{
		{"none", func(*env, *inode, *inode) {}, ""},
		{"inode", func(e *env, file, _ *inode) { e.inodes.remove(file.id) }, "the index of inodes has another"},
		{"stray inode", func(e *env, file, _ *inode) { e.inodes.set(1, file) }, "the index has"},
		{"parent", func(_ *env, file, _ *inode) { file.parent = 7 }, "names inode 7 as its parent"},
		{"name", func(_ *env, file, _ *inode) { file.name = "other" }, `and "other" by itself`},
		{"block", func(e *env, file, _ *inode) { e.blocks.set(file.file().last.ID, 7) }, "and of 7 by the index of blocks"},
		{"stray block", func(e *env, _, _ *inode) { e.blocks.set(5, 7) }, "the index has"},
		{"lost lease", func(e *env, _, open *inode) { delete(e.leases, open.file().writer.holder) }, "1 files are open for writing, 0 are leased"},
		{"stray lease", func(e *env, file, _ *inode) { e.leases["x"] = map[dfs.INodeID]struct{}{file.id: {}} }, "x holds the lease of inode"},
		{"empty lease", func(e *env, _, _ *inode) { e.leases["x"] = nil }, "x holds the lease of no file"},
		{"count", func(e *env, _, _ *inode) { e.counts.Files++ }, "the counters say"},
		{"length", func(_ *env, file, _ *inode) { file.file().settledLen++ }, "its blocks but the last have"},
		{"state", func(_ *env, file, _ *inode) { file.file().lastState = dfs.BlockCommitted }, "which is closed"},
		{"id", func(e *env, _, _ *inode) { e.counters.inode = 3 }, "beyond the last one handed out"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := newEnv(t)
			e.mkdir(root, "/d")
			e.write(root, "/d/f", 10, 20)
			e.open(root, "/d/open")
			dir := e.root.dir.child("d").dir
			test.damage(e, dir.child("f"), dir.child("open"))
			var seen []BlockInfo
			err := e.Verify(func(all []BlockInfo) error { seen = all; return nil })
			require.Len(t, seen, 2)
			if test.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.want)
			}
		})
	}
}
