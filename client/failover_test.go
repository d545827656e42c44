package client

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// settled fails the test when a call has left a goroutine behind that asks namenodes.
func settled(t *testing.T, c *Client) {
	t.Helper()
	for _, p := range c.nn.probes {
		p.mu.Lock()
		require.Nil(t, p.stop)
		require.Empty(t, p.wanted)
		p.mu.Unlock()
	}
}

// TestFailoverTakesNoLonger measures how long a change takes whose namenode goes away just before it, with another one that
// is active a while after.
func TestFailoverTakesNoLonger(t *testing.T) {
	for name, away := range map[string]func(f *fake){
		"killed":      func(f *fake) { f.net.Down("nn1") },
		"paused":      func(f *fake) { f.net.Pause("nn1") },
		"cut off":     func(f *fake) { f.net.Partition([]string{"client"}, []string{"nn1"}) },
		"and another": func(f *fake) { f.net.Pause("nn1"); f.net.Pause("nn3") },
		"gave up":     func(*fake) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for ms := time.Duration(0); ms <= 60; ms += 3 {
					f := newFake(t, 3, 0)
					c := f.client(Options{})
					require.NoError(t, c.MkdirAll(t.Context(), "/a", 0o755))
					f.setActive(-1)
					away(f)
					time.AfterFunc(ms*time.Millisecond, func() { f.setActive(1) })
					start := time.Now()
					require.NoError(t, c.MkdirAll(t.Context(), "/b", 0o755))
					took := time.Since(start)
					if name == "paused" || name == "cut off" || name == "and another" {
						took -= max(0, 10-ms) * time.Millisecond // HedgeAfter
					}
					// it is found in a quarter more of the time, and two questions
					require.LessOrEqual(t, took, ms*time.Millisecond*5/4+2*probeFirst, "active after %d ms", ms)
					settled(t, c)
				}
			})
		})
	}
}

// TestNoActiveForAWhile makes many calls while there is no active namenode for two seconds: all succeed soon after, and they
// ask no more often together than one does.
func TestNoActiveForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3, 0)
		c := f.client(Options{})
		f.setActive(-1)
		time.AfterFunc(2*time.Second, func() { f.setActive(2) })
		start := time.Now()
		errs := make(chan error)
		for i := range 100 {
			go func() { errs <- c.MkdirAll(t.Context(), fmt.Sprint("/", i), 0o755) }()
		}
		for range 100 {
			require.NoError(t, <-errs)
		}
		require.Less(t, time.Since(start), 2*time.Second+2*probeMax)
		require.Less(t, len(f.seen("getHAServiceState")), 3*50)
		byID := map[int32][]fakeCall{}
		for _, call := range f.seen("mkdirs") {
			byID[call.id] = append(byID[call.id], call)
		}
		require.Len(t, byID, 100)
		for _, calls := range byID {
			for i, call := range calls {
				require.Equal(t, int32(i), call.retry, "retry counts rise")
			}
		}
		settled(t, c)
	})
}

// TestUnansweredCall names each namenode and what it said last.
func TestUnansweredCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 4, 0)
		f.setActive(-1)
		f.net.Down("nn2")
		f.setHook(2, func(context.Context, *rpc.Call, rpc.Next) (proto.Message, error) {
			return nil, dfs.Errorf(dfs.ClassStandby, "no state can do that\n\tat java.Foo")
		})
		f.setHook(3, func(ctx context.Context, c *rpc.Call, next rpc.Next) (proto.Message, error) {
			return nil, rpc.ErrDrop
		})
		c := f.client(Options{RetryTimeout: 5 * time.Second})
		start := time.Now()
		err := c.MkdirAll(t.Context(), "/a", 0o755)
		require.InDelta(t, 5, time.Since(start).Seconds(), 1)
		var e *NameNodesError
		require.ErrorAs(t, err, &e)
		require.Equal(t, "mkdirs", e.Method)
		require.Len(t, e.Tried, 4)
		require.ErrorContains(t, err, f.addrs[0]+": Operation category READ is not supported in state standby (StandbyException); "+f.addrs[1]+": ")
		require.ErrorContains(t, err, "connection refused; "+f.addrs[2]+": no state can do that (StandbyException); "+f.addrs[3]+": ")
		require.ErrorIs(t, err, ErrStandby)

		// one whose context ends before says so, and the rest as well
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = c.MkdirAll(ctx, "/a", 0o755)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "mkdir /a: context deadline exceeded: mkdirs: no namenode answered in 1s and ")
		require.ErrorContains(t, err, f.addrs[3])
		settled(t, c)
	})
	t.Run("all silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, 3, 0)
			c := f.client(Options{})
			require.NoError(t, c.MkdirAll(t.Context(), "/", 0o755))
			for i := range 3 {
				f.net.Pause(fmt.Sprint("nn", i+1))
			}
			start := time.Now()
			err := c.MkdirAll(t.Context(), "/a", 0o755)
			require.GreaterOrEqual(t, time.Since(start), 2*time.Minute)
			require.Less(t, time.Since(start), 2*time.Minute+20*time.Second) // an attempt to connect
			for _, addr := range f.addrs {
				require.ErrorContains(t, err, addr)
			}
			settled(t, c)
		})
	})
}

// hold gives a hook that keeps the calls of a method until release is closed, before or after they are carried out.
func hold(method string, after bool, release <-chan struct{}) rpc.Hook {
	return func(ctx context.Context, c *rpc.Call, next rpc.Next) (proto.Message, error) {
		if c.Method != method {
			return next(ctx)
		}
		if !after {
			<-release
			return next(ctx)
		}
		m, err := next(ctx)
		<-release
		return m, err
	}
}

// TestWriterSurvivesFailovers loses the active namenode in the middle of a block, with a datanode of the pipeline, at a flush
// to the disk, between two blocks, and at the end; each time there is none for two seconds.
func TestWriterSurvivesFailovers(t *testing.T) {
	for name, away := range map[string]func(f *fake, nn string){
		"killed": func(f *fake, nn string) { f.net.Down(nn) },
		"paused": func(f *fake, nn string) { f.net.Pause(nn) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 3, 4)
				c := f.client(Options{BlockSize: 4096, PacketSize: 512, Replication: 3})
				at := 0
				failover := func() {
					gone, next := fmt.Sprint("nn", at+1), (at+1)%3
					f.setActive(-1)
					away(f, gone)
					time.AfterFunc(2*time.Second, func() { f.setActive(next) })
					time.AfterFunc(3*time.Second, func() { f.net.Up(gone); f.net.Resume(gone) })
					at = next
				}
				over := func() { time.Sleep(5 * time.Second) }
				data := pattern(10_000)
				w, err := c.Create(t.Context(), "/f")
				require.NoError(t, err)
				write := func(from, to int) {
					_, err := w.Write(data[from:to])
					require.NoError(t, err)
				}
				write(0, 1000)
				require.NoError(t, w.Hflush())
				failover() // fsync
				require.NoError(t, w.Hsync(UpdateLength))
				over()

				failover() // updateBlockForPipeline, updatePipeline
				f.dns[f.nodesOf("/f")[0]-1].on(leaveClient, func(transfer.Header) bool { return true })
				write(1000, 2000)
				require.NoError(t, w.Hflush())
				over()

				failover() // addBlock
				write(2000, 9000)
				require.NoError(t, w.Hflush())
				over()

				write(9000, 10_000)
				failover() // complete
				require.NoError(t, w.Close())
				got, err := c.ReadFile(t.Context(), "/f")
				require.NoError(t, err)
				require.Equal(t, data, got)
				for _, method := range []string{"updateBlockForPipeline", "fsync", "addBlock", "complete"} {
					repeated := func(c fakeCall) bool { return c.retry > 0 }
					require.True(t, slices.ContainsFunc(f.seen(method), repeated), method)
				}
				settled(t, c)
			})
		})
	}
}

// TestLeasesAreRenewedThroughFailovers has a file open while the namenode changes every minute, a third of which there is none.
func TestLeasesAreRenewedThroughFailovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3, 3)
		c := f.client(Options{})
		w, err := c.Create(t.Context(), "/f")
		require.NoError(t, err)
		before := 0
		for i := range 10 {
			gone := fmt.Sprint("nn", i%3+1)
			f.setActive(-1)
			if i%2 == 0 {
				f.net.Pause(gone)
			} else {
				f.net.Down(gone)
			}
			time.Sleep(20 * time.Second)
			f.setActive((i + 1) % 3)
			time.Sleep(40 * time.Second)
			f.net.Resume(gone)
			f.net.Up(gone)
			now := f.renewals(w.holder)
			require.Greater(t, now, before, "minute %d", i)
			before = now
		}
		require.NoError(t, w.Close())
	})
}

// TestLostBytes has the network lose what is sent to namenodes, without telling: their connections stay dead when it is over.
func TestLostBytes(t *testing.T) {
	for name, tt := range map[string]struct {
		namenodes int
		after     time.Duration // the network is whole again at 10 s; the call succeeds so long after it was made, at most
	}{
		"one namenode":    {1, 31 * time.Second}, // after Options.CallTimeout
		"several of them": {3, 13 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, tt.namenodes, 0)
				c := f.client(Options{CallTimeout: 30 * time.Second, RetryTimeout: time.Minute})
				require.NoError(t, c.MkdirAll(t.Context(), "/a", 0o755))
				f.net.Blackhole("client", "nn1")
				time.AfterFunc(10*time.Second, f.net.Heal)
				start := time.Now()
				require.NoError(t, c.MkdirAll(t.Context(), "/b", 0o755))
				require.LessOrEqual(t, time.Since(start), tt.after)
				settled(t, c)
			})
		})
	}
	t.Run("and another one is active for a while", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, 3, 0)
			c := f.client(Options{})
			require.NoError(t, c.MkdirAll(t.Context(), "/a", 0o755))
			f.net.Blackhole("client", "nn1")
			f.setActive(1)
			require.NoError(t, c.MkdirAll(t.Context(), "/b", 0o755))
			f.net.Heal()
			f.net.Pause("nn2")
			f.setActive(0)
			start := time.Now()
			require.NoError(t, c.MkdirAll(t.Context(), "/c", 0o755))
			require.Less(t, time.Since(start), 15*time.Millisecond)
		})
	})
}
