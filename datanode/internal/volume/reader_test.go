package volume

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
)

func TestOpenRefusals(t *testing.T) {
	s := openOne(t, memory())
	put(t, s, block(1, 1005, 3), []byte("abc"))
	w := create(t, s, block(2, 1001, 0))
	require.NoError(t, w.Close())
	s = restart(t, s)
	ctx := context.Background()
	for _, tc := range []struct {
		name string
		b    dfs.Block
		err  string
	}{
		{"missing", block(9, 1, 0), "Replica not found for blk_1073741833_1 (ReplicaNotFoundException)"},
		{"older", block(1, 1006, 0), "Replica gen stamp < block genstamp, block=blk_1073741825_1006, replica=blk_1073741825_1005 (FINALIZED, 3 bytes) (IOException)"},
		{"rwr", block(2, 1001, 0), "Replica is not readable, block=blk_1073741826_1001, replica=blk_1073741826_1001 (RWR, 0 bytes) (IOException)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := s.Open(ctx, tc.b, 0)
			require.EqualError(t, err, tc.err)
		})
	}
	require.Equal(t, []byte("abc"), readAll(t, s, block(1, 1001, 0)), "a newer stamp than asked for is good")
	n, err := s.VisibleLength(block(1, 1001, 0))
	require.NoError(t, err)
	require.Equal(t, int64(3), n)
	_, err = s.VisibleLength(block(1, 1006, 0))
	require.EqualError(t, err, "replica.getGenerationStamp() < block.getGenerationStamp(), block=blk_1073741825_1006, replica=blk_1073741825_1005 (FINALIZED, 3 bytes) (IOException)")
	_, err = s.VisibleLength(block(9, 1, 0))
	require.ErrorIs(t, err, dfs.ClassReplicaNotFound)
}

func TestDamagedFiles(t *testing.T) {
	data := random(9000)
	for _, tc := range []struct {
		name   string
		damage func(fs afero.Fs, i Info)
		open   error
		read   error
	}{
		{"block file gone", func(fs afero.Fs, i Info) { _ = fs.Remove(i.Data) }, ErrMissing, nil},
		{"checksum file gone", func(fs afero.Fs, i Info) { _ = fs.Remove(i.Meta) }, nil, nil},
		{"bad header", func(fs afero.Fs, i Info) { _ = afero.WriteFile(fs, i.Meta, []byte("garbage!"), 0o644) }, ErrBadMeta, nil},
		{"sums cut off", func(fs afero.Fs, i Info) { _ = afero.WriteFile(fs, i.Meta, crc32c.appendHeader(nil), 0o644) }, ErrBadMeta, nil},
		{"block file cut off", func(fs afero.Fs, i Info) { _ = afero.WriteFile(fs, i.Data, data[:100], 0o644) }, nil, ErrMissing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := openOne(t, memory())
			b := block(1, 1001, 9000)
			put(t, s, b, data)
			i, _ := s.Replica(b.ID)
			tc.damage(s.Volumes()[0].FS(), i)
			rd, err := s.Open(context.Background(), b, 0)
			if tc.open != nil {
				require.ErrorIs(t, err, tc.open)
				return
			}
			require.NoError(t, err)
			defer rd.Close()
			err = rd.ReadAt(make([]byte, 9000), 0)
			if tc.read != nil {
				require.ErrorIs(t, err, tc.read)
				return
			}
			require.NoError(t, err)
			require.Equal(t, dfs.ChecksumNull, rd.Checksum.Type)
		})
	}
}

// TestReaderSeesOneMoment reads while a chunk is being filled: the sum that belongs to the bytes read is used.
func TestReaderSeesOneMoment(t *testing.T) {
	s := openOne(t, memory())
	data := random(2000)
	b := block(1, 1001, 0)
	w := create(t, s, b)
	write(t, w, 0, data[:700])
	rd, err := s.Open(context.Background(), b, 700)
	require.NoError(t, err)
	defer rd.Close()
	require.Equal(t, int64(0), rd.Visible)
	write(t, w, 700, data[700:900])
	require.Equal(t, data[:700], readFrom(t, rd))
	_, err = w.Finalize()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	rd2, err := s.Open(context.Background(), b, 0)
	require.NoError(t, err)
	defer rd2.Close()
	w, err = s.Append(context.Background(), Resume{Block: block(1, 1001, 0), GenStamp: 1002, Len: 900, Cancel: func() {}})
	require.NoError(t, err)
	defer w.Close()
	write(t, w, 900, data[900:1000])
	require.Equal(t, data[:700], readFrom(t, rd))
	require.Equal(t, data[:900], readFrom(t, rd2))
}

func TestReaderWaitsForBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openOne(t, memory())
		data := random(2000)
		b := block(1, 1001, 0)
		w := create(t, s, b)
		defer w.Close()
		write(t, w, 0, data[:100])
		go func() {
			time.Sleep(time.Second)
			write(t, w, 100, data[100:200])
			time.Sleep(time.Second)
			write(t, w, 200, data[200:300])
		}()
		begin := time.Now()
		rd, err := s.Open(context.Background(), b, 300)
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, time.Since(begin))
		require.Equal(t, data[:300], readFrom(t, rd))
		rd.Close()
		begin = time.Now()
		rd, err = s.Open(context.Background(), b, 301)
		require.NoError(t, err)
		require.Equal(t, 3*time.Second, time.Since(begin))
		require.Equal(t, int64(300), rd.Block.Len)
		rd.Close()
	})
}

// TestEverybodyAtOnce reads, appends, recovers and deletes the same few blocks concurrently.
func TestEverybodyAtOnce(t *testing.T) {
	disk := faultfs.NewDisk(faultfs.Options{})
	s := openOne(t, Config{FS: disk, Dir: "/data", Capacity: 1 << 30})
	ctx := context.Background()
	data := random(20_000)
	var wg sync.WaitGroup
	each := func(n int, f func(i int)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range n {
				f(i)
			}
		}()
	}
	for id := range dfs.BlockID(3) {
		put(t, s, block(id, 1001, 100), data[:100])
		each(60, func(i int) { // a writer
			old, ok := s.Replica(1<<30 + id)
			if !ok {
				w, err := s.CreateRBW(ctx, Spec{Block: block(id, dfs.GenStamp(1001+i), 0), Type: dfs.StorageDisk, Checksum: crc32c, Cancel: func() {}})
				if err != nil {
					return
				}
				write(t, w, 0, data[:100])
				_, _ = w.Finalize()
				w.Close()
				return
			}
			w, err := s.Append(ctx, Resume{Block: old.Block, GenStamp: old.GenStamp + 1, Len: old.Len, Cancel: func() {}})
			if err != nil {
				return
			}
			defer w.Close()
			for off := int(old.Len); off < int(old.Len)+300; off += 50 {
				if w.Write(int64(off), data[off:off+50], nil) != nil {
					return
				}
				w.Acked(int64(off + 50))
			}
			if i%3 > 0 {
				_, _ = w.Finalize()
			}
		})
		each(20, func(i int) { // a recovery
			old, ok := s.Replica(1<<30 + id)
			if !ok {
				return
			}
			info, found, err := s.InitRecovery(ctx, old.Block, old.GenStamp+10)
			if err == nil && found {
				_, _ = s.UpdateRecovery(ctx, info.Block, old.GenStamp+10, info.Len-min(info.Len, 70), 0)
			}
		})
		each(5, func(i int) {
			if old, ok := s.Replica(1<<30 + id); ok && i == 4 {
				s.Invalidate(old.Block)
			}
		})
		for range 2 {
			each(200, func(int) { // readers
				rd, err := s.Open(ctx, block(id, 0, 0), 0)
				if err != nil {
					return
				}
				defer rd.Close()
				got := make([]byte, rd.Block.Len)
				if rd.ReadAt(got, 0) != nil {
					return // cut by a recovery
				}
				require.Equal(t, data[:len(got)], got)
			})
		}
	}
	wg.Wait()
	require.NoError(t, s.Close())
	require.Zero(t, disk.Counts().OpenFiles)
	usedIsExact(t, s)
}
