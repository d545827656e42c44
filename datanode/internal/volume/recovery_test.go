package volume

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// inState makes replica 1 with 1600 bytes under stamp 1001 in a state.
func inState(t *testing.T, state dfs.ReplicaState) *Set {
	s := openOne(t, memory())
	b := block(1, 1001, 1600)
	if state == dfs.ReplicaFinalized {
		put(t, s, b, random(1600))
		return s
	}
	w := create(t, s, b)
	write(t, w, 0, random(1600))
	w.Acked(1000)
	require.NoError(t, w.Close())
	if state == dfs.ReplicaRWR {
		s = restart(t, s)
	}
	return s
}

func TestRecovery(t *testing.T) {
	ctx := context.Background()
	for _, state := range []dfs.ReplicaState{dfs.ReplicaFinalized, dfs.ReplicaRBW, dfs.ReplicaRWR} {
		for _, n := range []int{1600, 1024, 700, 1, 0} {
			t.Run(state.String(), func(t *testing.T) {
				s := inState(t, state)
				info, found, err := s.InitRecovery(ctx, block(1, 1001, 0), 1005)
				require.NoError(t, err)
				require.True(t, found)
				require.Equal(t, block(1, 1001, 1600), info.Block)
				require.Equal(t, state, info.Original)
				require.Equal(t, dfs.ReplicaRUR, info.State)
				require.Equal(t, []Report{{info.Block, state}}, s.Reports()[s.Volumes()[0]])
				info, err = s.UpdateRecovery(ctx, info.Block, 1005, int64(n), 0)
				require.NoError(t, err)
				require.Equal(t, block(1, 1005, n), info.Block)
				require.Equal(t, dfs.ReplicaFinalized, info.State)
				onDisk(t, s, info.ID, random(1600)[:n])
				require.Equal(t, random(1600)[:n], readAll(t, s, info.Block))
				usedIsExact(t, s)
				s = restart(t, s)
				onDisk(t, s, info.ID, random(1600)[:n])
			})
		}
	}
}

func TestCopyOnTruncate(t *testing.T) {
	ctx := context.Background()
	s := inState(t, dfs.ReplicaFinalized)
	info, _, err := s.InitRecovery(ctx, block(1, 1001, 0), 1005)
	require.NoError(t, err)
	copied, err := s.UpdateRecovery(ctx, info.Block, 1005, 700, block(2, 0, 0).ID)
	require.NoError(t, err)
	require.Equal(t, block(2, 1005, 700), copied.Block)
	onDisk(t, s, block(2, 0, 0).ID, random(1600)[:700])
	onDisk(t, s, block(1, 0, 0).ID, random(1600))
	info, _ = s.Replica(info.ID)
	require.Equal(t, dfs.ReplicaFinalized, info.State)
	require.Equal(t, block(1, 1001, 1600), info.Block)
	usedIsExact(t, s)
}

func TestRecoveryRefusals(t *testing.T) {
	ctx := context.Background()
	s := inState(t, dfs.ReplicaRBW)
	_, found, err := s.InitRecovery(ctx, block(9, 1001, 0), 1005)
	require.NoError(t, err)
	require.False(t, found)
	_, _, err = s.InitRecovery(ctx, block(1, 1002, 0), 1005)
	require.EqualError(t, err, "replica.getGenerationStamp() < block.getGenerationStamp(), block=blk_1073741825_1002, replica=blk_1073741825_1001 (RBW, 1600 bytes) (IOException)")
	_, _, err = s.InitRecovery(ctx, block(1, 1001, 0), 1001)
	require.EqualError(t, err, "replica.getGenerationStamp() >= recoveryId = 1001, block=blk_1073741825_1001, replica=blk_1073741825_1001 (RBW, 1600 bytes) (IOException)")
	_, err = s.UpdateRecovery(ctx, block(1, 1001, 1600), 1005, 1000, 0)
	require.EqualError(t, err, "replica.getState() != RUR, replica=blk_1073741825_1001 (RBW, 1600 bytes) (IOException)")

	info, _, err := s.InitRecovery(ctx, block(1, 1001, 0), 1005)
	require.NoError(t, err)
	for _, id := range []dfs.GenStamp{1004, 1005} {
		_, _, err = s.InitRecovery(ctx, block(1, 1001, 0), id)
		require.ErrorIs(t, err, dfs.ClassRecoveryInProgress)
	}
	_, _, err = s.InitRecovery(ctx, block(1, 1001, 0), 1006)
	require.NoError(t, err)
	for _, tc := range []struct {
		name string
		b    dfs.Block
		id   dfs.GenStamp
		n    int64
		err  string
	}{
		{"older id", info.Block, 1005, 1000, "rur.getRecoveryID() != recoveryId = 1005, rur=blk_1073741825_1001 (RUR, 1600 bytes, recovery id 1006, was RBW) (IOException)"},
		{"other length on disk", block(1, 1001, 1601), 1006, 1000, "replica.getBytesOnDisk() != block.getNumBytes(), block=blk_1073741825_1001 with 1601 bytes, replica=blk_1073741825_1001 (RUR, 1600 bytes, recovery id 1006, was RBW) (IOException)"},
		{"longer than it is", info.Block, 1006, 1601, "rur.getNumBytes() < newlength = 1601, rur=blk_1073741825_1001 (RUR, 1600 bytes, recovery id 1006, was RBW) (IOException)"},
		{"negative", info.Block, 1006, -1, "rur.getNumBytes() < newlength = -1, rur=blk_1073741825_1001 (RUR, 1600 bytes, recovery id 1006, was RBW) (IOException)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := s.UpdateRecovery(ctx, tc.b, tc.id, tc.n, 0)
			require.EqualError(t, err, tc.err)
		})
	}
	_, err = s.UpdateRecovery(ctx, info.Block, 1006, 900, 0)
	require.NoError(t, err)
	_, err = s.UpdateRecovery(ctx, block(9, 1, 0), 1006, 900, 0)
	require.EqualError(t, err, "Replica not found for blk_1073741833_1 (ReplicaNotFoundException)")
}

// TestRecoveryStopsTheWriter begins a recovery while a client is writing.
func TestRecoveryStopsTheWriter(t *testing.T) {
	s := openOne(t, memory())
	stop := make(chan struct{})
	w, err := s.CreateRBW(context.Background(), Spec{Block: block(1, 1001, 0), Type: dfs.StorageDisk, Checksum: crc32c, Cancel: func() { close(stop) }})
	require.NoError(t, err)
	write(t, w, 0, random(1000))
	go func() {
		<-stop
		w.Write(1000, random(24), nil)
		w.Close()
	}()
	info, found, err := s.InitRecovery(context.Background(), block(1, 1001, 0), 1002)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, int64(1024), info.Len)
}
