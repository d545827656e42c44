package minidfs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/memnet"
)

// TestCloseUnderBlockedClients closes the cluster while somebody waits for it, in each way: it is down within a second,
// who waited has an error, and nothing is left.
func TestCloseUnderBlockedClients(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// block prepares, and gives a call that does not return before Close
		block func(t *testing.T, c *Cluster, fs *client.Client) func() error
	}{
		{"a writer waits for acks", func(t *testing.T, c *Cluster, fs *client.Client) func() error {
			w, err := fs.Create(t.Context(), c.Path("f"))
			require.NoError(t, err)
			_, err = w.Write([]byte("x"))
			require.NoError(t, err)
			require.NoError(t, w.Hflush())
			require.NoError(t, c.DataNode("dn2").Pause())
			require.NoError(t, c.DataNode("dn1").Pause())
			require.NoError(t, c.DataNode("dn3").Pause())
			_, err = w.Write([]byte("y"))
			require.NoError(t, err)
			return w.Hflush
		}},
		{"a reader waits for a packet", func(t *testing.T, c *Cluster, fs *client.Client) func() error {
			require.NoError(t, fs.WriteFile(t.Context(), c.Path("f"), make([]byte, 16<<20)))
			r, err := fs.Open(t.Context(), c.Path("f"))
			require.NoError(t, err)
			_, err = io.ReadFull(r, make([]byte, 1000))
			require.NoError(t, err)
			for _, d := range c.DataNodes() {
				require.NoError(t, d.Pause())
			}
			return func() error { _, err := io.Copy(io.Discard, r); return err }
		}},
		{"a call waits for a paused namenode", func(t *testing.T, c *Cluster, fs *client.Client) func() error {
			require.NoError(t, c.NameNode("nn1").Pause())
			return func() error { return fs.Mkdir(t.Context(), "/x", 0o755) }
		}},
		{"a call waits before it is tried again", func(t *testing.T, c *Cluster, fs *client.Client) func() error {
			require.NoError(t, c.NameNode("nn1").Kill())
			return func() error { return fs.Mkdir(t.Context(), "/x", 0o755) }
		}},
		{"a socket has sent nothing", func(t *testing.T, c *Cluster, _ *client.Client) func() error {
			conn, err := c.Dial(t.Context(), "tcp", c.Addrs()[0])
			require.NoError(t, err)
			return func() error {
				_, err := conn.Read(make([]byte, 1))
				return errors.Join(err, conn.Close())
			}
		}},
		{"a socket to a datanode has sent half a header", func(t *testing.T, c *Cluster, _ *client.Client) func() error {
			conn, err := c.Dial(t.Context(), "tcp", c.DataNode("dn1").Addr())
			require.NoError(t, err)
			_, err = conn.Write([]byte{0})
			require.NoError(t, err)
			return func() error {
				_, err := conn.Read(make([]byte, 1))
				return errors.Join(err, conn.Close())
			}
		}},
		{"a start hangs", func(t *testing.T, c *Cluster, _ *client.Client) func() error {
			require.NoError(t, c.NameNode("nn1").Kill())
			c.NameNode("nn1").disks[0].Inject(faultfs.Rule{Hang: true})
			return func() error { return c.NameNode("nn1").Start(t.Context()) }
		}},
		{"a disk hangs", func(t *testing.T, c *Cluster, fs *client.Client) func() error {
			c.NameNode("nn1").disks[0].Inject(faultfs.Rule{Hang: true})
			c.DataNode("dn1").disks[0].Inject(faultfs.Rule{Hang: true})
			return func() error { return fs.WriteFile(t.Context(), "/f", []byte("x")) }
		}},
		{"the network is cut", func(t *testing.T, c *Cluster, fs *client.Client) func() error {
			c.net.Partition([]string{memnet.Any}, []string{memnet.Any})
			return func() error { return fs.WriteFile(t.Context(), "/f", []byte("x")) }
		}},
		{"nobody waits and the client is closed", func(t *testing.T, _ *Cluster, fs *client.Client) func() error {
			require.NoError(t, fs.Close())
			return nil
		}},
	} {
		for name, options := range map[string][]Option{"memory": {MemNet()}, "tcp": nil} {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				c, err := New(t.Context(), options...)
				require.NoError(t, err)
				fs := c.Client(c.Superuser())
				block := test.block(t, c, fs)
				ended := make(chan error, 1)
				if block == nil {
					ended <- errors.New("nothing waits")
				} else {
					go func() { ended <- block() }()
					select {
					case err := <-ended:
						t.Fatalf("it does not wait: %v", err)
					case <-time.After(20 * time.Millisecond):
					}
				}
				closed := make(chan error, 2)
				began := time.Now()
				for range 2 {
					go func() { closed <- c.Close() }()
				}
				require.NoError(t, <-closed)
				require.NoError(t, <-closed)
				require.Less(t, time.Since(began), time.Second)
				require.Error(t, <-ended)
				require.Less(t, time.Since(began), time.Second)
				require.NoError(t, fs.Close())
				require.NoError(t, c.Close())
				require.Empty(t, append(c.end.leaks, c.remains()...))
			})
		}
	}
}

// TestAfterClose has every method say that the cluster is closed.
func TestAfterClose(t *testing.T) {
	t.Parallel()
	c, err := New(t.Context())
	require.NoError(t, err)
	nn, dn := c.NameNode("nn1"), c.DataNode("dn1")
	before, own := c.Client("alice"), c.Client("alice")
	require.NoError(t, own.Close())
	w, err := before.Create(t.Context(), c.Path("f"))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	for name, call := range map[string]func() error{
		"NameNode.Start": func() error { return nn.Start(t.Context()) },
		"DataNode.Start": func() error { return dn.Start(t.Context()) },
		"AddDataNode":    func() error { _, err := c.AddDataNode(t.Context()); return err },
		"NewClient":      func() error { _, err := c.NewClient("alice"); return err },
		"ConfDir":        func() error { _, err := c.ConfDir(); return err },
		"Check":          c.Check,
	} {
		err := call()
		require.ErrorIs(t, err, ErrClosed, name)
		require.ErrorContains(t, err, "the cluster is closed", name)
	}
	require.EqualError(t, dn.Pause(), "minidfs: dn1 cannot pause: it does not run")
	require.NoError(t, nn.Stop())
	require.NoError(t, dn.Kill())
	require.NoError(t, dn.Resume())
	for _, fs := range []*client.Client{before, c.Client("alice")} {
		err := fs.Mkdir(t.Context(), "/x", 0o755)
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, err, client.ErrClosed)
		require.ErrorContains(t, err, "the cluster is closed")
	}
	err = w.Close()
	require.ErrorIs(t, err, ErrClosed, "a file that was being written")
	require.ErrorIs(t, err, client.ErrClosed)
	err = own.Mkdir(t.Context(), "/x", 0o755)
	require.EqualError(t, err, "mkdir /x: file already closed", "the client was closed before the cluster")
	require.NotErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, c.WaitReplicated(t.Context(), "/x", 1), ErrClosed)
	_, err = c.Dial(t.Context(), "tcp", c.Addrs()[0])
	require.ErrorIs(t, err, net.ErrClosed)
}

// TestFailingStart tears down what has started, and says which part failed.
func TestFailingStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	port := taken.Addr().(*net.TCPAddr).Port
	file := func(name string) string {
		dir := t.TempDir()
		require.NoError(t, claim(dir))
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644))
		return dir
	}
	noDir := file("nn1")
	noVolume := file("dn2/data1")
	notOurs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(notOurs, "thesis.txt"), nil, 0o644))
	newer := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(newer, marker), []byte("minidfs cluster, format 7\n"), 0o644))
	more := file("dn4/data1/x")
	wide := file("dn1/data2/x")

	for _, test := range []struct {
		name    string
		limit   time.Duration // of the context, 0: none
		options []Option
		want    []string
	}{
		{"context over", 1, nil, []string{"minidfs: nothing has started: context deadline exceeded"}},
		{"context ends", 200 * time.Millisecond, []Option{Conf("dfs.namenode.safemode.extension", "1h"), Conf("dfs.namenode.safemode.min.datanodes", "1")},
			[]string{"minidfs: the cluster has started, but does not serve yet: ", "context deadline exceeded"}},
		{"files", 0, []Option{Files(fstest.MapFS{"a/b": {Data: []byte("x"), Mode: 0o644}, "a/link": {Mode: os.ModeSymlink}})},
			[]string{"minidfs: loading files: a/link is no regular file and no directory"}},
		{"port in use", 0, []Option{Port(port)},
			[]string{"minidfs: nn1: port " + strconv.Itoa(port), "address already in use"}},
		{"no namenode folder", 0, []Option{Dir(noDir)}, []string{"minidfs: nn1: ", filepath.Join(noDir, "nn1"), "not a directory"}},
		{"no volume folder", 0, []Option{Dir(noVolume)}, []string{"minidfs: dn2: ", filepath.Join(noVolume, "dn2"), "not a directory"}},
		{"not ours", 0, []Option{Dir(notOurs)}, []string{notOurs + " is not a minidfs folder and not empty (it has thesis.txt)"}},
		{"a file", 0, []Option{Dir(filepath.Join(notOurs, "thesis.txt"))}, []string{"minidfs: no folder for the cluster: ", "not a directory"}},
		{"unknown format", 0, []Option{Dir(newer)}, []string{filepath.Join(newer, marker) + ` is of an unknown format: it begins with "minidfs cluster, format 7\n"`}},
		{"more datanodes", 0, []Option{Dir(more)}, []string{filepath.Join(more, "dn4") + " holds data, and DataNodes(3) would leave it out: give DataNodes(4) or more, or another folder"}},
		{"more volumes", 0, []Option{Dir(wide)}, []string{filepath.Join(wide, "dn1/data2") + " holds data, and Volumes(1) would leave it out"}},
		{"no temporary folder", 0, []Option{TempDir(filepath.Join(notOurs, "none"))}, []string{"minidfs: no temporary folder: ", "no such file"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conf, err := newConfig(append(test.options, Superuser("root")))
			require.NoError(t, err)
			require.NoError(t, conf.complete())
			c := newCluster(conf, nil)
			ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.limit, time.Minute))
			defer cancel()
			labelled(ctx, c.id, func() { err = c.boot(ctx) })
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
			require.NoError(t, c.Close())
			require.Empty(t, append(c.end.leaks, c.remains()...))
		})
	}
	t.Run("in a test", func(t *testing.T) {
		t.Parallel()
		fake := &fakeT{}
		fake.run(func() { Start(fake, Dir(notOurs)) })
		require.Contains(t, fake.text(), "is not a minidfs folder")
		fake = &fakeT{}
		fake.run(func() { Start(fake, Volumes(0)) })
		require.Equal(t, "minidfs: Volumes(0): from 1 to 100 are possible", fake.text())
	})
}
