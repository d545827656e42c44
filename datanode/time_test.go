package datanode

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

func TestAnHourOfHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 1, nil)
		c.nn.locked(func() { c.nn.beats = nil })
		time.Sleep(time.Hour)
		synctest.Wait()
		c.nn.mu.Lock()
		defer c.nn.mu.Unlock()
		require.Len(t, c.nn.beats, 1200)
		require.Len(t, c.nn.reports, 1)
	})
}

func TestReportsOfADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 1, func(_ int, o *Options) { o.HeartbeatInterval = time.Minute })
		time.Sleep(24*time.Hour + time.Minute)
		synctest.Wait()
		c.nn.mu.Lock()
		require.Len(t, c.nn.reports, 5)
		c.nn.lease = 0
		c.nn.mu.Unlock()
		time.Sleep(7 * time.Hour)
		c.nn.mu.Lock()
		require.Len(t, c.nn.reports, 5, "no report without a lease")
		c.nn.mu.Unlock()
		require.EqualError(t, c.dns[0].TriggerBlockReport(context.Background()), "datanode: "+c.nn.addr+" has given no lease for a full block report")
		c.nn.locked(func() { c.nn.lease = 9 })
		require.NoError(t, c.dns[0].TriggerBlockReport(context.Background()))
		c.nn.mu.Lock()
		defer c.nn.mu.Unlock()
		require.Len(t, c.nn.reports, 6)
		require.Equal(t, uint64(9), c.nn.reports[5].GetContext().GetLeaseId())
	})
}

// TestIdleWriter pauses for hours with heartbeat packets, and goes on.
func TestIdleWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 3, nil)
		data := random(3000)
		w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
		w.acked(w.send(0, data[:512]))
		for range 200 {
			time.Sleep(30 * time.Second)
			_, err := w.Write(transfer.AppendHeartbeat(nil))
			require.NoError(t, err)
			w.acked(transfer.HeartbeatSeqno)
		}
		w.all(512, data[512:], 512)
		mustRead(t, c.dns[2], block(1, 1001, 3000), data)
	})
}

// stayAlive sends heartbeat packets, one every thirty seconds, as a client does while it waits.
func (w *testWriter) stayAlive(n int) {
	for range n {
		time.Sleep(30 * time.Second)
		_, err := w.Write(transfer.AppendHeartbeat(nil))
		require.NoError(w.t, err)
	}
}

// TestSilentWriter stops sending, its socket open: the datanode gives it up in time.
func TestSilentWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 2, nil)
		w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
		w.acked(w.send(0, random(512)))
		begin := time.Now()
		_, err := w.r.ReadByte()
		require.Error(t, err)
		require.InDelta(t, 65, time.Since(begin).Seconds(), 5)
		synctest.Wait()
		for _, d := range c.dns {
			require.Zero(t, d.Counts().Xceivers)
		}
	})
}

// TestStalledMirror has a node that takes packets and does not ack them: the writer hears which, in bounded time.
func TestStalledMirror(t *testing.T) {
	for bad := 1; bad <= 2; bad++ {
		synctest.Test(t, func(t *testing.T) {
			c := newMemory(t, 3, func(i int, o *Options) {
				if i == bad {
					o.TransferHook = func(ctx context.Context, e *Event) error {
						if e.Kind == EventAck && e.Seqno > 0 {
							<-ctx.Done()
							return ctx.Err()
						}
						return nil
					}
				}
			})
			data := random(2000)
			w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
			w.acked(w.send(0, data[:512]))
			w.send(512, data[512:1024])
			begin := time.Now()
			w.stayAlive(2)
			a := w.ack()
			got, s := a.Bad()
			require.Equal(t, bad, got)
			require.Equal(t, hdfspb.Status_ERROR, s)
			require.InDelta(t, 65, time.Since(begin).Seconds(), 6)
			w.Close()
		})
	}
}

// TestMirrorThatNeverAnswers accepts the connection and is silent from then on.
func TestMirrorThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 1, nil)
		l, err := c.net.Host("silent").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		silent := dfs.DatanodeID{UUID: "silent", IP: "127.0.0.1", XferPort: port}
		begin := time.Now()
		_, r := tryWriter(t, c.dns, block(1, 1001, 0), stageCreate, func(o *hdfspb.OpWriteBlockProto) {
			o.Targets = []*hdfspb.DatanodeInfoProto{{Id: datanodeProto(silent)}}
		})
		require.Equal(t, hdfspb.Status_ERROR, r.GetStatus())
		require.Equal(t, silent.XferAddr(), r.GetFirstBadLink())
		require.InDelta(t, 65, time.Since(begin).Seconds(), 5)
	})
}

// TestStalledReader takes half a block and reads no more.
func TestStalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 1, nil)
		w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
		w.all(0, random(2<<20), 64512)
		w.Close()
		r := connect(t, c.dns[0])
		r.op(transfer.OpReadBlock, &hdfspb.OpReadBlockProto{Header: clientHeader(block(1, 1001, 0), "c"), Offset: ptr(uint64(0)), Len: ptr(uint64(2 << 20))})
		require.Equal(t, hdfspb.Status_SUCCESS, r.response().GetStatus())
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Zero(t, c.dns[0].Counts().Xceivers)
	})
}

// TestKeepAlive reads three times over one connection, then waits: four seconds and no more.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 1, nil)
		w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
		w.all(0, random(3000), 512)
		w.Close()
		r := connect(t, c.dns[0])
		time.Sleep(50 * time.Second) // the first operation has longer
		for range 3 {
			got, err := r.read(block(1, 1001, 0), 0, 3000)
			require.NoError(t, err)
			require.Equal(t, random(3000), got)
			time.Sleep(3900 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		require.Zero(t, c.dns[0].Counts().Xceivers)
		_, err := r.r.ReadByte()
		require.Error(t, err)
		require.Equal(t, map[transfer.Op]int64{transfer.OpReadBlock: 3, transfer.OpWriteBlock: 1}, c.dns[0].Counts().Ops)
	})
}

func TestSilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 1, nil)
		r := connect(t, c.dns[0])
		begin := time.Now()
		_, err := r.r.ReadByte()
		require.Error(t, err)
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

// TestNamenodeAway starts before its namenode, loses it for a while, and finds it again.
func TestNamenodeAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 1, nil)
		d := c.dns[0]
		c.net.Down("nn")
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.Error(t, d.TriggerHeartbeat(ctx))
		w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
		w.all(0, random(3000), 512) // the pipeline does not need the namenode
		w.Close()
		time.Sleep(10 * time.Minute)
		c.net.Up("nn")
		c.nn.locked(func() { c.nn.regs = make(map[string]*hdfspb.DatanodeRegistrationProto) }) // it was restarted
		time.Sleep(10 * time.Second)
		c.nn.mu.Lock()
		require.Len(t, c.nn.regs, 1)
		require.Equal(t, 1, c.nn.count(block(1, 1001, 3000), received))
		require.Len(t, c.nn.reports, 2)
		c.nn.mu.Unlock()
		require.NoError(t, d.TriggerHeartbeat(context.Background()))
	})
}

// TestSentAway meets a namenode that wants no more of it.
func TestSentAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 1, nil)
		c.nn.locked(func() {
			c.nn.refuse = dfs.Errorf(dfs.ClassDisallowedDatanode, "Datanode denied communication with namenode")
			c.nn.regs = make(map[string]*hdfspb.DatanodeRegistrationProto)
		})
		time.Sleep(time.Minute)
		c.nn.locked(func() { c.nn.beats = nil })
		time.Sleep(time.Hour)
		c.nn.mu.Lock()
		require.Empty(t, c.nn.beats)
		c.nn.mu.Unlock()
		require.ErrorIs(t, c.dns[0].TriggerHeartbeat(context.Background()), dfs.ClassDisallowedDatanode)
	})
}

// TestPartition cuts the datanode off in the middle of everything.
func TestPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemory(t, 2, nil)
		w := openWriter(t, c.dns, block(1, 1001, 0), stageCreate, nil)
		w.acked(w.send(0, random(512)))
		c.net.Partition([]string{"dn1"}, []string{"dn2"})
		w.send(0, random(700))
		w.stayAlive(2)
		a := w.ack()
		bad, _ := a.Bad()
		require.Equal(t, 1, bad)
		c.net.Heal()
		w.Close()
	})
}
