package volume

import (
	"context"
	"testing"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func TestAppend(t *testing.T) {
	disks(t, func(t *testing.T, cfg Config) {
		for _, n := range []int{0, 1, 511, 512, 700, 1024} {
			s := openOne(t, cfg)
			id := block(dfs.BlockID(n), 1001, n)
			data := random(n + 1300)
			put(t, s, id, data[:n])
			for i, gs := range []dfs.GenStamp{1001, 1002, 1005} { // an equal stamp is good too
				at := n + 400*i
				old, _ := s.Replica(id.ID)
				w, err := s.Append(context.Background(), Resume{Block: old.Block, GenStamp: gs, Len: int64(at), Cancel: func() {}})
				require.NoError(t, err)
				info := w.Info()
				require.Equal(t, dfs.ReplicaRBW, info.State)
				require.Equal(t, gs, info.GenStamp)
				require.Equal(t, int64(at), info.Visible)
				for off := at; off < at+400; { // a chunk continued, then whole ones
					k := min(at+400-off, 512-off%512)
					write(t, w, off, data[off:off+k])
					off += k
				}
				_, err = w.Finalize()
				require.NoError(t, err)
				require.NoError(t, w.Close())
				onDisk(t, s, id.ID, data[:at+400])
			}
			usedIsExact(t, s)
			s.Kill()
		}
	})
}

func TestAppendRefusals(t *testing.T) {
	s := openOne(t, memory())
	put(t, s, block(1, 1005, 700), random(700))
	w, err := s.CreateRBW(context.Background(), Spec{Block: block(2, 1005, 0), Type: dfs.StorageDisk, Checksum: crc32c, Cancel: func() { t.Error("the writer was told to stop") }})
	require.NoError(t, err)
	defer w.Close()
	for _, tc := range []struct {
		name string
		b    dfs.Block
		gs   dfs.GenStamp
		n    int64
		err  string
	}{
		{"no such block", block(9, 1005, 0), 1006, 700, "Cannot append to a non-existent replica blk_1073741833_1005 (ReplicaNotFoundException)"},
		{"being written", block(2, 1005, 0), 1006, 0, "Cannot append to an unfinalized replica blk_1073741826_1005 (ReplicaNotFoundException)"},
		{"stamp goes back", block(1, 1005, 0), 1004, 700, "The new generation stamp 1004 should be greater than the replica blk_1073741825_1005's generation stamp (IOException)"},
		{"older stamp", block(1, 1004, 0), 1006, 700, "Cannot append to a replica with unexpected generation stamp blk_1073741825_1005. Expected GS range is [1004, 1006]. (ReplicaNotFoundException)"},
		{"other length", block(1, 1005, 0), 1006, 699, "Corrupted replica blk_1073741825_1005 (FINALIZED, 700 bytes) with a length of 700 expected length is 699 (IOException)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := s.Append(context.Background(), Resume{Block: tc.b, GenStamp: tc.gs, Len: tc.n, Cancel: func() {}})
			require.EqualError(t, err, tc.err)
		})
	}
	info, _ := s.Replica(block(1, 0, 0).ID)
	fs := s.Volumes()[0].FS()
	data := random(700)
	data[600]++
	require.NoError(t, afero.WriteFile(fs, info.Data, data, 0o644))
	_, err = s.Append(context.Background(), Resume{Block: info.Block, GenStamp: 1006, Len: 700})
	require.EqualError(t, err, "Partial CRC of blk_1073741825_1005 (FINALIZED, 700 bytes) does not match value computed the last time file was closed: the chunk at 512 is corrupt (IOException)")
	info, _ = s.Replica(block(1, 0, 0).ID)
	require.Equal(t, dfs.ReplicaFinalized, info.State)
	require.Equal(t, dfs.GenStamp(1005), info.GenStamp)
}

func TestRecoverRBW(t *testing.T) {
	for _, tc := range []struct {
		name     string
		min, max int64
		from, to dfs.GenStamp
		want     int
		err      string
	}{
		{"cut to what was acked", 600, 2000, 1001, 1002, 1000, ""},
		{"exact", 1000, 1600, 1001, 1002, 1000, ""},
		{"acked too little", 1001, 2000, 1001, 1002, 0, "Unmatched length replica blk_1073741825_1001 (RBW, 1600 bytes): BytesAcked = 1000 BytesRcvd = 1600 are not in the range of [1001, 2000]. (ReplicaNotFoundException)"},
		{"received too much", 0, 1599, 1001, 1002, 0, "Unmatched length replica blk_1073741825_1001 (RBW, 1600 bytes): BytesAcked = 1000 BytesRcvd = 1600 are not in the range of [0, 1599]. (ReplicaNotFoundException)"},
		{"stamp out of range", 0, 2000, 1002, 1003, 0, "Cannot append to a replica with unexpected generation stamp blk_1073741825_1001. Expected GS range is [1002, 1003]. (ReplicaNotFoundException)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := openOne(t, memory())
			data := random(3000)
			w := create(t, s, block(1, 1001, 0))
			write(t, w, 0, data[:1600])
			w.Acked(1000)
			require.NoError(t, w.Close())
			b := block(1, tc.from, 0)
			w, err := s.RecoverRBW(context.Background(), Resume{Block: b, GenStamp: tc.to, Len: tc.min, Max: tc.max, Cancel: func() {}})
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			onDisk(t, s, b.ID, data[:tc.want])
			write(t, w, 512, data[512:3000])
			_, err = w.Finalize()
			require.NoError(t, err)
			require.NoError(t, w.Close())
			onDisk(t, s, b.ID, data)
			usedIsExact(t, s)
		})
	}
	s := openOne(t, memory())
	put(t, s, block(1, 1001, 3), []byte("abc"))
	_, err := s.RecoverRBW(context.Background(), Resume{Block: block(1, 1001, 0), GenStamp: 1002, Len: 3, Max: 3})
	require.EqualError(t, err, "Cannot recover a non-RBW replica blk_1073741825_1001 (FINALIZED, 3 bytes) (ReplicaNotFoundException)")
}

func TestRecoverAppendAndClose(t *testing.T) {
	for _, finalized := range []bool{false, true} {
		s := openOne(t, memory())
		data := random(1600)
		b := block(1, 1001, 1600)
		if finalized {
			put(t, s, b, data)
		} else {
			w := create(t, s, b)
			write(t, w, 0, data)
			w.Acked(1600)
			require.NoError(t, w.Close())
		}
		resume := Resume{Block: b, GenStamp: 1002, Len: 1600, Cancel: func() {}}
		w, err := s.RecoverAppend(context.Background(), resume)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		resume.GenStamp = 1003
		info, err := s.RecoverClose(context.Background(), resume)
		require.NoError(t, err)
		require.Equal(t, block(1, 1003, 1600), info.Block)
		require.Equal(t, dfs.ReplicaFinalized, info.State)
		info, err = s.RecoverClose(context.Background(), resume) // once more
		require.NoError(t, err)
		require.Equal(t, block(1, 1003, 1600), info.Block)
		onDisk(t, s, b.ID, data)
		usedIsExact(t, s)
		resume.Len = 1599
		_, err = s.RecoverClose(context.Background(), resume)
		require.ErrorContains(t, err, "expected length is 1599")
		s = restart(t, s)
		resume.Len = 1600
		info, _ = s.Replica(b.ID)
		require.Equal(t, block(1, 1003, 1600), info.Block)
	}
	s := openOne(t, memory())
	w := create(t, s, block(1, 1001, 0))
	require.NoError(t, w.Close())
	s = restart(t, s)
	_, err := s.RecoverAppend(context.Background(), Resume{Block: block(1, 1001, 0), GenStamp: 1002})
	require.EqualError(t, err, "Cannot recover append/close to a replica that's not FINALIZED and not RBW blk_1073741825_1001 (ReplicaNotFoundException)")
}

// TestAppendAfterFailedWrite opens a replica again whose last write has failed half way.
func TestAppendAfterFailedWrite(t *testing.T) {
	cfg := memory()
	cfg.Capacity = 1300
	s := openOne(t, cfg)
	data := random(1200)
	b := block(1, 1001, 0)
	w := create(t, s, b)
	write(t, w, 0, data[:700])
	w.Acked(700)
	require.ErrorContains(t, w.Write(700, random(900), nil), "no room")
	_, err := w.Finalize()
	require.EqualError(t, err, "cannot finalize blk_1073741825_1001: an earlier write to it has failed (IOException)")
	require.NoError(t, w.Close())
	w, err = s.RecoverRBW(context.Background(), Resume{Block: b, GenStamp: 1002, Len: 700, Max: 1600, Cancel: func() {}})
	require.NoError(t, err)
	write(t, w, 700, data[700:1000])
	_, err = w.Finalize()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	onDisk(t, s, b.ID, data[:1000])
	usedIsExact(t, s)
}
