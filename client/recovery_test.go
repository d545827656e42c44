package client

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/rpc"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// nodesOf gives the datanodes of a file's last block, numbered from 1.
func (f *fake) nodesOf(path string) (nodes []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.files[path].blocks
	for _, n := range b[len(b)-1].nodes {
		nodes = append(nodes, n+1)
	}
	return nodes
}

// on makes a datanode treat one packet in a special way: the first one for which when holds.
func (d *fakeDN) on(v fakeVerdict, when func(transfer.Header) bool) {
	d.with(func() {
		done := false
		d.onPacket = func(h transfer.Header) fakeVerdict {
			if done || !when(h) {
				return takePacket
			}
			done = true
			return v
		}
	})
}

func number(n int64) func(transfer.Header) bool {
	return func(h transfer.Header) bool { return h.Seqno == n && !h.Last }
}

func last(h transfer.Header) bool { return h.Last }

func TestPipelineLosesANode(t *testing.T) {
	tests := []struct {
		name  string
		node  int // 1 is the first
		how   fakeVerdict
		when  func(transfer.Header) bool
		stage stage
		left  []int
		takes time.Duration // at most
	}{
		{"first leaves", 1, leaveClient, number(3), recoverStreams, []int{2, 3}, time.Second},
		{"middle leaves", 2, leaveClient, number(3), recoverStreams, []int{1, 3}, time.Second},
		{"last leaves", 3, leaveClient, number(3), recoverStreams, []int{1, 2}, time.Second},
		{"first says error", 1, failPacket, number(0), recoverStreams, []int{2, 3}, time.Second},
		{"middle says error", 2, failPacket, number(5), recoverStreams, []int{1, 3}, time.Second},
		{"last says error", 3, failPacket, number(5), recoverStreams, []int{1, 2}, time.Second},
		{"first is silent", 1, holdPacket, number(3), recoverStreams, []int{2, 3}, 80 * time.Second},
		{"first leaves at the end", 1, leaveClient, last, recoverClose, []int{2, 3}, time.Second},
		{"last leaves at the end", 3, leaveClient, last, recoverClose, []int{1, 2}, time.Second},
		{"first is silent at the end", 1, holdPacket, last, recoverClose, []int{2, 3}, 80 * time.Second},
		{"one of three restarts", 2, restartSoon, number(2), recoverStreams, []int{1, 3}, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 1, 3)
				c := f.client(Options{PacketSize: 512, Window: 4})
				f.dns[tt.node-1].on(tt.how, tt.when)
				start := time.Now()
				data := pattern(5000)
				require.NoError(t, c.WriteFile(t.Context(), "/f", data))
				require.Less(t, time.Since(start), tt.takes)
				require.Equal(t, tt.left, f.nodesOf("/f"))
				require.True(t, bytes.Equal(data, f.content("/f")))

				first := f.dns[tt.left[0]-1]
				s := first.setUps[len(first.setUps)-1]
				require.Equal(t, tt.stage, s.GetStage())
				require.EqualValues(t, 2, s.GetPipelineSize())
				require.Greater(t, s.GetLatestGenerationStamp(), s.GetHeader().GetBaseHeader().GetBlock().GetGenerationStamp())
				require.EqualValues(t, 128<<20, s.GetHeader().GetBaseHeader().GetBlock().GetNumBytes())
				require.LessOrEqual(t, s.GetMinBytesRcvd(), s.GetMaxBytesRcvd())
				if tt.stage == recoverClose {
					require.EqualValues(t, 5000, s.GetMinBytesRcvd())
				}
				require.Len(t, f.seen("updatePipeline"), 1)
				require.Len(t, f.seen("addBlock"), 1)
			})
		})
	}
}

func TestSilentNodesOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		c := f.client(Options{DatanodeTimeout: 10 * time.Second})
		for _, d := range f.dns {
			d.on(holdPacket, number(1))
		}
		start := time.Now()
		err := c.WriteFile(t.Context(), "/f", make([]byte, 1<<20))
		require.ErrorContains(t, err, "all datanodes ["+f.dns[2].addr+"] of block blk_")
		require.ErrorContains(t, err, "are bad, nothing is left to write to: no ack of the pipeline's first datanode: ")
		require.Less(t, time.Since(start), 80*time.Second)
	})
}

func TestPipelineBreaksAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 9)
		c := f.client(Options{})
		for _, d := range f.dns {
			d.on(failPacket, number(0))
		}
		err := c.WriteFile(t.Context(), "/f", []byte("x"), Replication(9))
		require.ErrorContains(t, err, "broke 6 times in a row: the ack of packet 0 says ERROR for datanode 0 of the pipeline")
	})
}

func TestOnlyNodeRestarts(t *testing.T) {
	tests := []struct {
		name string
		away time.Duration
		ok   bool
	}{
		{"soon back", 10 * time.Second, true},
		{"too late", time.Minute, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 1, 1)
				c := f.client(Options{})
				w, err := c.Create(t.Context(), "/f")
				require.NoError(t, err)
				_, err = w.Write([]byte("one"))
				require.NoError(t, err)
				require.NoError(t, w.Hflush())
				f.dns[0].on(restartSoon, number(1))
				back := time.Now().Add(tt.away)
				f.dns[0].with(func() { f.dns[0].refuseUntil = back })
				_, err = w.Write([]byte("two"))
				require.NoError(t, err)
				err = w.Close()
				if tt.ok {
					require.NoError(t, err)
					require.Equal(t, "onetwo", string(f.content("/f")))
				} else {
					require.ErrorContains(t, err, "nothing is left to write to")
					require.InDelta(t, 30, time.Since(back.Add(-tt.away)).Seconds(), 5)
				}
			})
		})
	}
}

func TestSetUpFails(t *testing.T) {
	t.Run("and another node takes the place", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, 1, 5)
			c := f.client(Options{})
			f.dns[1].refuse = hdfspb.Status_ERROR
			f.net.Down("dn3")
			require.NoError(t, c.WriteFile(t.Context(), "/f", []byte("data"), Replication(3)))
			require.Equal(t, []int{1, 4, 5}, f.nodesOf("/f"))
			require.Len(t, f.seen("abandonBlock"), 2)
			calls := f.seen("addBlock")
			excluded := calls[2].req.(*hdfspb.AddBlockRequestProto).GetExcludeNodes()
			require.Len(t, excluded, 2)
			require.Equal(t, "data", string(f.content("/f")))
		})
	})
	t.Run("everywhere", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, 1, 6)
			c := f.client(Options{})
			for _, d := range f.dns {
				f.net.Down(d.name())
			}
			err := c.WriteFile(t.Context(), "/f", []byte("data"), Replication(1))
			require.ErrorContains(t, err, "close /f: no pipeline for a new block after 4 attempts: no connection to datanode "+f.dns[0].addr)
			require.Len(t, f.seen("abandonBlock"), 4)
		})
	})
	t.Run("silently", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, 1, 2)
			c := f.client(Options{})
			f.net.Stall("client", "dn1")
			start := time.Now()
			require.NoError(t, c.WriteFile(t.Context(), "/f", []byte("data"), Replication(1)))
			require.Equal(t, []int{2}, f.nodesOf("/f"))
			require.InDelta(t, 20, time.Since(start).Seconds(), 1)
			f.net.Heal()
		})
	})
	t.Run("with every node excluded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, 1, 1)
			c := f.client(Options{})
			f.dns[0].refuse = hdfspb.Status_ERROR
			require.NoError(t, c.WriteFile(t.Context(), "/f", []byte("data"), Replication(1)))
		})
	})
}

func TestAppendSetUpFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		c := f.client(Options{})
		require.NoError(t, c.WriteFile(t.Context(), "/f", []byte("one")))
		f.net.Down("dn2")
		w, err := c.Append(t.Context(), "/f")
		require.NoError(t, err)
		_, err = w.Write([]byte("two"))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.Equal(t, []int{1, 3}, f.nodesOf("/f"))
		require.Equal(t, "onetwo", string(f.content("/f")))
		var stages []stage
		for _, s := range f.dns[0].setUps {
			stages = append(stages, s.GetStage())
		}
		require.Equal(t, []stage{setUpCreate, setUpAppend, recoverAppend}, stages)
		require.Len(t, f.seen("updateBlockForPipeline"), 2)
	})
}

func TestAddBlockWaitsForTheBlockBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		c := f.client(Options{})
		start := time.Now()
		f.setHook(0, func(ctx context.Context, call *rpc.Call, next rpc.Next) (proto.Message, error) {
			if call.Method == "addBlock" && time.Since(start) < 4*time.Second {
				return nil, dfs.Errorf(dfs.ClassNotReplicatedYet, "Not replicated yet: /f")
			}
			return next(ctx)
		})
		require.NoError(t, c.WriteFile(t.Context(), "/f", []byte("data")))
		require.Less(t, time.Since(start), 9*time.Second)
	})
}

func TestLeaseTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 1)
		c := f.client(Options{})
		w, err := c.Create(t.Context(), "/f")
		require.NoError(t, err)
		f.mu.Lock()
		f.files["/f"].open = "somebody else"
		f.mu.Unlock()
		_, err = w.Write([]byte("data"))
		require.NoError(t, err)
		err = w.Close()
		require.ErrorIs(t, err, ErrLeaseExpired)
		require.Len(t, f.seen("addBlock"), 1, "no further attempt")
	})
}
