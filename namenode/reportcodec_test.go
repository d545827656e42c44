package namenode

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/namenode/internal/blocks"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func encodeBuffer(list []blocks.Replica) []byte {
	var b []byte
	for _, r := range list {
		b = binary.AppendVarint(b, int64(r.ID))
		b = binary.AppendUvarint(b, uint64(r.Len))
		b = binary.AppendUvarint(b, uint64(r.GenStamp))
		b = binary.AppendUvarint(b, uint64(r.State))
	}
	return b
}

func TestReportedReplicas(t *testing.T) {
	want := []blocks.Replica{
		{Block: dfs.Block{ID: 1<<30 + 1, GenStamp: 1001, Len: 128 << 20}, State: dfs.ReplicaFinalized},
		{Block: dfs.Block{ID: -7, GenStamp: 1002, Len: 0}, State: dfs.ReplicaRBW},
		{Block: dfs.Block{ID: math.MaxInt64, GenStamp: 1003, Len: 1}, State: dfs.ReplicaTemporary},
	}
	minusOne := uint64(math.MaxUint64)
	buffer := encodeBuffer(want)
	for name, s := range map[string]*hdfspb.StorageBlockReportProto{
		"one buffer":  {NumberOfBlocks: proto.Uint64(3), BlocksBuffers: [][]byte{buffer}},
		"cut numbers": {NumberOfBlocks: proto.Uint64(3), BlocksBuffers: [][]byte{buffer[:2], buffer[2:9], buffer[9:]}},
		"longs": {Blocks: []uint64{1, 2, uint64(want[0].ID), uint64(want[0].Len), 1001, minusOne, minusOne, minusOne,
			math.MaxUint64 - 6, 0, 1002, 1, math.MaxInt64, 1, 1003, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reportedReplicas(s)
			require.NoError(t, err)
			require.Equal(t, want, slices.Collect(got))
		})
	}
	for name, s := range map[string]*hdfspb.StorageBlockReportProto{
		"too few in the buffer":  {NumberOfBlocks: proto.Uint64(4), BlocksBuffers: [][]byte{buffer}},
		"too many in the buffer": {NumberOfBlocks: proto.Uint64(2), BlocksBuffers: [][]byte{buffer}},
		"a count and no buffer":  {NumberOfBlocks: proto.Uint64(1)},
		"unknown state":          {NumberOfBlocks: proto.Uint64(1), BlocksBuffers: [][]byte{{2, 0, 0, 9}}},
		"half a header":          {Blocks: []uint64{1}},
		"huge counts":            {Blocks: []uint64{minusOne, minusOne, 0}},
		"unknown state in longs": {Blocks: []uint64{0, 1, minusOne, minusOne, minusOne, 5, 1, 1, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := reportedReplicas(s)
			require.Error(t, err)
		})
	}
	empty, err := reportedReplicas(&hdfspb.StorageBlockReportProto{NumberOfBlocks: proto.Uint64(0)})
	require.NoError(t, err)
	require.Empty(t, slices.Collect(empty))
}

func FuzzReportedReplicas(f *testing.F) {
	f.Add(uint64(1), encodeBuffer([]blocks.Replica{{Block: dfs.Block{ID: 5, GenStamp: 6, Len: 7}}}))
	f.Add(uint64(math.MaxUint64), []byte{})
	f.Fuzz(func(t *testing.T, count uint64, buffer []byte) {
		list, err := reportedReplicas(&hdfspb.StorageBlockReportProto{NumberOfBlocks: &count, BlocksBuffers: [][]byte{buffer}})
		if err != nil {
			return
		}
		if got := slices.Collect(list); uint64(len(got)) != count {
			t.Fatalf("%d replicas of %d", len(got), count)
		}
	})
}
