package blocks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func TestUnreadable(t *testing.T) {
	w := newWorld(t, Options{}, 1)
	require.Empty(t, w.Unreadable())
	for i := range 4 {
		w.PutBlock(info(blk(int(id)+i, 1001, 10), dfs.BlockComplete, 1))
	}
	w.PutBlock(info(blk(int(id)+4, 1001, 0), dfs.BlockUnderConstruction, 1))
	w.received(blk(int(id)+1, 1001, 10), 1)
	w.received(blk(int(id)+2, 1001, 9), 1)
	require.Equal(t, []dfs.BlockID{id, id + 2, id + 3}, w.Unreadable())
}
