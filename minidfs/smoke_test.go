package minidfs_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/minidfs"
)

func TestSmoke(t *testing.T) {
	c := minidfs.Start(t)
	fs := c.Client("alice")
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	require.NoError(t, fs.WriteFile(t.Context(), c.Path("f"), data))
	got, err := fs.ReadFile(t.Context(), c.Path("f"))
	require.NoError(t, err)
	require.Equal(t, data, got)
	require.NoError(t, fs.Remove(t.Context(), c.Path("f")))
	require.NoError(t, c.Check())
	require.NoError(t, c.DataNode("dn1").Kill())
	require.NoError(t, c.NameNode("nn1").Kill())
	require.NoError(t, c.NameNode("nn1").Start(t.Context()))
	require.NoError(t, c.DataNode("dn1").Start(t.Context()))
	require.NoError(t, c.WaitActive(t.Context()))
}

func TestSmokeBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := minidfs.Start(t, minidfs.MemNet())
		fs := c.Client("alice")
		require.NoError(t, fs.WriteFile(t.Context(), c.Path("f"), []byte("x")))
	})
}
