package namespace

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// writing is a file that is open in a snapshot.
type writing struct {
	*env
	id   dfs.INodeID
	last *dfs.Block
}

func newWriting(t *testing.T) *writing {
	w := &writing{env: newEnv(t)}
	w.mkdir(root, "/d/e")
	w.must(root, &AllowSnapshot{"/d"})
	w.id = w.must(root, &Create{Path: "/d/e/f", Perm: 0o644, Holder: "h", Flags: dfs.CreateNew, Replication: 3, BlockSize: 100}).Status.ID
	return w
}

func (w *writing) block() {
	b := w.must(root, &AddBlock{"/d/e/f", w.id, "h", w.last}).Block.Block
	b.Len = 100
	w.last = &b
}

func (w *writing) length(snap string) int64 {
	st, err := w.Status(root, "/d/.snapshot/"+snap+"/e/f", true)
	require.NoError(w.t, err)
	b, err := w.Blocks(root, "/d/.snapshot/"+snap+"/e/f", 0, 1<<40)
	require.NoError(w.t, err)
	list, err := w.List(root, "/d/.snapshot/"+snap+"/e", "", 0, false)
	require.NoError(w.t, err)
	require.Equal(w.t, []int64{st.Length, st.Length}, []int64{b.Length, list.Entries[0].Length})
	return st.Length
}

func (w *writing) closing() {
	w.must(root, &Complete{Path: "/d/e/f", FileID: w.id, Holder: "h", Last: w.last})
}

func TestSnapshotsFollowOpenFiles(t *testing.T) {
	w := newWriting(t)
	w.block()
	w.must(root, &CreateSnapshot{"/d", "s1"})
	require.EqualValues(t, 0, w.length("s1"))
	w.block()
	require.EqualValues(t, 100, w.length("s1"), "of the first block the length is known now")
	w.must(root, &CreateSnapshot{"/d", "s2"})
	w.must(root, &SetPermission{"/d/e/f", 0o600})
	w.block()

	third := w.last
	img := w.Snapshot() // what it has does not change
	digest := w.Digest()
	w.closing()
	require.NotEqual(t, digest, w.Digest())
	for _, s := range []string{"s1", "s2"} {
		require.EqualValues(t, 300, w.length(s))
		st, err := w.Status(root, "/d/.snapshot/"+s+"/e/f", true)
		require.NoError(t, err)
		require.Equal(t, dfs.Perm(0o644), st.Perm, "only what is written is followed")
	}

	w.must(root, &Append{"/d/e/f", "h", true})
	w.block()
	w.closing()
	require.EqualValues(t, 300, w.length("s1"), "once it was closed, a snapshot is as all are")
	w.must(root, &Delete{"/d/e/f", false})
	require.EqualValues(t, 300, w.length("s2"))
	verify(t, w.Namespace)
	w.must(root, &DeleteSnapshot{"/d", "s1"})
	require.Len(t, w.ears.blocks, 3)
	w.must(root, &DeleteSnapshot{"/d", "s2"})
	require.Empty(t, w.ears.blocks)

	var b bytes.Buffer
	_, err := img.WriteTo(&b)
	require.NoError(t, err)
	require.NoError(t, w.Restore(&b))
	require.Equal(t, digest, w.Digest())
	w.last = third
	w.closing()
	require.EqualValues(t, 300, w.length("s1"), "also after a restart")
	verify(t, w.Namespace)
}

// TestOpenFilesEnd: a file that is open in a snapshot goes, with blocks that the snapshot has not seen.
func TestOpenFilesEnd(t *testing.T) {
	for name, end := range map[string]Args{
		"deleted":                &Delete{"/d/e/f", false},
		"deleted with directory": &Delete{"/d/e", true},
		"created anew":           &Create{Path: "/d/e/f", Holder: "k", Flags: dfs.CreateOverwrite | dfs.CreateNew, Replication: 3, BlockSize: 100},
		"renamed over":           &Rename2{Src: "/g", Dst: "/d/e/f", Overwrite: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWriting(t)
			w.block()
			w.must(root, &Create{Path: "/g", Holder: "h", Flags: dfs.CreateNew, Replication: 3, BlockSize: 100})
			w.must(root, &CreateSnapshot{"/d", "s1"})
			w.block()
			w.block()
			w.must(root, &AbandonBlock{"/d/e/f", w.id, "h", *w.last})
			w.must(root, end)
			require.EqualValues(t, 200, w.length("s1"))
			require.Len(t, w.ears.blocks, 2)
			verify(t, w.Namespace)
			w.must(root, &DeleteSnapshot{"/d", "s1"})
			require.Empty(t, w.ears.blocks)
		})
	}
}
