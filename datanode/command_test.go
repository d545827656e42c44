package datanode

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

// order gives a datanode a command with its next heartbeat, now.
func (c *cluster) order(d *DataNode, cmd *hdfspb.DatanodeCommandProto) {
	c.t.Helper()
	c.nn.locked(func() { c.nn.commands[d.ID().UUID] = append(c.nn.commands[d.ID().UUID], cmd) })
	require.NoError(c.t, d.TriggerHeartbeat(context.Background(), c.nn.addr))
}

func invalidate(blocks ...dfs.Block) *hdfspb.DatanodeCommandProto {
	cmd := &hdfspb.BlockCommandProto{Action: hdfspb.BlockCommandProto_INVALIDATE.Enum(), BlockPoolId: ptr(testPool)}
	for _, b := range blocks {
		cmd.Blocks = append(cmd.Blocks, plainProto(b))
	}
	return &hdfspb.DatanodeCommandProto{CmdType: hdfspb.DatanodeCommandProto_BlockCommand.Enum(), BlkCmd: cmd}
}

func replicate(b dfs.Block, to ...*DataNode) *hdfspb.DatanodeCommandProto {
	return &hdfspb.DatanodeCommandProto{CmdType: hdfspb.DatanodeCommandProto_BlockCommand.Enum(), BlkCmd: &hdfspb.BlockCommandProto{
		Action: hdfspb.BlockCommandProto_TRANSFER.Enum(), BlockPoolId: ptr(testPool), Blocks: []*hdfspb.BlockProto{plainProto(b)},
		Targets: []*hdfspb.DatanodeInfosProto{{Datanodes: targets(to...)}},
	}}
}

func recoverCommand(b dfs.Block, id dfs.GenStamp, truncate *dfs.Block, at ...*DataNode) *hdfspb.DatanodeCommandProto {
	r := &hdfspb.RecoveringBlockProto{NewGenStamp: ptr(uint64(id)), Block: &hdfspb.LocatedBlockProto{
		B: extendedProto(testPool, b), Offset: ptr(uint64(0)), Locs: targets(at...), Corrupt: ptr(false), BlockToken: emptyToken(),
	}}
	if truncate != nil {
		r.TruncateBlock = plainProto(*truncate)
	}
	return &hdfspb.DatanodeCommandProto{
		CmdType: hdfspb.DatanodeCommandProto_BlockRecoveryCommand.Enum(), RecoveryCmd: &hdfspb.BlockRecoveryCommandProto{Blocks: []*hdfspb.RecoveringBlockProto{r}},
	}
}

func TestInvalidateCommand(t *testing.T) {
	c := newCluster(t, 1, nil)
	put(t, c.dns, block(1, 1001, 1000), random(1000))
	put(t, c.dns, block(2, 1001, 1000), random(1000))
	c.order(c.dns[0], invalidate(block(1, 1001, 0), block(2, 1002, 0)))
	until(t, func() bool { return len(c.dns[0].Replicas()) == 1 && c.dns[0].Storages()[0].Blocks == 1 })
	until(t, func() bool {
		require.NoError(t, c.dns[0].TriggerHeartbeat(context.Background()))
		c.nn.mu.Lock()
		defer c.nn.mu.Unlock()
		return c.nn.count(block(1, 1001, 1000), deleted) == 1
	})
}

func TestReplicateCommand(t *testing.T) {
	c := newCluster(t, 3, nil)
	b := block(1, 1001, 200_000)
	put(t, c.dns[:1], b, random(200_000))
	c.order(c.dns[0], replicate(b, c.dns[1], c.dns[2]))
	c.nn.until(t, "both copies are reported", func() bool { return c.nn.count(b, received) == 3 })
	for _, d := range c.dns {
		mustRead(t, d, b, random(200_000))
	}
	c.order(c.dns[0], replicate(block(7, 1, 1), c.dns[1]))
	c.nn.until(t, "there is no such block", func() bool { return len(c.nn.errs) == 1 })
	c.nn.mu.Lock()
	require.Equal(t, "Can't send invalid block blk_1073741831_1", c.nn.errs[0].GetMsg())
	c.nn.mu.Unlock()
}

// TestReplicateCorrupt copies a replica that is corrupt: the target refuses it and tells on the source.
func TestReplicateCorrupt(t *testing.T) {
	c := newCluster(t, 2, func(i int, o *Options) {
		if i == 0 {
			o.TransferHook = func(_ context.Context, e *Event) error {
				if e.Kind == EventPacketOut && len(e.Data) > 0 {
					e.Data[0]++
				}
				return nil
			}
		}
	})
	b := block(1, 1001, 5000)
	put(t, c.dns[:1], b, random(5000))
	c.order(c.dns[0], replicate(b, c.dns[1]))
	c.nn.until(t, "the source is reported", func() bool { return len(c.nn.bad) == 1 })
	c.nn.mu.Lock()
	require.Equal(t, c.dns[0].ID().UUID, c.nn.bad[0].Locs[0].GetId().GetDatanodeUuid())
	c.nn.mu.Unlock()
	until(t, func() bool { return len(c.dns[1].Replicas()) == 0 })
}

// TestRecoveryCommand brings replicas of different lengths to one.
func TestRecoveryCommand(t *testing.T) {
	data := random(3000)
	c := newCluster(t, 3, nil)
	b := block(1, 1001, 0)
	for i, n := range []int{3000, 1700, 2000} {
		w := openWriter(t, c.dns[i:i+1], b, stageCreate, nil)
		w.acked(w.send(0, data[:n]))
		if i != 1 {
			w.Close() // the second writer is still there when the recovery begins
		}
	}
	c.order(c.dns[0], recoverCommand(b, 1005, nil, c.dns...))
	c.nn.until(t, "the outcome", func() bool { return len(c.nn.commits) == 1 })
	c.nn.mu.Lock()
	k := c.nn.commits[0]
	c.nn.mu.Unlock()
	require.Equal(t, uint64(1005), k.GetNewGenStamp())
	require.Equal(t, uint64(1700), k.GetNewLength())
	require.True(t, k.GetCloseFile())
	require.False(t, k.GetDeleteBlock())
	require.Len(t, k.NewTaragets, 3)
	require.Len(t, k.NewTargetStorages, 3)
	c.nn.until(t, "all report", func() bool { return c.nn.count(block(1, 1005, 1700), received) == 3 })
	for _, d := range c.dns {
		mustRead(t, d, block(1, 1005, 1700), data[:1700])
		require.NoError(t, d.Verify(context.Background()))
	}

	// a truncate, by cutting and by copying
	cut := block(1, 1006, 600)
	c.order(c.dns[1], recoverCommand(block(1, 1005, 1700), 1006, &cut, c.dns...))
	c.nn.until(t, "the outcome", func() bool { return len(c.nn.commits) == 2 })
	mustRead(t, c.dns[2], cut, data[:600])
	copied := block(2, 1007, 500)
	c.order(c.dns[2], recoverCommand(cut, 1007, &copied, c.dns...))
	c.nn.until(t, "the outcome", func() bool { return len(c.nn.commits) == 3 })
	mustRead(t, c.dns[0], copied, data[:500])
	mustRead(t, c.dns[0], cut, data[:600])

	// nobody has it
	c.order(c.dns[0], recoverCommand(block(9, 1001, 0), 1010, nil, c.dns...))
	c.nn.until(t, "the outcome", func() bool { return len(c.nn.commits) == 4 })
	c.nn.mu.Lock()
	require.True(t, c.nn.commits[3].GetDeleteBlock())
	c.nn.mu.Unlock()
}

func TestRecoveryWithADeadNode(t *testing.T) {
	data := random(3000)
	c := newCluster(t, 3, nil)
	b := block(1, 1001, 0)
	w := openWriter(t, c.dns, b, stageCreate, nil)
	w.acked(w.send(0, data[:2000]))
	c.dns[1].Kill()
	w.Close()
	c.order(c.dns[0], recoverCommand(b, 1002, nil, c.dns...))
	c.nn.until(t, "the outcome", func() bool { return len(c.nn.commits) == 1 })
	c.nn.mu.Lock()
	require.Equal(t, uint64(2000), c.nn.commits[0].GetNewLength())
	require.Len(t, c.nn.commits[0].NewTaragets, 2)
	c.nn.mu.Unlock()

	// one that was killed comes back with its replica as RWR: it counts less than one in a better state
	d := c.start(1)
	require.Equal(t, dfs.ReplicaRWR, d.Replicas()[0].State)
	c.order(c.dns[0], recoverCommand(b, 1003, nil, c.dns...))
	c.nn.until(t, "the outcome", func() bool { return len(c.nn.commits) == 2 })
	c.nn.mu.Lock()
	require.Len(t, c.nn.commits[1].NewTaragets, 2)
	c.nn.mu.Unlock()
}

func TestChoose(t *testing.T) {
	f, rbw, rwr := dfs.ReplicaFinalized, dfs.ReplicaRBW, dfs.ReplicaRWR
	type c struct {
		state dfs.ReplicaState
		len   int
	}
	for _, tc := range []struct {
		name string
		in   []c
		n    int64
		part int
		err  string
	}{
		{"all finalized", []c{{f, 9}, {f, 9}, {f, 9}}, 9, 3, ""},
		{"finalized and a longer RBW", []c{{f, 9}, {rbw, 10}}, 9, 1, ""},
		{"finalized and an equal RBW", []c{{rbw, 9}, {f, 9}}, 9, 2, ""},
		{"finalized and an equal RWR", []c{{f, 9}, {rwr, 9}}, 9, 1, ""},
		{"finalized that differ", []c{{f, 9}, {f, 8}}, 0, 0, "datanode: finalized replicas differ: blk_1_1 of :0 has 8 bytes, another one 9"},
		{"RBW: the shortest", []c{{rbw, 9}, {rbw, 7}, {rbw, 8}}, 7, 3, ""},
		{"RBW and RWR", []c{{rwr, 5}, {rbw, 7}, {rbw, 8}}, 7, 2, ""},
		{"RWR only", []c{{rwr, 5}, {rwr, 4}}, 4, 2, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var list []candidate
			for _, k := range tc.in {
				list = append(list, candidate{state: k.state, block: dfs.Block{ID: 1, GenStamp: 1, Len: int64(k.len)}})
			}
			out, err := choose(list)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.n, out.length)
			require.Len(t, out.part, tc.part)
		})
	}
}
