package minidfs_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/minidfs"
)

// TestNet breaks the network in each way under a client, in virtual time.
func TestNet(t *testing.T) {
	t.Parallel()
	data := someBytes(1 << 20)
	for _, test := range []struct {
		name string
		use  func(t *testing.T, c *minidfs.Cluster, fs *client.Client, path string)
	}{
		{"partition", func(t *testing.T, c *minidfs.Cluster, fs *client.Client, path string) {
			c.Net().Partition([]string{minidfs.ClientHost}, []string{"nn1"})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := fs.Stat(ctx, path)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			c.Net().Heal()
			_, err = fs.Stat(t.Context(), path)
			require.NoError(t, err)
		}},
		{"stall", func(t *testing.T, c *minidfs.Cluster, fs *client.Client, path string) {
			c.Net().Stall("dn1", minidfs.ClientHost)
			c.Net().Stall("dn2", minidfs.ClientHost)
			requireContent(t, fs, path, data) // from dn3, once it is clear that the others are silent
			c.Net().Heal()
		}},
		{"black hole", func(t *testing.T, c *minidfs.Cluster, fs *client.Client, path string) {
			c.Net().Blackhole("dn1", minidfs.ClientHost)
			requireContent(t, fs, path, data)
		}},
		{"delay", func(t *testing.T, c *minidfs.Cluster, fs *client.Client, path string) {
			c.Net().Delay(minidfs.ClientHost, "nn1", time.Second)
			began := time.Now()
			_, err := fs.Stat(t.Context(), path)
			require.NoError(t, err)
			require.GreaterOrEqual(t, time.Since(began), time.Second)
		}},
		{"corrupt", func(t *testing.T, c *minidfs.Cluster, fs *client.Client, path string) {
			c.Net().Corrupt("dn1", minidfs.ClientHost, func(b []byte) { b[len(b)/2] ^= 1 })
			requireContent(t, fs, path, data)
		}},
		{"cut", func(t *testing.T, c *minidfs.Cluster, fs *client.Client, path string) {
			c.Net().Cut(minidfs.ClientHost, minidfs.AnyHost)
			requireContent(t, fs, path, data)
			require.Positive(t, c.Net().Sent("dn1", "nn1"))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := minidfs.Start(t, minidfs.MemNet())
				fs := c.Client("alice")
				path := c.Path("f")
				require.NoError(t, fs.WriteFile(t.Context(), path, data))
				require.NoError(t, c.WaitReplicated(t.Context(), path, 3))
				test.use(t, c, fs, path)
			})
		})
	}
}

func requireContent(t *testing.T, fs *client.Client, path string, want []byte) {
	t.Helper()
	got, err := fs.ReadFile(t.Context(), path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
}
