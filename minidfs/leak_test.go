package minidfs

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
)

// TestLeaks leaves something behind in each way, and the test that did it fails.
func TestLeaks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options []Option
		leak    func(t *testing.T, c *Cluster)
		want    string
	}{
		{"nothing", nil, func(*testing.T, *Cluster) {}, ""},
		{"goroutine", nil, func(t *testing.T, c *Cluster) {
			end := make(chan struct{})
			t.Cleanup(func() { close(end) })
			labelled(t.Context(), c.id, func() { go func() { <-end }() })
		}, "goroutines:"},
		{"connection in memory", []Option{MemNet()}, func(t *testing.T, c *Cluster) {
			conn, err := c.Dial(t.Context(), "tcp", c.Addrs()[0])
			require.NoError(t, err)
			t.Cleanup(func() { conn.Close() })
		}, "connection client"},
		{"connection", nil, func(t *testing.T, c *Cluster) {
			conn, err := c.Dial(t.Context(), "tcp", c.DataNode("dn1").Addr())
			require.NoError(t, err)
			t.Cleanup(func() { conn.Close() })
		}, "connection client"},
		{"listener in memory", []Option{MemNet()}, func(t *testing.T, c *Cluster) {
			_, err := c.DataNode("dn1").host.Listen("tcp", ":0")
			require.NoError(t, err)
		}, "1 listeners of dn1"},
		{"listener", nil, func(t *testing.T, c *Cluster) {
			require.NoError(t, c.NameNode("nn1").Stop())
			_, err := c.NameNode("nn1").listen(0)
			require.NoError(t, err)
		}, "1 listeners of nn1"},
		{"open file", nil, func(t *testing.T, c *Cluster) {
			_, err := c.DataNode("dn2").disks[0].Create("/data/leak")
			require.NoError(t, err)
		}, "1 open files of dn2 on its disk 1"},
		{"open file of the machine", []Option{TempDir("")}, func(t *testing.T, c *Cluster) {
			f, err := c.NameNode("nn1").disks[0].Open(c.NameNode("nn1").dirs[0])
			require.NoError(t, err)
			t.Cleanup(func() { f.Close() })
		}, "1 open files of nn1 on its disk 1"},
		{"inconsistent disk", nil, func(t *testing.T, c *Cluster) {
			require.NoError(t, c.Client("alice").WriteFile(t.Context(), "/tmp/f", []byte("x"), client.Parents()))
			r := c.DataNode("dn1").server().Replicas()[0]
			require.NoError(t, afero.WriteFile(r.FS, r.Data, []byte("longer"), 0o644))
		}, "has 6 bytes, should have 1"},
		{"inconsistent replicas", nil, func(t *testing.T, c *Cluster) {
			require.NoError(t, c.Client("alice").WriteFile(t.Context(), "/tmp/f", []byte("x"), client.Parents()))
			r := c.DataNode("dn1").server().Replicas()[0]
			require.NoError(t, r.FS.Remove(r.Data))
		}, "is missing, of a replica that is FINALIZED with 1 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fake := &fakeT{}
			fake.run(func() {
				c := Start(fake, append([]Option{User("alice"), Superuser("alice")}, test.options...)...)
				test.leak(t, c)
			})
			if test.want == "" {
				require.Empty(t, fake.text())
				return
			}
			require.Contains(t, fake.text(), test.want)
			require.Contains(t, fake.logs[len(fake.logs)-1], "Seed(")
		})
	}
}

// TestLeftFolders finds folders that stay.
func TestLeftFolders(t *testing.T) {
	t.Parallel()
	c, err := New(t.Context(), TempDir(t.TempDir()))
	require.NoError(t, err)
	conf, err := c.ConfDir()
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(conf, "core-site.xml"))
	root := c.dirs.root
	require.NoError(t, c.Close())
	require.Empty(t, c.remains())
	require.NoError(t, os.Mkdir(root, 0o755))
	require.NoError(t, os.Mkdir(conf, 0o755))
	defer os.RemoveAll(conf)
	require.Equal(t, []string{"folder " + conf, "folder " + root}, c.remains())
}

// TestUnknownNode ends a test that names a node which is not there, and refuses every verb of it elsewhere.
func TestUnknownNode(t *testing.T) {
	t.Parallel()
	c, err := New(t.Context(), MemNet())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	type verbs interface {
		ID() string
		Addr() string
		Running() bool
		Start(ctx context.Context) error
		Stop() error
		Kill() error
		PowerLoss() ([]string, error)
		Pause() error
		Resume() error
	}
	for id, tt := range map[string]struct {
		get  func(c *Cluster) verbs
		want string
	}{
		"dn9": {func(c *Cluster) verbs { return c.DataNode("dn9") }, `minidfs: there is no datanode "dn9", there are: dn1, dn2, dn3`},
		"nn2": {func(c *Cluster) verbs { return c.NameNode("nn2") }, `minidfs: there is no namenode "nn2", there is nn1`},
	} {
		fake := &fakeT{}
		fake.run(func() { tt.get(Start(fake, MemNet())).Kill() })
		require.Equal(t, tt.want, fake.text())

		n := tt.get(c)
		_, lost := n.PowerLoss()
		for verb, err := range map[string]error{
			"Start": n.Start(t.Context()), "Stop": n.Stop(), "Kill": n.Kill(), "PowerLoss": lost, "Pause": n.Pause(), "Resume": n.Resume(),
		} {
			require.EqualError(t, err, tt.want, verb)
		}
		require.Equal(t, id, n.ID())
		require.Empty(t, n.Addr())
		require.False(t, n.Running())
	}
}

// TestUnknownHost refuses to break a network between hosts that there are not: the test would prove nothing.
func TestUnknownHost(t *testing.T) {
	t.Parallel()
	fake := &fakeT{}
	fake.run(func() { Start(fake, MemNet()).Net().Cut("dn9", AnyHost) })
	require.Equal(t, `minidfs: Net.Cut: there is no host "dn9": name nodes (nn1, dn1), ClientHost, Outside or AnyHost`, fake.text())
}
