package minidfs_test

import (
	"bytes"
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/minidfs"
)

// TestFailovers ends the active namenode in each way: another one serves at once, and all that was acknowledged is there.
func TestFailovers(t *testing.T) {
	t.Parallel()
	verbs := map[string]func(ctx context.Context, c *minidfs.Cluster, leader *minidfs.NameNode) error{
		"stop": func(_ context.Context, _ *minidfs.Cluster, n *minidfs.NameNode) error { return n.Stop() },
		"kill": func(_ context.Context, _ *minidfs.Cluster, n *minidfs.NameNode) error { return n.Kill() },
		"power": func(_ context.Context, _ *minidfs.Cluster, n *minidfs.NameNode) error {
			_, err := n.PowerLoss()
			return err
		},
		"pause": func(_ context.Context, _ *minidfs.Cluster, n *minidfs.NameNode) error { return n.Pause() },
		"failover": func(ctx context.Context, c *minidfs.Cluster, _ *minidfs.NameNode) error {
			_, err := c.Failover(ctx)
			return err
		},
	}
	for network, options := range map[string][]minidfs.Option{"memory": {minidfs.MemNet()}, "tcp": nil} {
		for verb, end := range verbs {
			t.Run(network+"/"+verb, func(t *testing.T) {
				t.Parallel()
				c := minidfs.Start(t, append(options, minidfs.NameNodes(3))...)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				fs := c.Client("alice")
				data := someBytes(100_000)
				require.NoError(t, fs.WriteFile(ctx, c.Path("before"), data))
				w, err := fs.Create(ctx, c.Path("during"))
				require.NoError(t, err)
				_, err = w.Write(data)
				require.NoError(t, err)
				require.NoError(t, w.Hflush())

				first := c.Leader()
				require.Equal(t, "nn1", first.ID())
				require.NoError(t, end(ctx, c, first))
				second, err := c.WaitLeader(ctx)
				require.NoError(t, err)
				require.NotEqual(t, first.ID(), second.ID())

				require.NoError(t, fs.WriteFile(ctx, c.Path("after"), data))
				_, err = w.Write(data)
				require.NoError(t, err)
				require.NoError(t, w.Close())
				for path, want := range map[string][]byte{"before": data, "after": data, "during": append(bytes.Clone(data), data...)} {
					got, err := fs.ReadFile(ctx, c.Path(path))
					require.NoError(t, err)
					require.True(t, bytes.Equal(want, got), path)
				}

				if first.Running() {
					require.NoError(t, first.Resume())
				} else {
					require.NoError(t, first.Start(ctx))
				}
				require.NoError(t, c.WaitActive(ctx))
				require.NoError(t, c.TransferLeadership(ctx, first.ID()))
				require.Equal(t, first.ID(), c.Leader().ID())
				require.NoError(t, fs.WriteFile(ctx, c.Path("back"), data))
			})
		}
	}
}

// TestGroupOnAFolder closes a highly available cluster on a folder, and kills it, and finds everything again, on other ports.
func TestGroupOnAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round, end := range []func(c *minidfs.Cluster){
		func(*minidfs.Cluster) {},
		func(c *minidfs.Cluster) {
			for _, id := range []string{"nn1", "nn2", "nn3"} {
				require.NoError(t, c.NameNode(id).Kill())
			}
		},
		func(*minidfs.Cluster) {},
	} {
		c, err := minidfs.New(t.Context(), minidfs.NameNodes(3), minidfs.Dir(dir), minidfs.Superuser("root"))
		require.NoError(t, err)
		fs := c.Client("root")
		for earlier := range round {
			got, err := fs.ReadFile(t.Context(), "/f"+strconv.Itoa(earlier))
			require.NoError(t, err)
			require.Equal(t, "hello", string(got))
		}
		require.NoError(t, fs.WriteFile(t.Context(), "/f"+strconv.Itoa(round), []byte("hello")))
		require.NoError(t, c.Check())
		end(c)
		require.NoError(t, c.Close())
	}
	for _, n := range []int{1, 5} {
		_, err := minidfs.New(t.Context(), minidfs.NameNodes(n), minidfs.Dir(dir))
		require.ErrorContains(t, err, "holds the data of a cluster with NameNodes(3), not "+strconv.Itoa(n))
	}
	alone := t.TempDir()
	c, err := minidfs.New(t.Context(), minidfs.Dir(alone), minidfs.DataNodes(0))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = minidfs.New(t.Context(), minidfs.NameNodes(3), minidfs.Dir(alone), minidfs.DataNodes(0))
	require.ErrorContains(t, err, "holds the data of a cluster with NameNodes(1), not 3")
}
