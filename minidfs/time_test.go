package minidfs_test

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/minidfs"
)

// TestHour lets an hour pass: every heartbeat and every lease renewal of it happens, and it takes a moment.
func TestHour(t *testing.T) {
	t.Parallel()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		c := minidfs.Start(t, minidfs.MemNet())
		fs := c.Client("alice")
		w, err := fs.Create(t.Context(), c.Path("f"))
		require.NoError(t, err)
		_, err = w.Write([]byte("a"))
		require.NoError(t, err)
		require.NoError(t, w.Hflush())

		before := map[string]int64{}
		for _, d := range c.DataNodes() {
			before[d.ID()] = d.Heartbeats()
		}
		beats := c.Inject(minidfs.Fault{Node: "nn1", Method: "sendHeartbeat"})
		renewals := c.Inject(minidfs.Fault{Method: "renewLease", User: "alice"})
		time.Sleep(time.Hour + time.Millisecond)
		require.Equal(t, 3*1200, beats.Count())
		for _, d := range c.DataNodes() {
			require.Equal(t, int64(1200), d.Heartbeats()-before[d.ID()], d.ID())
		}
		require.Equal(t, 120, renewals.Count())

		_, err = w.Write([]byte("b"))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		got, err := fs.ReadFile(t.Context(), c.Path("f"))
		require.NoError(t, err)
		require.Equal(t, "ab", string(got))
	})
	t.Logf("an hour took %s", time.Since(began).Round(time.Millisecond))
}

// TestDeadAfter finds a datanode dead 630 s after its last heartbeat, and alive again when it comes back.
func TestDeadAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := minidfs.Start(t, minidfs.MemNet())
		root := c.Client(c.Superuser())
		require.NoError(t, c.TriggerHeartbeats(t.Context()))
		require.NoError(t, c.DataNode("dn1").Kill())
		time.Sleep(630 * time.Second)
		requireDead(t, root, 0)
		time.Sleep(3 * time.Second)
		requireDead(t, root, 1)
		require.NoError(t, c.DataNode("dn1").Start(t.Context()))
		requireDead(t, root, 0)
	})
}

// TestPausedNameNode pauses a namenode for longer than its datanodes may be silent: it does not tick meanwhile, and finds
// its datanodes again when it goes on, as after SIGCONT.
func TestPausedNameNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := minidfs.Start(t, minidfs.MemNet())
		root := c.Client(c.Superuser())
		require.NoError(t, c.NameNode("nn1").Pause())
		time.Sleep(20 * time.Minute)
		require.NoError(t, c.NameNode("nn1").Resume())
		require.NoError(t, root.WriteFile(t.Context(), c.Path("f"), []byte("x")))
		time.Sleep(10 * time.Second)
		requireDead(t, root, 0)
		require.NoError(t, c.WaitReplicated(t.Context(), c.Path("f"), 3))
	})
}

// TestLeaseLimits has a writer vanish: others are refused its file until the soft limit, and the namenode closes it at the
// hard limit.
func TestLeaseLimits(t *testing.T) {
	t.Parallel()
	vanish := func(t *testing.T, c *minidfs.Cluster, path string) {
		t.Helper()
		w, err := c.Client("alice").Create(t.Context(), path)
		require.NoError(t, err)
		_, err = w.Write([]byte("flushed"))
		require.NoError(t, err)
		require.NoError(t, w.Hflush())
		require.NoError(t, w.Abort())
	}
	t.Run("soft", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := minidfs.Start(t, minidfs.MemNet())
			path := c.Path("f")
			vanish(t, c, path)
			other := c.Client("alice")
			time.Sleep(59 * time.Second)
			_, err := other.Append(t.Context(), path)
			require.ErrorIs(t, err, client.ErrAlreadyBeingCreated)
			time.Sleep(2 * time.Second)
			var w *client.Writer
			for range 10 {
				if w, err = other.Append(t.Context(), path); err == nil {
					break
				}
				require.ErrorIs(t, err, client.ErrRecoveryInProgress)
				time.Sleep(time.Second)
			}
			require.NoError(t, err)
			_, err = w.Write([]byte(" and more"))
			require.NoError(t, err)
			require.NoError(t, w.Close())
			got, err := other.ReadFile(t.Context(), path)
			require.NoError(t, err)
			require.Equal(t, "flushed and more", string(got))
		})
	})
	t.Run("hard", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := minidfs.Start(t, minidfs.MemNet())
			path := c.Path("f")
			vanish(t, c, path)
			other := c.Client("alice")
			time.Sleep(19*time.Minute + 55*time.Second)
			closed, err := other.IsFileClosed(t.Context(), path)
			require.NoError(t, err)
			require.False(t, closed)
			time.Sleep(20 * time.Second)
			closed, err = other.IsFileClosed(t.Context(), path)
			require.NoError(t, err)
			require.True(t, closed)
			got, err := other.ReadFile(t.Context(), path)
			require.NoError(t, err)
			require.Equal(t, "flushed", string(got))
		})
	})
}

// TestOtherClientInBubble has another Go client write and read within virtual time.
func TestOtherClientInBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := minidfs.Start(t, minidfs.MemNet())
		dir := c.Path("")
		other, err := hdfs.NewClient(hdfs.ClientOptions{
			Addresses: c.Addrs(), User: "alice", NamenodeDialFunc: c.Dial, DatanodeDialFunc: c.Dial,
		})
		require.NoError(t, err)
		defer other.Close()
		data := someBytes(3 << 20)
		w, err := other.Create(dir + "/f")
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.NoError(t, w.Close())
		r, err := other.Open(dir + "/f")
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.True(t, bytes.Equal(data, got))
	})
}
