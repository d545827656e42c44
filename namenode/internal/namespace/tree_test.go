package namespace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func TestLifeOfAFile(t *testing.T) {
	for name, mode := range map[string]LockMode{"partitioned": Partitioned, "global": Global} {
		t.Run(name, func(t *testing.T) {
			e := newEnvMode(t, mode)
			require.EqualValues(t, 0, e.TxID())
			e.mkdir(root, "/a/b/c")
			require.EqualValues(t, 3, e.TxID())
			id := e.open(root, "/a/b/f")
			require.EqualValues(t, 4, e.TxID())
			require.EqualValues(t, 16385+4, id)

			blocks := e.fill(root, "/a/b/f", id, nil, 100, 100, 7)
			require.EqualValues(t, 13, e.TxID())
			require.Equal(t, dfs.Block{ID: 1<<30 + 1, GenStamp: 1001, Len: 100}, blocks[0])
			b, err := e.Blocks(root, "/a/b/f", 0, 1<<62)
			require.NoError(t, err)
			require.EqualValues(t, 200, b.Length)
			require.True(t, b.UnderConstruction)
			require.False(t, b.LastComplete)
			require.Len(t, b.Blocks, 3)
			require.Equal(t, dfs.BlockCommitted, b.Blocks[1].State)
			require.EqualValues(t, 200, b.Last.Offset)
			e.verify()

			require.True(t, e.must(root, &Complete{Path: "/a/b/f", FileID: id, Holder: "root", Last: &blocks[2]}).Bool)
			require.EqualValues(t, 14, e.TxID())
			require.True(t, e.must(root, &Complete{Path: "/a/b/f", FileID: id, Holder: "root", Last: &blocks[2]}).Bool, "a repetition")
			require.EqualValues(t, 207, e.stat("/a/b/f").Length)
			e.verify()

			require.True(t, e.must(root, &Rename{Src: "/a/b/f", Dst: "/a/b/c"}).Bool)
			require.Nil(t, e.stat("/a/b/f"))
			require.EqualValues(t, 207, e.stat("/a/b/c/f").Length)
			e.must(root, &Rename2{Src: "/a/b/c", Dst: "/x"})
			require.Equal(t, []string{"a", "x"}, e.list("/"))
			e.verify()

			require.True(t, e.must(root, &Delete{Path: "/x", Recursive: true}).Bool)
			require.False(t, e.must(root, &Delete{Path: "/x", Recursive: true}).Bool)
			require.Empty(t, e.ears.blocks)
			require.Equal(t, Counts{INodes: 3, Directories: 3}, e.Counts())
			e.verify()
		})
	}
}
