package minidfs_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/minidfs"
)

// node is what namenodes and datanodes have in common.
type node interface {
	ID() string
	Addr() string
	Running() bool
	Start(context.Context) error
	Stop() error
	Kill() error
	PowerLoss() ([]string, error)
	Pause() error
	Resume() error
}

// media are the disks and networks that a cluster can have.
func media() map[string]func(t *testing.T) []minidfs.Option {
	return map[string]func(t *testing.T) []minidfs.Option{
		"memory": func(*testing.T) []minidfs.Option { return nil },
		"memnet": func(*testing.T) []minidfs.Option { return []minidfs.Option{minidfs.MemNet()} },
		"tempdir": func(t *testing.T) []minidfs.Option {
			return []minidfs.Option{minidfs.TempDir(t.TempDir()), minidfs.PowerCuts(), minidfs.OtherProcesses()}
		},
		"dir": func(t *testing.T) []minidfs.Option {
			return []minidfs.Option{minidfs.Dir(t.TempDir()), minidfs.PowerCuts()}
		},
	}
}

// TestVerbs ends each kind of node in each way on each medium, brings it back, and finds everything that was acknowledged.
func TestVerbs(t *testing.T) {
	t.Parallel()
	verbs := map[string]func(n node) error{
		"stop":  node.Stop,
		"kill":  node.Kill,
		"power": func(n node) error { _, err := n.PowerLoss(); return err },
		"pause and kill": func(n node) error {
			if err := n.Pause(); err != nil {
				return err
			}
			return n.Kill()
		},
		"pause and stop": func(n node) error {
			if err := n.Pause(); err != nil {
				return err
			}
			return n.Stop()
		},
	}
	for medium, options := range media() {
		for verb, end := range verbs {
			for _, id := range []string{"nn1", "dn2"} {
				t.Run(medium+"/"+verb+"/"+id, func(t *testing.T) {
					t.Parallel()
					c := minidfs.Start(t, options(t)...)
					n := nodeOf(c, id)
					fs := c.Client("alice")
					data := someBytes(300_000)
					closed, synced := c.Path("closed"), c.Path("synced")
					require.NoError(t, fs.WriteFile(t.Context(), closed, data))
					w, err := fs.Create(t.Context(), synced)
					require.NoError(t, err)
					_, err = w.Write(data)
					require.NoError(t, err)
					require.NoError(t, w.Hsync())
					require.NoError(t, w.Close())
					addr := n.Addr()

					require.NoError(t, end(n))
					require.False(t, n.Running())
					requireRefused(t, c, addr)
					requirePortKept(t, c, addr)
					require.NoError(t, end2(n))
					require.NoError(t, n.Start(t.Context()))
					require.NoError(t, c.WaitActive(t.Context()))
					require.Equal(t, addr, n.Addr())

					for _, path := range []string{closed, synced} {
						got, err := fs.ReadFile(t.Context(), path)
						require.NoError(t, err)
						require.True(t, bytes.Equal(data, got), path)
					}
					require.NoError(t, fs.WriteFile(t.Context(), c.Path("after"), data))
				})
			}
		}
	}
}

// end2 ends a node that is down already: nothing happens.
func end2(n node) error {
	if err := n.Stop(); err != nil {
		return err
	}
	return n.Kill()
}

func nodeOf(c *minidfs.Cluster, id string) node {
	if id == "nn1" {
		return c.NameNode(id)
	}
	return c.DataNode(id)
}

// requireRefused says that nobody listens at addr.
func requireRefused(t *testing.T, c *minidfs.Cluster, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	conn, err := c.Dial(ctx, "tcp", addr)
	if err == nil {
		conn.Close()
	}
	require.ErrorContains(t, err, "refused")
}

// requirePortKept says that no other program can take the port of a node that is down.
func requirePortKept(t *testing.T, c *minidfs.Cluster, addr string) {
	t.Helper()
	if !c.HoldsPorts() {
		return
	}
	l, err := net.Listen("tcp", addr)
	if err == nil {
		l.Close()
	}
	require.ErrorContains(t, err, "address already in use")
}

func someBytes(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	r.Read(b)
	return b
}

// TestKillWhileWriting kills datanodes under a writer: the file is whole nevertheless, and the dead node's disk does not
// change any more.
func TestKillWhileWriting(t *testing.T) {
	t.Parallel()
	for medium, options := range media() {
		t.Run(medium, func(t *testing.T) {
			t.Parallel()
			c := minidfs.Start(t, options(t)...)
			fs := c.Client("alice")
			w, err := fs.Create(t.Context(), c.Path("f"))
			require.NoError(t, err)
			data := someBytes(1 << 20)
			for i := range 8 {
				_, err := w.Write(data[i<<17 : (i+1)<<17])
				require.NoError(t, err)
				if i == 3 {
					require.NoError(t, w.Hflush())
					require.NoError(t, c.DataNode("dn1").Kill())
				}
			}
			require.NoError(t, w.Close())
			before := c.Written("dn1")
			got, err := fs.ReadFile(t.Context(), c.Path("f"))
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got))
			require.Equal(t, before, c.Written("dn1"))
		})
	}
}

// TestPause lets nobody talk to a paused node, and nothing is lost when it goes on.
func TestPause(t *testing.T) {
	t.Parallel()
	for medium, options := range media() {
		for _, id := range []string{"nn1", "dn1"} {
			t.Run(medium+"/"+id, func(t *testing.T) {
				t.Parallel()
				c := minidfs.Start(t, append(options(t), minidfs.DataNodes(1))...)
				fs := c.Client("alice")
				require.NoError(t, fs.WriteFile(t.Context(), c.Path("before"), []byte("x")))
				n := nodeOf(c, id)
				require.NoError(t, n.Pause())
				require.NoError(t, n.Pause(), "twice is once")
				require.True(t, n.Running())

				done := make(chan error, 1)
				go func() { done <- fs.WriteFile(t.Context(), c.Path("f"), []byte("y")) }()
				written := c.Written(id)
				select {
				case err := <-done:
					t.Fatalf("the call ended: %v", err)
				case <-time.After(50 * time.Millisecond):
				}
				require.Equal(t, written, c.Written(id), "bytes written while it was paused")
				require.NoError(t, n.Resume())
				require.NoError(t, <-done)
				require.NoError(t, n.Resume(), "without a pause it does nothing")
				got, err := fs.ReadFile(t.Context(), c.Path("f"))
				require.NoError(t, err)
				require.Equal(t, "y", string(got))
			})
		}
	}
	t.Run("of a node that is down", func(t *testing.T) {
		c := minidfs.Start(t, minidfs.MemNet(), minidfs.DataNodes(1))
		require.NoError(t, c.DataNode("dn1").Kill())
		require.EqualError(t, c.DataNode("dn1").Pause(), "minidfs: dn1 cannot pause: it does not run")
	})
}

// TestStartTwice refuses to start what runs.
func TestStartTwice(t *testing.T) {
	t.Parallel()
	c := minidfs.Start(t, minidfs.MemNet())
	require.EqualError(t, c.NameNode("nn1").Start(t.Context()), "minidfs: nn1 runs already")
	require.EqualError(t, c.DataNode("dn1").Start(t.Context()), "minidfs: dn1 runs already")
	require.NoError(t, c.DataNode("dn1").Pause())
	require.EqualError(t, c.DataNode("dn1").Start(t.Context()), "minidfs: dn1 runs already")
	require.NoError(t, c.DataNode("dn1").Resume())
}

// TestStableNames finds the same node under the same name, whatever happens to others.
func TestStableNames(t *testing.T) {
	t.Parallel()
	c := minidfs.Start(t)
	dn1, dn2 := c.DataNode("dn1"), c.DataNode("dn2")
	addr := dn2.Addr()
	require.NoError(t, dn1.Kill())
	added, err := c.AddDataNode(t.Context())
	require.NoError(t, err)
	require.Equal(t, "dn4", added.ID())
	require.NoError(t, dn1.Start(t.Context()))
	require.Same(t, dn2, c.DataNode("dn2"))
	require.Equal(t, addr, c.DataNode("dn2").Addr())
	require.Len(t, c.DataNodes(), 4)
	require.NoError(t, c.Client("alice").WriteFile(t.Context(), c.Path("f"), []byte("x"), client.Replication(4)))
	require.NoError(t, c.WaitReplicated(t.Context(), c.Path("f"), 4))
}

// TestDataNodesFirst starts datanodes while the namenode is down: they do not wait for it, they find it.
func TestDataNodesFirst(t *testing.T) {
	t.Parallel()
	c := minidfs.Start(t)
	fs := c.Client("alice")
	require.NoError(t, fs.WriteFile(t.Context(), c.Path("f"), []byte("x")))
	require.NoError(t, c.NameNode("nn1").Kill())
	for _, d := range c.DataNodes() {
		require.NoError(t, d.Kill())
		require.NoError(t, d.Start(t.Context()))
	}
	require.NoError(t, c.NameNode("nn1").Start(t.Context()))
	require.NoError(t, c.WaitActive(t.Context()))
	got, err := fs.ReadFile(t.Context(), c.Path("f"))
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
}

// locations are the datanodes, by address, of a file's first block.
func locations(t *testing.T, c *minidfs.Cluster, path string) []string {
	t.Helper()
	blocks, err := c.Client(c.Superuser()).Locations(t.Context(), path)
	require.NoError(t, err)
	require.NotEmpty(t, blocks)
	var addrs []string
	for _, r := range blocks[0].Replicas {
		addrs = append(addrs, r.XferAddr())
	}
	return addrs
}
