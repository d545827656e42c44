package datanode

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/memnet"
)

// cluster is a fake namenode and datanodes: over real sockets and directories, or all in memory.
type cluster struct {
	t     testing.TB
	net   *memnet.Network // nil: real sockets
	nn    *fakeNN
	dns   []*DataNode
	vols  []Volume
	setup func(i int, o *Options)
}

func (c *cluster) listen(host string) net.Listener {
	f := net.Listen
	if c.net != nil {
		f = c.net.Host(host).Listen
	}
	l, err := f("tcp", "127.0.0.1:0")
	require.NoError(c.t, err)
	return l
}

// newCluster starts n datanodes. At the end nothing may be left running.
func newCluster(t testing.TB, n int, setup func(i int, o *Options)) *cluster {
	checkLeaks(t)
	c := &cluster{t: t, setup: setup}
	for range n {
		c.vols = append(c.vols, Volume{FS: afero.NewOsFs(), Dir: t.TempDir(), Capacity: 1 << 40})
	}
	return c.startAll()
}

// newMemory starts n datanodes on a network and disks in memory, for testing/synctest.
func newMemory(t testing.TB, n int, setup func(i int, o *Options)) *cluster {
	c := &cluster{t: t, setup: setup, net: memnet.New(memnet.Options{})}
	t.Cleanup(func() { require.NoError(t, c.net.Close()) })
	for range n {
		c.vols = append(c.vols, Volume{FS: faultfs.NewDisk(faultfs.Options{}), Dir: "/data", Capacity: 1 << 40})
	}
	return c.startAll()
}

func (c *cluster) startAll() *cluster {
	c.nn = newFakeNN(c.t, c.listen("nn"))
	c.dns = make([]*DataNode, len(c.vols))
	for i := range c.vols {
		c.start(i)
	}
	return c
}

// start starts datanode i on its directory and waits until it has registered.
func (c *cluster) start(i int) *DataNode {
	host := fmt.Sprint("dn", i+1)
	o := Options{
		NameNodes: []string{c.nn.addr}, XferListener: c.listen(host), IPCListener: c.listen(host), Volumes: []Volume{c.vols[i]},
	}
	if c.net != nil {
		o.Dial = c.net.Host(host).Dial
	}
	if c.setup != nil {
		c.setup(i, &o)
	}
	c.nn.mu.Lock()
	before := len(c.nn.reports)
	c.nn.mu.Unlock()
	d, err := New(context.Background(), o)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, d.Close()) })
	c.dns[i] = d
	c.nn.until(c.t, "a full report", func() bool { return len(c.nn.reports) > before })
	return d
}

// targets names datanodes as a namenode would.
func targets(dns ...*DataNode) []*hdfspb.DatanodeInfoProto {
	var out []*hdfspb.DatanodeInfoProto
	for _, d := range dns {
		out = append(out, &hdfspb.DatanodeInfoProto{Id: datanodeProto(d.ID())})
	}
	return out
}

func block(id dfs.BlockID, gs dfs.GenStamp, n int) dfs.Block {
	return dfs.Block{ID: 1<<30 + id, GenStamp: gs, Len: int64(n)}
}

// checkLeaks fails the test when goroutines of this package are left at its end.
func checkLeaks(t testing.TB) {
	t.Cleanup(func() {
		deadline := time.Now().Add(5 * time.Second)
		for {
			left := packageGoroutines()
			if left == "" {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("goroutines are left:\n%s", left)
				return
			}
			runtime.Gosched()
		}
	})
}

func packageGoroutines() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for i, g := range strings.Split(string(buf), "\n\n") {
		if i > 0 && strings.Contains(g, "go-minidfs/datanode.(*") && !strings.Contains(g, "testing.tRunner") {
			left = append(left, g)
		}
	}
	return strings.Join(left, "\n\n")
}
