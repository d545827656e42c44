package minidfs_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/minidfs"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"in/a.txt":     {Data: []byte("a"), Mode: 0o640},
		"in/empty":     {Mode: 0o444},
		"in/sub/b.bin": {Data: someBytes(100_000), Mode: 0o600},
		"none":         {Mode: fs.ModeDir | 0o711},
	}
	c := minidfs.Start(t, minidfs.Files(tree))
	root := c.Client(c.Superuser())
	for name, f := range tree {
		info, err := root.Stat(t.Context(), c.Path(name))
		require.NoError(t, err)
		require.Equal(t, f.Mode.IsDir(), info.IsDir())
		require.Equal(t, f.Mode.Perm(), info.Mode().Perm()&^0o200|f.Mode.Perm()&0o200, name)
		if !info.IsDir() {
			data, err := root.ReadFile(t.Context(), c.Path(name))
			require.NoError(t, err)
			require.Equal(t, string(f.Data), string(data))
		}
	}
	entries, err := root.ReadDir(t.Context(), "/")
	require.NoError(t, err)
	require.Len(t, entries, 1, "the root of a test's cluster has /tmp alone, with the test's directory")
}

func TestUsers(t *testing.T) {
	t.Parallel()
	c := minidfs.Start(t, minidfs.MemNet(), minidfs.Superuser("root"), minidfs.User("alice", "staff", "dev"), minidfs.User("bob", "dev"))
	root := c.Client("root")
	require.Equal(t, "root", c.Superuser())
	require.NoError(t, root.Mkdir(t.Context(), "/shared", 0o770))
	require.NoError(t, root.Chown(t.Context(), "/shared", "alice", "dev"))
	for user, allowed := range map[string]bool{"alice": true, "bob": true, "eve": false, "root": true} {
		err := c.Client(user).Mkdir(t.Context(), "/shared/"+user, 0o755)
		if allowed {
			require.NoError(t, err, user)
		} else {
			require.ErrorIs(t, err, fs.ErrPermission, user)
		}
	}
	info, err := root.Stat(t.Context(), "/shared/bob")
	require.NoError(t, err)
	require.Equal(t, "bob dev", info.Owner+" "+info.Group)
}

// TestNoDataNodes has a namenode alone: names work, data do not.
func TestNoDataNodes(t *testing.T) {
	t.Parallel()
	c := minidfs.Start(t, minidfs.MemNet(), minidfs.DataNodes(0))
	fs := c.Client("alice")
	require.Empty(t, c.DataNodes())
	require.NoError(t, fs.Mkdir(t.Context(), c.Path("d"), 0o755))
	w, err := fs.Create(t.Context(), c.Path("empty"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	err = fs.WriteFile(t.Context(), c.Path("f"), []byte("x"))
	require.ErrorContains(t, err, "There are 0 datanode(s) running and 0 node(s) are excluded in this operation.")

	_, err = c.AddDataNode(t.Context())
	require.NoError(t, err)
	require.NoError(t, fs.WriteFile(t.Context(), c.Path("g"), []byte("x")))
}

// TestRacks places replicas over racks as HDFS does, whether the datanodes have addresses of their own or not.
func TestRacks(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]minidfs.Option{
		"one address": nil, "own addresses": {minidfs.OwnAddresses()}, "memory": {minidfs.MemNet()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minidfs.Start(t, append(options, minidfs.DataNodes(6), minidfs.Racks("/r1", "/r2"))...)
			added, err := c.AddDataNode(t.Context())
			require.NoError(t, err)
			root := c.Client(c.Superuser())
			nodes, err := root.DatanodeReport(t.Context(), client.LiveNodes)
			require.NoError(t, err)
			require.Len(t, nodes, 7)
			rack := map[string]string{}
			for _, n := range nodes {
				rack[n.XferAddr()] = n.Rack
			}
			require.Equal(t, "/r1", rack[c.DataNode("dn1").Addr()])
			require.Equal(t, "/r2", rack[c.DataNode("dn2").Addr()])
			require.Equal(t, "/r1", rack[added.Addr()])
			for i := range 10 {
				path := c.Path(fmt.Sprint(i))
				require.NoError(t, root.WriteFile(t.Context(), path, []byte("x")))
				require.NoError(t, c.WaitReplicated(t.Context(), path, 3))
				racks := map[string]int{}
				for _, at := range locations(t, c, path) {
					racks[rack[at]]++
				}
				require.Len(t, racks, 2, "%v", racks)
			}
		})
	}
}

// TestOn writes from a datanode's machine: the first replica stays there.
func TestOn(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]minidfs.Option{"own addresses": minidfs.OwnAddresses(), "memory": minidfs.MemNet()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minidfs.Start(t, option, minidfs.DataNodes(5))
			ips := map[string]bool{}
			for _, d := range c.DataNodes() {
				host, _, err := net.SplitHostPort(d.Addr())
				require.NoError(t, err)
				require.False(t, ips[host])
				ips[host] = true
				fs := c.Client("alice", c.On(d.ID()))
				for i := range 5 {
					path := c.Path(fmt.Sprint(d.ID(), i))
					require.NoError(t, fs.WriteFile(t.Context(), path, []byte("x"), client.Replication(1)))
					require.Equal(t, []string{d.Addr()}, locations(t, c, path))
				}
			}
			// clients elsewhere are off the cluster: no node is preferred
			used := map[string]bool{}
			for i := range 30 {
				path := c.Path(fmt.Sprint("away", i))
				require.NoError(t, c.Client("alice").WriteFile(t.Context(), path, []byte("x"), client.Replication(1)))
				used[locations(t, c, path)[0]] = true
			}
			require.Greater(t, len(used), 1)
			// the machine of a datanode outlives its process
			on := c.Client("alice", c.On("dn1"))
			require.NoError(t, c.DataNode("dn1").Kill())
			require.NoError(t, on.WriteFile(t.Context(), c.Path("on"), []byte("x")))
		})
	}
}

// TestDir keeps everything in a folder, from one cluster to the next.
func TestDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "by", "minidfs")
	data := someBytes(200_000)
	for life := range 3 {
		c, err := minidfs.New(t.Context(), minidfs.Dir(dir), minidfs.Volumes(2), minidfs.Seed(7))
		require.NoError(t, err)
		root := c.Client(c.Superuser())
		require.NoError(t, root.WriteFile(t.Context(), fmt.Sprint("/f", life), data))
		for i := range life + 1 {
			got, err := root.ReadFile(t.Context(), fmt.Sprint("/f", i))
			require.NoError(t, err)
			require.Equal(t, data, got)
		}
		require.NoError(t, c.Check())

		_, err = minidfs.New(t.Context(), minidfs.Dir(dir), minidfs.Volumes(2))
		require.EqualError(t, err, fmt.Sprintf("minidfs: nn1 cannot start: namenode nn1: editlog: %s is in use by process %d; stop it or give another directory",
			filepath.Join(dir, "nn1"), os.Getpid()))
		if life == 1 { // a kill lets go of the lock, too
			require.NoError(t, c.NameNode("nn1").Kill())
			require.NoError(t, c.NameNode("nn1").Start(t.Context()))
		}
		require.NoError(t, c.Close())
	}
	grown, err := minidfs.New(t.Context(), minidfs.Dir(dir), minidfs.Volumes(3), minidfs.DataNodes(4))
	require.NoError(t, err)
	require.NoError(t, grown.Close())
}

// TestCorruptJournal names the file, the place and the transaction.
func TestCorruptJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := minidfs.New(t.Context(), minidfs.Dir(dir))
	require.NoError(t, err)
	root := c.Client(c.Superuser())
	for i := range 20 {
		require.NoError(t, root.Mkdir(t.Context(), fmt.Sprint("/d", i), 0o755))
	}
	require.NoError(t, c.Close())
	edits, err := filepath.Glob(filepath.Join(dir, "nn1", "current", "edits_*"))
	require.NoError(t, err)
	require.Len(t, edits, 1)
	text, err := os.ReadFile(edits[0])
	require.NoError(t, err)
	text[len(text)/2] ^= 1
	require.NoError(t, os.WriteFile(edits[0], text, 0o644))

	_, err = minidfs.New(t.Context(), minidfs.Dir(dir))
	require.ErrorContains(t, err, "minidfs: nn1 cannot start: ")
	require.ErrorContains(t, err, edits[0])
	require.Regexp(t, `offset \d+`, err.Error())
	require.Regexp(t, `txid \d+|transaction \d+`, err.Error())
	require.NotContains(t, err.Error(), "\n")
}

// TestLostJournal kills a namenode and takes the file of its edits away, or what is in it.
func TestLostJournal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose func(path string) error
		want string
	}{
		"gone":  {os.Remove, "it is missing"},
		"empty": {func(path string) error { return os.Truncate(path, 0) }, "segment header is cut short"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c, err := minidfs.New(t.Context(), minidfs.Dir(dir))
			require.NoError(t, err)
			root := c.Client(c.Superuser())
			require.NoError(t, root.Mkdir(t.Context(), "/d", 0o755))
			nn := c.NameNode("nn1")
			require.NoError(t, nn.Kill())
			edits, err := filepath.Glob(filepath.Join(dir, "nn1", "current", "edits_inprogress_*"))
			require.NoError(t, err)
			require.Len(t, edits, 1)
			kept, err := os.ReadFile(edits[0])
			require.NoError(t, err)
			require.NoError(t, test.lose(edits[0]))
			for range 2 {
				err = nn.Start(t.Context())
				require.ErrorContains(t, err, edits[0]+" is corrupt at offset 0, after txid 0: "+test.want)
				require.ErrorContains(t, err, "restore the directory from a copy")
			}

			require.NoError(t, os.WriteFile(edits[0], kept, 0o644))
			require.NoError(t, nn.Start(t.Context()))
			_, err = root.Stat(t.Context(), "/d")
			require.NoError(t, err)
			require.NoError(t, c.Close())
		})
	}
}

// TestTempDir removes everything.
func TestTempDir(t *testing.T) {
	t.Parallel()
	under := t.TempDir()
	c, err := minidfs.New(t.Context(), minidfs.TempDir(under))
	require.NoError(t, err)
	require.NoError(t, c.Client("alice").WriteFile(t.Context(), c.Path("f"), []byte("x")))
	entries, err := os.ReadDir(under)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	_, err = c.DataNode("dn1").PowerLoss()
	require.EqualError(t, err, "minidfs: power loss of dn1: a cluster on real folders needs the option PowerCuts")
	require.NoError(t, c.Close())
	entries, err = os.ReadDir(under)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// TestCapacity fills a cluster.
func TestCapacity(t *testing.T) {
	t.Parallel()
	c := minidfs.Start(t, minidfs.MemNet(), minidfs.Capacity(8<<20), minidfs.Volumes(2), minidfs.Conf("dfs.blocksize", "1m"))
	fs := c.Client("alice")
	st, err := fs.StatFS(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(3*2*8<<20), st.Capacity)
	require.Error(t, fs.WriteFile(t.Context(), c.Path("f"), make([]byte, 20<<20)))
}

// TestCapacityUnset has room for whatever comes where all goes with the cluster; in a folder there is what its disk has.
func TestCapacityUnset(t *testing.T) {
	t.Parallel()
	capacity := func(options ...minidfs.Option) int64 {
		c := minidfs.Start(t, append(options, minidfs.MemNet(), minidfs.DataNodes(1))...)
		st, err := c.Client("alice").StatFS(t.Context())
		require.NoError(t, err)
		return st.Capacity
	}
	memory, folder, temporary := capacity(), capacity(minidfs.Dir(t.TempDir())), capacity(minidfs.TempDir(t.TempDir()))
	require.Equal(t, int64(1<<40), memory)
	require.Equal(t, memory, temporary)
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" { // elsewhere the disk is not asked
		require.NotEqual(t, memory, folder)
	}
}

// TestLogger has every key once in a line, whose log it is among them.
func TestLogger(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer // slog writes one line at a time
	log := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c, err := minidfs.New(t.Context(), minidfs.MemNet(), minidfs.DataNodes(2), minidfs.Logger(log), minidfs.Conf("dfs.namenode.replication.min", "2"))
	require.NoError(t, err)
	require.NoError(t, c.Client("root").WriteFile(t.Context(), "/f", make([]byte, 100)))
	require.NoError(t, c.DataNode("dn1").Stop())
	require.NoError(t, c.Close())
	keys := regexp.MustCompile(`(?:^| )([a-z]+)=`)
	for line := range strings.Lines(lines.String()) {
		seen := map[string]bool{}
		for _, k := range keys.FindAllStringSubmatch(line, -1) {
			require.False(t, seen[k[1]], "%s twice: %s", k[1], line)
			seen[k[1]] = true
		}
	}
	for _, node := range []string{"nn1", "dn1", "dn2"} {
		require.Contains(t, lines.String(), " node="+node)
	}
}

// TestConfDir is what other clients read.
func TestConfDir(t *testing.T) {
	t.Parallel()
	c, err := minidfs.New(t.Context(), minidfs.Conf("dfs.blocksize", "1m"))
	require.NoError(t, err)
	dir, err := c.ConfDir()
	require.NoError(t, err)
	again, err := c.ConfDir()
	require.NoError(t, err)
	require.Equal(t, dir, again)
	core, err := os.ReadFile(filepath.Join(dir, "core-site.xml"))
	require.NoError(t, err)
	require.Contains(t, string(core), "<name>fs.defaultFS</name>\n    <value>"+c.URI()+"</value>")
	hdfs, err := os.ReadFile(filepath.Join(dir, "hdfs-site.xml"))
	require.NoError(t, err)
	require.Contains(t, string(hdfs), "<name>dfs.blocksize</name>\n    <value>1m</value>")
	require.NoError(t, c.Close())
	require.NoDirExists(t, dir)
}

// TestResolve reads addresses of file systems.
func TestResolve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := `<configuration>
  <property><name>dfs.ha.namenodes.prod</name><value> a, b </value></property>
  <property><name>dfs.namenode.rpc-address.prod.a</name><value>one:8020</value></property>
  <property><name>dfs.namenode.rpc-address.prod.b</name><value>two:8020</value></property>
  <property><name>dfs.ha.namenodes.half</name><value>a</value></property>
</configuration>`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hdfs-site.xml"), []byte(site), 0o644))
	for _, test := range []struct {
		uri, conf string
		want      []string
		err       string
	}{
		{"hdfs://h:1", "", []string{"h:1"}, ""},
		{"hdfs://h:1/", "", []string{"h:1"}, ""},
		{"hdfs://h:1,i:2", "", []string{"h:1", "i:2"}, ""},
		{"hdfs://prod", dir, []string{"one:8020", "two:8020"}, ""},
		{"hdfs://prod", "", nil, `"prod" has no port`},
		{"hdfs://half", dir, nil, "names the namenode a of half, but not its address: dfs.namenode.rpc-address.half.a is missing"},
		{"hdfs://test", dir, nil, "does not know the file system test: dfs.ha.namenodes.test is missing"},
		{"h:1", "", nil, "it does not begin with hdfs://"},
		{"hdfs://h:1/path", "", nil, `"h:1/path" is not host:port`},
		{"hdfs://", "", nil, `"" is not host:port`},
		{"hdfs://h:x", "", nil, `"h:x" is not host:port`},
	} {
		got, err := minidfs.Resolve(test.uri, test.conf)
		if test.err == "" {
			require.NoError(t, err, test.uri)
		} else {
			require.ErrorContains(t, err, test.err, test.uri)
		}
		require.Equal(t, test.want, got)
	}
}
