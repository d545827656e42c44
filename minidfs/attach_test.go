package minidfs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// suite is a part of a test suite that runs on any HDFS.
func suite() map[string]func(t TB, c *Cluster) error {
	ctx := context.Background()
	return map[string]func(t TB, c *Cluster) error{
		"write and read": func(_ TB, c *Cluster) error {
			fs := c.Client("alice")
			if err := fs.WriteFile(ctx, c.Path("f"), []byte("x")); err != nil {
				return err
			}
			if err := c.WaitReplicated(ctx, c.Path("f"), 1); err != nil {
				return err
			}
			_, err := fs.ReadFile(ctx, c.Path("f"))
			return err
		},
		"snapshots": func(_ TB, c *Cluster) error {
			root, alice := c.Client(c.Superuser()), c.Client("alice")
			errs := []error{alice.MkdirAll(ctx, c.Path("a/b"), 0o755), alice.MkdirAll(ctx, c.Path("none"), 0o755)}
			for _, dir := range []string{"a/b", "none"} {
				errs = append(errs, root.AllowSnapshots(ctx, c.Path(dir)))
			}
			for _, name := range []string{"s1", "s2"} {
				_, err := alice.CreateSnapshot(ctx, c.Path("a/b"), name)
				errs = append(errs, err, alice.WriteFile(ctx, c.Path("a/b/"+name), []byte("x")))
			}
			return errors.Join(errs...)
		},
		"list": func(_ TB, c *Cluster) error {
			_, err := c.Client("bob").ReadDir(ctx, c.Path(""))
			return err
		},
	}
}

// TestAttach runs tests on a cluster that they have not started, through its addresses alone.
func TestAttach(t *testing.T) {
	t.Parallel()
	target, err := New(t.Context(), Superuser("root"), Conf("dfs.blocksize", "1m"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, target.Close()) })
	site := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(site, "hdfs-site.xml"), []byte(`<configuration>
	  <property><name>dfs.ha.namenodes.test</name><value>nn1</value></property>
	  <property><name>dfs.namenode.rpc-address.test.nn1</name><value>`+target.Addrs()[0]+`</value></property>
	</configuration>`), 0o644))
	start := func(t TB, uri string, options ...Option) *Cluster {
		conf, err := newConfig(append(options, Superuser("root")))
		if err != nil {
			t.Fatalf("%v", err)
		}
		return attach(t, conf, uri, site)
	}
	for _, uri := range []string{target.URI(), "hdfs://test"} {
		for name, run := range suite() {
			fake := &fakeT{}
			var path string
			fake.run(func() {
				c := start(fake, uri, Files(fstest.MapFS{"in": {Data: []byte("x"), Mode: 0o644}}))
				path = c.Path("")
				if err := run(fake, c); err != nil {
					fake.Errorf("%v", err)
				}
				if _, err := c.Client("alice").Stat(context.Background(), c.Path("in")); err != nil {
					fake.Errorf("%v", err)
				}
			})
			require.Empty(t, fake.text(), name)
			_, err := target.Client("root").Stat(t.Context(), path)
			require.ErrorIs(t, err, os.ErrNotExist, "the test's directory stays")
			dirs, err := target.Client("root").SnapshottableDirs(t.Context())
			require.NoError(t, err)
			require.Empty(t, dirs)
		}
		// verbs that break things, and options that shape a cluster, skip the test
		for name, use := range map[string]func(t TB){
			"NameNode":            func(t TB) { _ = start(t, uri).NameNode("nn1").Kill() },
			"DataNode":            func(t TB) { _ = start(t, uri).DataNode("dn1").Kill() },
			"DataNodes":           func(t TB) { start(t, uri).DataNodes() },
			"AddDataNode":         func(t TB) { _, _ = start(t, uri).AddDataNode(context.Background()) },
			"TriggerHeartbeats":   func(t TB) { _ = start(t, uri).TriggerHeartbeats(context.Background()) },
			"TriggerBlockReports": func(t TB) { _ = start(t, uri).TriggerBlockReports(context.Background()) },
			"TriggerMonitors":     func(t TB) { _ = start(t, uri).TriggerMonitors(context.Background()) },
			"WaitActive":          func(t TB) { _ = start(t, uri).WaitActive(context.Background()) },
			"Net":                 func(t TB) { start(t, uri).Net().Heal() },
			"Inject":              func(t TB) { start(t, uri).Inject(Fault{Method: "mkdirs"}) },
		} {
			fake := &fakeT{}
			fake.run(func() { use(fake) })
			require.Equal(t, "minidfs: "+name+" needs a cluster of our own; this one is attached to "+target.Addrs()[0], fake.skipped)
			require.Empty(t, fake.text())
		}
		for name, option := range map[string]Option{"network": MemNet(), "folder": Dir("/x"), "racks": Racks("/r"), "groups": User("alice", "staff"), "key": Conf("dfs.blocksize", "1m"), "port": Port(1)} {
			fake := &fakeT{}
			fake.run(func() { start(fake, uri, option) })
			require.Equal(t, "minidfs: the test's options need a cluster of our own; MINIDFS_URI names "+uri, fake.skipped, name)
		}
	}
	fake := &fakeT{}
	fake.run(func() { start(fake, "http://x") })
	require.Contains(t, fake.text(), `minidfs: "http://x" is no address of an HDFS`)
}

// TestEnvironment reads MINIDFS_URI in Start, and never in New.
func TestEnvironment(t *testing.T) {
	target, err := New(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, target.Close()) })
	t.Setenv("MINIDFS_URI", target.URI())
	c := Start(t)
	require.Equal(t, target.Addrs(), c.Addrs())
	require.NoError(t, c.Client("alice").WriteFile(t.Context(), c.Path("f"), []byte("x")))
	own, err := New(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, target.URI(), own.URI())
	require.NoError(t, own.Close())
}

// TestShared has several tests at once on one cluster, as in a package whose TestMain makes it.
func TestShared(t *testing.T) {
	t.Parallel()
	cluster, err := New(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		entries, err := cluster.Client(cluster.Superuser()).ReadDir(context.Background(), "/tmp")
		require.NoError(t, err)
		require.Empty(t, entries, "directories of tests stay")
		require.NoError(t, cluster.Close())
	})
	for _, name := range []string{"one", "two", "three"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster.For(t)
			fs := c.Client("alice")
			require.NoError(t, fs.WriteFile(t.Context(), c.Path("f"), []byte(name)))
			entries, err := fs.ReadDir(t.Context(), c.Path(""))
			require.NoError(t, err)
			require.Len(t, entries, 1)
			require.NotNil(t, c.DataNode("dn1"))
		})
	}
	fake := &fakeT{}
	var after *Cluster
	fake.run(func() {
		after = cluster.For(fake)
		fake.Fatalf("the test fails")
	})
	require.Equal(t, []string{"the test fails"}, fake.errors)
	_, err = after.NewClient("alice")
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, cluster.Client("alice").WriteFile(t.Context(), cluster.Path("f"), []byte("x")), "the cluster lives on")
	t.Cleanup(func() { require.NoError(t, cluster.forget()) })
}
