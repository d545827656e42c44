package volume

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
)

func TestInvalidate(t *testing.T) {
	deleted := make(chan dfs.Block, 10)
	s := openSet(t, Options{Volumes: []Config{memory()}, Deleted: func(_ string, b dfs.Block) { deleted <- b }})
	put(t, s, block(1, 1001, 700), random(700))
	put(t, s, block(2, 1001, 700), random(700))
	stop := make(chan struct{})
	w, err := s.CreateRBW(context.Background(), Spec{Block: block(3, 1001, 5000), Type: dfs.StorageDisk, Checksum: crc32c, Cancel: func() { close(stop) }})
	require.NoError(t, err)
	write(t, w, 0, random(700))
	errs := s.Invalidate(block(1, 1001, 0), block(2, 1002, 0), block(3, 1001, 0), block(4, 1, 0))
	require.Len(t, errs, 2)
	require.EqualError(t, errs[0], "volume: cannot delete blk_1073741826_1002: the replica here is blk_1073741826_1001 (FINALIZED, 700 bytes)")
	require.EqualError(t, errs[1], "volume: cannot delete blk_1073741828_1: no such replica")
	_, err = s.Open(context.Background(), block(1, 1001, 0), 0)
	require.ErrorIs(t, err, dfs.ClassReplicaNotFound, "gone at once")
	require.Len(t, s.Reports()[s.Volumes()[0]], 1)
	require.Equal(t, block(1, 1001, 700), <-deleted)
	<-stop
	_, err = w.Finalize()
	require.EqualError(t, err, "Cannot finalize a replica that was removed: blk_1073741827_1001 (ReplicaNotFoundException)")
	require.NoError(t, w.Close())
	require.Equal(t, block(3, 1001, 700), <-deleted)
	put(t, s, block(3, 1002, 5), []byte("again"))
	require.NoError(t, s.Close())
	usedIsExact(t, s)
	require.Equal(t, []error{ErrClosed}, s.Invalidate(block(2, 1001, 0)))
}

func failing(t *testing.T, n int) (*Set, []*faultfs.FS, *[]string) {
	var o Options
	var fss []*faultfs.FS
	var failed []string
	for i := range n {
		fs := faultfs.Wrap(faultfs.NewDisk(faultfs.Options{}))
		fss = append(fss, fs)
		o.Volumes = append(o.Volumes, Config{FS: fs, Dir: fmt.Sprint("/", i), Capacity: 1 << 30})
	}
	o.Failed = func(v *Volume, err error) { failed = append(failed, v.Dir()+": "+err.Error()) }
	return openSet(t, o), fss, &failed
}

func TestVolumeFails(t *testing.T) {
	s, fss, failed := failing(t, 2)
	put(t, s, block(1, 1001, 700), random(700)) // on volume 0
	put(t, s, block(2, 1001, 700), random(700)) // on volume 1
	storage := s.Volumes()[0].ID()
	fault := fss[0].Inject(faultfs.Rule{Err: syscall.EIO})
	_, err := s.Open(context.Background(), block(1, 1001, 0), 0)
	require.ErrorIs(t, err, syscall.EIO)
	require.Equal(t, []string{"/0: open /0/current/probe.tmp: input/output error"}, *failed)
	require.Len(t, s.Volumes(), 1)
	require.Len(t, s.Failures(), 1)
	require.Equal(t, "/0", s.Failures()[0].Dir)
	require.Len(t, s.Replicas(), 1)
	put(t, s, block(3, 1001, 700), random(700))

	fault.Remove()
	v, err := s.Add(Config{FS: fss[0], Dir: "/0", Capacity: 1 << 30})
	require.NoError(t, err)
	require.Equal(t, storage, v.ID())
	require.Empty(t, s.Failures())
	require.Equal(t, random(700), readAll(t, s, block(1, 1001, 0)))
	usedIsExact(t, s)
	require.NoError(t, s.Remove(storage))
	require.Empty(t, s.Failures())
	require.Len(t, s.Replicas(), 2)
	require.Error(t, s.Remove(storage))
}

// TestStartWithoutAVolume opens a set of which one volume cannot be used, and one cannot be loaded.
func TestStartWithoutAVolume(t *testing.T) {
	s, fss, _ := failing(t, 3)
	for i := range dfs.BlockID(3) {
		put(t, s, block(i, 1001, 10), random(10))
	}
	var o Options
	for _, v := range s.Volumes() {
		o.Volumes = append(o.Volumes, v.cfg)
	}
	s.Kill()
	fss[0].SetReadOnly(true)
	fss[0].Inject(faultfs.Rule{Err: syscall.EIO})
	fss[1].Inject(faultfs.Rule{Kinds: faultfs.List, Err: syscall.EIO})
	_, err := Open(o)
	require.EqualError(t, err, "volume: cannot use /0: mkdir /0/current: input/output error")
	o.Tolerated = 1
	again, err := Open(o)
	require.NoError(t, err)
	require.ErrorContains(t, again.Join(testPool), "volume: cannot load /1")
	o.Tolerated = -1
	again = openSet(t, o)
	require.Len(t, again.Volumes(), 1)
	require.Len(t, again.Failures(), 2)
	require.Len(t, again.Replicas(), 1)
	require.Equal(t, s.UUID(), again.UUID())
}

// TestPassingError keeps a volume where only one operation has failed.
func TestPassingError(t *testing.T) {
	s, fss, failed := failing(t, 1)
	fss[0].Inject(faultfs.Rule{Kinds: faultfs.Write, Match: faultfs.Base("blk_*"), Times: 1, Err: syscall.EIO, Torn: 3})
	_, err := s.CreateRBW(context.Background(), Spec{Block: block(1, 1001, 0), Type: dfs.StorageDisk, Checksum: crc32c})
	require.ErrorIs(t, err, syscall.EIO)
	require.Empty(t, *failed)
	require.Empty(t, s.Replicas())
	usedIsExact(t, s)
	put(t, s, block(1, 1001, 5), []byte("hello"))
	fss[0].SetReadOnly(true)
	s.Check()
	require.Equal(t, []string{"/0: open /0/current/probe.tmp: read-only file system"}, *failed)
}

func TestTornWrite(t *testing.T) {
	for _, kind := range []string{"blk_1073741825", "*.meta"} {
		s, fss, _ := failing(t, 1)
		w := create(t, s, block(1, 1001, 0))
		write(t, w, 0, random(700))
		w.Acked(700)
		fss[0].Inject(faultfs.Rule{Kinds: faultfs.Write, Match: faultfs.Base(kind), Times: 1, Err: syscall.EIO, Torn: 2})
		require.ErrorIs(t, w.Write(700, random(900), nil), syscall.EIO)
		onDisk(t, s, block(1, 0, 0).ID, random(700))
		require.ErrorContains(t, w.Write(700, random(900), nil), "an earlier write")
		require.NoError(t, w.Close())
		usedIsExact(t, s)
	}
}

func TestMoveTo(t *testing.T) {
	disk := faultfs.NewDisk(faultfs.Options{})
	s := openSet(t, Options{Volumes: []Config{
		{FS: disk, Dir: "/disk", Capacity: 1 << 30}, {FS: disk, Dir: "/ssd", Type: dfs.StorageSSD, Capacity: 1 << 30},
	}})
	b := block(1, 1001, 300_000)
	put(t, s, b, random(300_000))
	ctx := context.Background()
	info, err := s.MoveTo(ctx, b, dfs.StorageSSD)
	require.NoError(t, err)
	require.Equal(t, s.Volumes()[1].ID(), info.Storage)
	require.Equal(t, random(300_000), readAll(t, s, b))
	usedIsExact(t, s)
	require.Zero(t, s.Volumes()[0].Used())
	again, err := s.MoveTo(ctx, b, dfs.StorageSSD)
	require.NoError(t, err)
	require.Equal(t, info, again)
	_, err = s.MoveTo(ctx, b, dfs.StorageArchive)
	require.ErrorIs(t, err, ClassDiskOutOfSpace)
	_, err = s.MoveTo(ctx, block(1, 1002, 0), dfs.StorageDisk)
	require.EqualError(t, err, "Generation stamp of blk_1073741825_1002 is not that of the replica blk_1073741825_1001 (FINALIZED, 300000 bytes) (IOException)")
	require.Equal(t, random(300_000), readAll(t, s, b))
}
