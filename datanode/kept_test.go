package datanode

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// links counts the connections over which blocks went to all datanodes but the first.
type links struct {
	mu   sync.Mutex
	from map[string]bool
}

func (l *links) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.from)
}

func (l *links) watch(i int, o *Options) {
	l.from = make(map[string]bool)
	o.TransferHook = func(_ context.Context, e *Event) error {
		if i > 0 && e.Kind == EventOp && e.Op == transfer.OpWriteBlock {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.from[e.Peer] = true
		}
		return nil
	}
}

// writeBlock writes a block through all datanodes and reads it from the last one.
func (c *cluster) writeBlock(id dfs.BlockID) {
	c.t.Helper()
	data := random(3000 + int(id))
	w := openWriter(c.t, c.dns, block(id, 1001, 0), stageCreate, nil)
	w.all(0, data, 1024)
	require.NoError(c.t, w.Close())
	synctest.Wait()
	mustRead(c.t, c.dns[len(c.dns)-1], block(id, 1001, len(data)), data)
	synctest.Wait()
}

func (d *DataNode) aside() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, list := range d.kept {
		n += len(list)
	}
	return n
}

// TestKeptConnections: the next block goes over the connections of the last one, until none comes for a while.
func TestKeptConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l links
		c := newMemory(t, 3, l.watch)
		for id := range dfs.BlockID(5) {
			c.writeBlock(id)
			time.Sleep(time.Second)
		}
		require.Equal(t, 2, l.count())
		require.Equal(t, []int{1, 1, 0}, []int{c.dns[0].aside(), c.dns[1].aside(), c.dns[2].aside()})
		require.EqualValues(t, 1, c.dns[2].Counts().Xceivers)

		require.NoError(t, c.dns[2].TriggerHeartbeat(context.Background()))
		c.nn.locked(func() {
			for i := len(c.nn.beats) - 1; i >= 0; i-- {
				if b := c.nn.beats[i]; b.GetRegistration().GetDatanodeID().GetDatanodeUuid() == c.dns[2].ID().UUID {
					require.Zero(t, b.GetXceiverCount(), "who waits for a block is no load")
					return
				}
			}
		})

		time.Sleep(3 * time.Second)
		synctest.Wait()
		for _, d := range c.dns {
			require.Zero(t, d.aside())
			require.Zero(t, d.Counts().Xceivers)
		}
		c.writeBlock(9)
		require.Equal(t, 4, l.count())
	})
}

// TestKeptConnectionIsStale: the other end closed it meanwhile, which the writer does not notice.
func TestKeptConnectionIsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l links
		c := newMemory(t, 2, func(i int, o *Options) {
			l.watch(i, o)
			if i == 1 {
				o.KeepAlive = 100 * time.Millisecond
			}
		})
		c.writeBlock(1)
		time.Sleep(time.Second)
		require.Equal(t, 1, c.dns[0].aside())
		c.writeBlock(2)
		require.Equal(t, 2, l.count())
	})
}

// TestKeptConnectionIsSilent: a node that hangs is reported as it would be over a new connection, and is not asked twice.
func TestKeptConnectionIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hang atomic.Bool
		var asked atomic.Int64
		c := newMemory(t, 2, func(i int, o *Options) {
			o.TransferHook = func(ctx context.Context, e *Event) error {
				if i == 1 && e.Kind == EventOp && hang.Load() {
					asked.Add(1)
					<-ctx.Done()
				}
				return nil
			}
		})
		c.writeBlock(1)
		hang.Store(true)
		begin := time.Now()
		_, r := tryWriter(t, c.dns, block(2, 1001, 0), stageCreate, nil)
		require.Equal(t, c.dns[1].ID().XferAddr(), r.GetFirstBadLink())
		require.InDelta(t, 65, time.Since(begin).Seconds(), 5)
		require.EqualValues(t, 1, asked.Load())
	})
}

// TestKeptConnectionsLeaveRoom: who waits for a block takes nobody's place.
func TestKeptConnectionsLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 2, func(_ int, o *Options) { o.MaxXceivers = 1 })
		c.writeBlock(1)
		require.Equal(t, 1, c.dns[0].aside())
		c.writeBlock(2)
	})
}

// TestKeptConnectionsAreBounded: many blocks at once leave no more behind than are worth keeping.
func TestKeptConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 2, nil)
		var writers []*testWriter
		for id := range dfs.BlockID(maxKept + 4) {
			writers = append(writers, openWriter(t, c.dns, block(id, 1001, 0), stageCreate, nil))
		}
		for _, w := range writers {
			w.all(0, random(100), 512)
			w.Close()
		}
		synctest.Wait()
		require.Equal(t, maxKept, c.dns[0].aside())
		require.EqualValues(t, maxKept, c.dns[1].Counts().Xceivers)
	})
}
