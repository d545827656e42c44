package minidfs_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/minidfs"
)

// effect shows what a key does.
type effect struct {
	value string
	more  []minidfs.Option
	check func(t *testing.T, c *minidfs.Cluster, root *client.Client)
}

// TestConfKeys shows an effect of every honoured key. Each test runs in virtual time.
func TestConfKeys(t *testing.T) {
	t.Parallel()
	effects := confEffects()
	for _, key := range minidfs.HonouredKeys() {
		e, ok := effects[key[0]]
		require.True(t, ok, "add a row to confEffects that shows what the key %s does", key[0])
		delete(effects, key[0])
		t.Run(key[0], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				options := []minidfs.Option{minidfs.MemNet(), minidfs.Conf(key[0], e.value), minidfs.Superuser("root")}
				if e.more == nil {
					options = append(options, minidfs.Dir(dir))
				}
				c := minidfs.Start(t, append(options, e.more...)...)
				e.check(t, c, c.Client("root"))
			})
		})
	}
	require.Empty(t, effects, "rows of keys that are not honoured")
}

func confEffects() map[string]effect {
	defaults := func(f func(t *testing.T, d client.ServerDefaults)) func(*testing.T, *minidfs.Cluster, *client.Client) {
		return func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			d, err := root.ServerDefaults(t.Context())
			require.NoError(t, err)
			f(t, d)
		}
	}
	return map[string]effect{
		"dfs.blocksize": {value: "1m", check: func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			require.NoError(t, root.WriteFile(t.Context(), "/f", make([]byte, 1<<20+1)))
			blocks, err := root.Locations(t.Context(), "/f")
			require.NoError(t, err)
			require.Len(t, blocks, 2)
		}},
		"dfs.bytes-per-checksum": {value: "1024", check: defaults(func(t *testing.T, d client.ServerDefaults) {
			require.Equal(t, 1024, d.BytesPerChunk)
		})},
		"dfs.client-write-packet-size": {value: "131072", check: defaults(func(t *testing.T, d client.ServerDefaults) {
			require.Equal(t, 131072, d.PacketSize)
		})},
		"dfs.checksum.type": {value: "CRC32", check: defaults(func(t *testing.T, d client.ServerDefaults) {
			require.Equal(t, dfs.ChecksumCRC32, d.Checksum)
		})},
		"io.file.buffer.size": {value: "8192", check: defaults(func(t *testing.T, d client.ServerDefaults) {
			require.Equal(t, 8192, d.BufferSize)
		})},
		"fs.trash.interval": {value: "60", check: defaults(func(t *testing.T, d client.ServerDefaults) {
			require.Equal(t, time.Hour, d.TrashInterval)
		})},
		"dfs.replication": {value: "2", check: func(t *testing.T, c *minidfs.Cluster, root *client.Client) {
			require.NoError(t, root.WriteFile(t.Context(), "/f", []byte("x")))
			require.NoError(t, c.WaitReplicated(t.Context(), "/f", 2))
			require.Len(t, locations(t, c, "/f"), 2)
		}},
		"dfs.replication.max": {value: "3", check: func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			require.ErrorContains(t, root.WriteFile(t.Context(), "/f", []byte("x"), client.Replication(4)), "maximum of 3")
		}},
		"dfs.namenode.replication.min": {value: "2", check: func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			require.ErrorContains(t, root.WriteFile(t.Context(), "/f", []byte("x"), client.Replication(1)), "minimum of 2")
		}},
		"dfs.permissions.enabled": {value: "false", check: func(t *testing.T, c *minidfs.Cluster, _ *client.Client) {
			require.NoError(t, c.Client("bob").Mkdir(t.Context(), "/bobs", 0o755))
		}},
		"dfs.permissions.superusergroup": {value: "wheel", more: []minidfs.Option{minidfs.User("bob", "wheel")},
			check: func(t *testing.T, c *minidfs.Cluster, _ *client.Client) {
				require.NoError(t, c.Client("bob").Mkdir(t.Context(), "/bobs", 0o755))
			}},
		"hadoop.user.group.static.mapping.overrides": {value: "bob=staff,supergroup;eve=", check: func(t *testing.T, c *minidfs.Cluster, _ *client.Client) {
			require.NoError(t, c.Client("bob").Mkdir(t.Context(), "/bobs", 0o755))
			require.ErrorIs(t, c.Client("eve").Mkdir(t.Context(), "/eves", 0o755), os.ErrPermission)
		}},
		"dfs.namenode.fs-limits.min-block-size": {value: "1m", check: func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			require.ErrorContains(t, root.WriteFile(t.Context(), "/f", []byte("x"), client.BlockSize(512)), "1048576")
		}},
		"dfs.namenode.fs-limits.max-blocks-per-file": {value: "1", check: func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			require.ErrorContains(t, root.WriteFile(t.Context(), "/f", make([]byte, 513), client.BlockSize(512)), "has reached the limit")
		}},
		"dfs.namenode.fs-limits.max-component-length": {value: "5", check: func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			require.NoError(t, root.Mkdir(t.Context(), "/short", 0o755))
			require.ErrorContains(t, root.Mkdir(t.Context(), "/longer", 0o755), "limit=5")
		}},
		"dfs.namenode.fs-limits.max-directory-items": {value: "1", check: func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			require.NoError(t, root.Mkdir(t.Context(), "/a", 0o755))
			require.ErrorContains(t, root.Mkdir(t.Context(), "/b", 0o755), "limit=1 items=1")
		}},
		"dfs.namenode.fs-limits.max-xattrs-per-inode": {value: "1", check: func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			require.NoError(t, root.Mkdir(t.Context(), "/a", 0o755))
			require.NoError(t, root.SetXAttr(t.Context(), "/a", "user.a", nil, 0))
			require.Error(t, root.SetXAttr(t.Context(), "/a", "user.b", nil, 0))
		}},
		"dfs.namenode.fs-limits.max-xattr-size": {value: "10", check: func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			require.NoError(t, root.Mkdir(t.Context(), "/a", 0o755))
			require.Error(t, root.SetXAttr(t.Context(), "/a", "user.a", make([]byte, 20), 0))
		}},
		"dfs.ls.limit": {value: "2", check: func(t *testing.T, c *minidfs.Cluster, root *client.Client) {
			for i := range 5 {
				require.NoError(t, root.Mkdir(t.Context(), "/d"+strconv.Itoa(i), 0o755))
			}
			calls := c.Inject(minidfs.Fault{Method: "getListing"})
			entries, err := root.ReadDir(t.Context(), "/")
			require.NoError(t, err)
			require.Len(t, entries, 5)
			require.Equal(t, 3, calls.Count())
		}},
		"dfs.namenode.accesstime.precision": {value: "1000", check: func(t *testing.T, _ *minidfs.Cluster, root *client.Client) {
			require.NoError(t, root.WriteFile(t.Context(), "/f", []byte("x")))
			before, err := root.Stat(t.Context(), "/f")
			require.NoError(t, err)
			time.Sleep(time.Minute)
			_, err = root.ReadFile(t.Context(), "/f")
			require.NoError(t, err)
			after, err := root.Stat(t.Context(), "/f")
			require.NoError(t, err)
			require.Equal(t, time.Minute, after.AccessTime.Sub(before.AccessTime))
		}},
		"dfs.namenode.safemode.threshold-pct": {value: "0", check: func(t *testing.T, c *minidfs.Cluster, root *client.Client) {
			require.NoError(t, root.WriteFile(t.Context(), "/f", []byte("x")))
			restartAlone(t, c)
			on, err := root.SafeMode(t.Context())
			require.NoError(t, err)
			require.False(t, on)
		}},
		"dfs.namenode.safemode.min.datanodes": {value: "2", check: func(t *testing.T, c *minidfs.Cluster, root *client.Client) {
			restartAlone(t, c)
			on, err := root.SafeMode(t.Context())
			require.NoError(t, err)
			require.True(t, on)
			require.NoError(t, c.DataNode("dn1").Start(t.Context()))
			require.NoError(t, c.DataNode("dn3").Start(t.Context()))
			require.NoError(t, c.WaitActive(t.Context()))
		}},
		"dfs.namenode.safemode.extension": {value: "5m", check: func(t *testing.T, c *minidfs.Cluster, root *client.Client) {
			for _, name := range []string{"/f", "/g"} { // 99.9 % of one block are none
				require.NoError(t, root.WriteFile(t.Context(), name, []byte("x")))
			}
			require.NoError(t, c.NameNode("nn1").Stop())
			began := time.Now()
			require.NoError(t, c.NameNode("nn1").Start(t.Context()))
			require.NoError(t, c.WaitActive(t.Context()))
			require.InDelta(t, 5*time.Minute, time.Since(began), float64(5*time.Second))
		}},
		"dfs.heartbeat.interval": {value: "1", check: func(t *testing.T, c *minidfs.Cluster, _ *client.Client) {
			calls := c.Inject(minidfs.Fault{Node: "nn1", Method: "sendHeartbeat"})
			time.Sleep(time.Minute + time.Millisecond)
			require.Equal(t, 3*60, calls.Count())
		}},
		"dfs.namenode.heartbeat.recheck-interval": {value: "10000", check: func(t *testing.T, c *minidfs.Cluster, root *client.Client) {
			require.NoError(t, c.DataNode("dn1").Kill())
			time.Sleep(45 * time.Second)
			requireDead(t, root, 0)
			time.Sleep(10 * time.Second)
			requireDead(t, root, 1)
		}},
		"dfs.namenode.stale.datanode.interval": {value: "10000", check: func(t *testing.T, c *minidfs.Cluster, root *client.Client) {
			require.NoError(t, root.WriteFile(t.Context(), "/f", []byte("x")))
			require.NoError(t, c.WaitReplicated(t.Context(), "/f", 3))
			require.NoError(t, c.DataNode("dn1").Kill())
			time.Sleep(15 * time.Second)
			for range 20 {
				require.Equal(t, c.DataNode("dn1").Addr(), locations(t, c, "/f")[2])
			}
		}},
		"dfs.blockreport.intervalMsec": {value: "60000", check: func(t *testing.T, c *minidfs.Cluster, _ *client.Client) {
			calls := c.Inject(minidfs.Fault{Method: "blockReport"})
			time.Sleep(10*time.Minute + 10*time.Second)
			require.InDelta(t, 3*10, calls.Count(), 3)
		}},
		"dfs.namenode.lease-hard-limit-sec": {value: "60", check: func(t *testing.T, c *minidfs.Cluster, root *client.Client) {
			w, err := c.Client("root").Create(t.Context(), "/f")
			require.NoError(t, err)
			_, err = w.Write([]byte("x"))
			require.NoError(t, err)
			require.NoError(t, w.Hflush())
			require.NoError(t, w.Abort())
			time.Sleep(55 * time.Second)
			closed, err := root.IsFileClosed(t.Context(), "/f")
			require.NoError(t, err)
			require.False(t, closed)
			time.Sleep(20 * time.Second)
			closed, err = root.IsFileClosed(t.Context(), "/f")
			require.NoError(t, err)
			require.True(t, closed)
		}},
		"dfs.datanode.synconclose": {value: "true", check: func(t *testing.T, c *minidfs.Cluster, root *client.Client) {
			before := c.Syncs()
			require.NoError(t, root.WriteFile(t.Context(), "/f", []byte("x")))
			require.GreaterOrEqual(t, c.Syncs()-before, int64(3))
		}},
		"dfs.namenode.checkpoint.txns": {value: "5", check: func(t *testing.T, c *minidfs.Cluster, root *client.Client) {
			for i := range 20 {
				require.NoError(t, root.Mkdir(t.Context(), "/d"+strconv.Itoa(i), 0o755))
			}
			synctest.Wait() // a stop would give the checkpoint up
			require.NoError(t, c.NameNode("nn1").Stop())
			images, err := filepath.Glob(filepath.Join(c.Folder("nn1"), "current", "fsimage_*"))
			require.NoError(t, err)
			require.NotEmpty(t, images)
		}},
		"fs.permissions.umask-mode": {value: "027", check: func(t *testing.T, c *minidfs.Cluster, _ *client.Client) {
			dir := t.TempDir()
			require.NoError(t, c.WriteConf(dir))
			site, err := os.ReadFile(filepath.Join(dir, "core-site.xml"))
			require.NoError(t, err)
			require.Contains(t, string(site), "<name>fs.permissions.umask-mode</name>\n    <value>027</value>")
		}},
	}
}

// restartAlone restarts the namenode while all datanodes are down.
func restartAlone(t *testing.T, c *minidfs.Cluster) {
	t.Helper()
	for _, d := range c.DataNodes() {
		require.NoError(t, d.Kill())
	}
	require.NoError(t, c.NameNode("nn1").Stop())
	require.NoError(t, c.NameNode("nn1").Start(t.Context()))
}

func requireDead(t *testing.T, root *client.Client, want int) {
	t.Helper()
	dead, err := root.DatanodeReport(t.Context(), client.DeadNodes)
	require.NoError(t, err)
	require.Len(t, dead, want)
}

// TestBadConf says what is wrong with keys and values.
func TestBadConf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options []minidfs.Option
		want    string
	}{
		{"unknown key", conf("dfs.block.size", "1"), "minidfs: the key dfs.block.size is not honoured; the nearest that is: dfs.blocksize (default block size, bytes or 16m)"},
		{"size", conf("dfs.blocksize", "16x"), "minidfs: dfs.blocksize=16x: a size such as 1048576, 16m or 1g is wanted"},
		{"negative size", conf("dfs.blocksize", "-1"), "minidfs: dfs.blocksize=-1: a size such as 1048576, 16m or 1g is wanted"},
		{"huge size", conf("dfs.blocksize", "16e"), "minidfs: dfs.blocksize=16e: a size such as 1048576, 16m or 1g is wanted"},
		{"number", conf("dfs.replication", "three"), "minidfs: dfs.replication=three: a whole number from 1 to 512 is wanted"},
		{"range", conf("dfs.replication", "513"), "minidfs: dfs.replication=513: a whole number from 1 to 512 is wanted"},
		{"truth", conf("dfs.permissions.enabled", "yes"), "minidfs: dfs.permissions.enabled=yes: true or false is wanted"},
		{"time", conf("dfs.heartbeat.interval", "soon"), "minidfs: dfs.heartbeat.interval=soon: a time such as 30s, 5m or 1h is wanted"},
		{"share", conf("dfs.namenode.safemode.threshold-pct", "most"), "minidfs: dfs.namenode.safemode.threshold-pct=most: a share such as 0.999 is wanted"},
		{"checksum", conf("dfs.checksum.type", "MD5"), "minidfs: dfs.checksum.type=MD5: NULL, CRC32 or CRC32C is wanted"},
		{"groups", conf("hadoop.user.group.static.mapping.overrides", "alice"), `minidfs: hadoop.user.group.static.mapping.overrides=alice: "alice" is not user=group,group`},
		{"empty name", conf("dfs.permissions.superusergroup", " "), "minidfs: dfs.permissions.superusergroup= : a name is wanted"},
		{"umask", conf("fs.permissions.umask-mode", "9"), "minidfs: fs.permissions.umask-mode=9: an octal mask such as 022 is wanted"},

		{"datanodes", []minidfs.Option{minidfs.DataNodes(-1)}, "minidfs: DataNodes(-1): from 0 to 1000 are possible"},
		{"volumes", []minidfs.Option{minidfs.Volumes(0)}, "minidfs: Volumes(0): from 1 to 100 are possible"},
		{"rack", []minidfs.Option{minidfs.Racks("r1")}, `minidfs: rack "r1": write it like /rack1`},
		{"racks", []minidfs.Option{minidfs.Racks("/a", "/b"), minidfs.DataNodes(1)}, "minidfs: 2 racks for 1 datanodes: name at most one a datanode"},
		{"port", []minidfs.Option{minidfs.Port(70000)}, "minidfs: Port(70000): from 0 to 65535 are possible"},
		{"other processes in memory", []minidfs.Option{minidfs.OtherProcesses(), minidfs.MemNet()}, "minidfs: OtherProcesses and MemNet contradict each other: no other process reaches a network in memory"},
		{"two namenodes", []minidfs.Option{minidfs.NameNodes(2)}, "minidfs: NameNodes(2): a group has 3 or 5 namenodes, of which 1 or 2 may fail; 1 is alone"},
		{"a name for one namenode", []minidfs.Option{minidfs.NameService("x")}, "minidfs: NameService names several namenodes, and there is one: give NameNodes(3), or leave the name out"},
		{"a name with a port", []minidfs.Option{minidfs.NameNodes(3), minidfs.NameService("x:1")}, `minidfs: NameService("x:1"): give a plain word`},
		{"port in memory", []minidfs.Option{minidfs.Port(9000), minidfs.MemNet()}, "minidfs: Port and MemNet contradict each other: an in-memory network has no ports of the machine"},
		{"two folders", []minidfs.Option{minidfs.Dir("/x"), minidfs.TempDir("")}, "minidfs: Dir and TempDir contradict each other: data are either kept or removed"},
		{"no folder", []minidfs.Option{minidfs.Dir("")}, `minidfs: Dir(""): name a folder`},
		{"capacity", []minidfs.Option{minidfs.Capacity(-5)}, "minidfs: a capacity of -5 bytes makes no sense"},
		{"nobody", []minidfs.Option{minidfs.Superuser("")}, `minidfs: Superuser(""): name a user`},
		{"no user", []minidfs.Option{minidfs.User("")}, `minidfs: User(""): name a user`},
		{"no reason", []minidfs.Option{minidfs.NoCheck("")}, "minidfs: NoCheck wants a reason"},
		{"min above max", append(conf("dfs.namenode.replication.min", "3"), conf("dfs.replication.max", "2")...), "minidfs: dfs.namenode.replication.min=3 is above dfs.replication.max=2"},
		{"replication above max", append(conf("dfs.replication", "3"), conf("dfs.replication.max", "2")...), "minidfs: dfs.replication=3 is not between dfs.namenode.replication.min=1 and dfs.replication.max=2: no file could be made without naming another"},
		{"default replication above max", conf("dfs.replication.max", "2"), "minidfs: dfs.replication=3 is not between dfs.namenode.replication.min=1 and dfs.replication.max=2: no file could be made without naming another"},
		{"default replication below min", append(conf("dfs.namenode.replication.min", "4"), minidfs.DataNodes(5)), "minidfs: dfs.replication=3 is not between dfs.namenode.replication.min=4 and dfs.replication.max=512: no file could be made without naming another"},
		{"checksums across blocks", append(conf("dfs.bytes-per-checksum", "1000"), conf("dfs.blocksize", "1m")...), "minidfs: dfs.bytes-per-checksum=1000 does not divide dfs.blocksize=1048576: clients write no such file"},
		{"default checksums across blocks", conf("dfs.blocksize", "1000"), "minidfs: dfs.bytes-per-checksum=512 does not divide dfs.blocksize=1000: clients write no such file"},
		{"min above datanodes", conf("dfs.namenode.replication.min", "4"), "minidfs: dfs.namenode.replication.min=4 can never be met by 3 datanodes"},
		{"replication without datanodes", append(conf("dfs.replication", "1"), minidfs.DataNodes(0)), "minidfs: dfs.replication=1 is wanted of a cluster without datanodes: add datanodes, or leave the replication out"},
		{"safe mode for ever", conf("dfs.namenode.safemode.min.datanodes", "4"), "minidfs: dfs.namenode.safemode.min.datanodes=4 can never be met by 3 datanodes"},
		{"files without datanodes", []minidfs.Option{minidfs.DataNodes(0), minidfs.Files(os.DirFS("."))}, "minidfs: Files needs datanodes to hold them"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := minidfs.New(t.Context(), test.options...)
			require.EqualError(t, err, test.want)
			require.Nil(t, c)
		})
	}
}

func conf(key, value string) []minidfs.Option { return []minidfs.Option{minidfs.Conf(key, value)} }
