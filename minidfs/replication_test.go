package minidfs_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/minidfs"
)

// TestFewerReplicas lowers the replication of a file, whose datanodes then delete what is too much of it, and starts a
// datanode that has missed it.
func TestFewerReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := minidfs.Start(t, minidfs.MemNet())
		fs, path := c.Client("alice"), c.Path("f")
		require.NoError(t, fs.WriteFile(t.Context(), path, []byte("hello")))
		require.NoError(t, c.WaitReplicated(t.Context(), path, 3))
		away := c.DataNode("dn2")
		require.NoError(t, away.Stop())
		require.NoError(t, fs.SetReplication(t.Context(), path, 1))
		time.Sleep(10 * time.Second)
		require.NoError(t, away.Start(t.Context()))
		time.Sleep(10 * time.Second)
		require.Len(t, locations(t, c, path), 1)
		require.Equal(t, 1, c.Stored())
		got, err := fs.ReadFile(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
	})
}
