package editlog

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/afero"
	"github.com/stretchr/testify/require"
)

// Appends go on while an image is being written.
func TestCheckpointDoesNotStopAppends(t *testing.T) {
	fs := newDisk()
	m := newMachine()
	begun, goOn := make(chan struct{}), make(chan struct{})
	m.writing = func() { close(begun); <-goOn }
	j := openLocal(t, m, options(fs))
	ops := someOps(30)
	_, err := appendOps(t.Context(), j, ops[:10])
	require.NoError(t, err)
	done := make(chan error)
	go func() { done <- j.Checkpoint(context.Background()) }()
	<-begun
	_, err = appendOps(t.Context(), j, ops[10:])
	require.NoError(t, err)
	close(goOn)
	require.NoError(t, <-done)
	j.Kill()
	n, err := tryOpen(t, fs, ops, nil)
	require.NoError(t, err)
	require.Equal(t, len(ops), n)
}

// Close, Kill and the context of the caller end a checkpoint under way; nothing is left of it.
func TestCheckpointIsGivenUp(t *testing.T) {
	for name, end := range map[string]struct {
		end  func(j *Local, cancel func())
		want error
	}{
		"close":  {func(j *Local, _ func()) { _ = j.Close() }, ErrClosed},
		"kill":   {func(j *Local, _ func()) { j.Kill() }, ErrClosed},
		"cancel": {func(_ *Local, cancel func()) { cancel() }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := newDisk()
				m := newMachine()
				goOn := make(chan struct{})
				m.writing = func() { <-goOn }
				j := openLocal(t, m, options(fs))
				_, err := j.Append(t.Context(), addOp{"a", 1})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				go func() { done <- j.Checkpoint(ctx) }()
				synctest.Wait()
				go end.end(j, cancel)
				synctest.Wait()
				close(goOn)
				require.ErrorIs(t, <-done, end.want)
				require.NoError(t, j.Close())
				require.Empty(t, fs.list(imagePrefix))
				require.Zero(t, j.Stats().Checkpoints)
			})
		})
	}
}

// A full disk makes a checkpoint fail, not the journal; the next one works.
func TestCheckpointFails(t *testing.T) {
	fs := newDisk()
	j := openLocal(t, newMachine(), options(fs))
	ops := someOps(20)
	_, err := appendOps(t.Context(), j, ops[:10])
	require.NoError(t, err)
	fs.fault = func(_ int, op string) (int, error) {
		if strings.HasPrefix(op, "write") && strings.Contains(op, imagePrefix) {
			return 10, errInjected
		}
		return -1, nil
	}
	require.ErrorIs(t, j.Checkpoint(t.Context()), errInjected)
	_, err = appendOps(t.Context(), j, ops[10:])
	require.NoError(t, err)
	require.Empty(t, fs.list(imagePrefix))
	fs.fault = nil
	require.NoError(t, j.Checkpoint(t.Context()))
	require.Len(t, fs.list(imagePrefix), 1)
	require.NoError(t, j.Close())
}

// Images beyond the retained ones go, and the segments that only those needed.
func TestCheckpointTrims(t *testing.T) {
	for _, retain := range []int{1, 2, 3} {
		fs := newDisk()
		o := options(fs)
		o.RetainImages = retain
		j := openLocal(t, newMachine(), o)
		for i := range uint64(6) {
			_, err := j.Append(t.Context(), addOp{"a", 1})
			require.NoError(t, err)
			require.NoError(t, j.Checkpoint(t.Context()))
			require.NoError(t, j.Checkpoint(t.Context()), "the same again")
			require.EqualValues(t, i+1, j.Stats().Checkpoints)
		}
		var images, edits []string
		for txid := uint64(7 - retain); txid <= 6; txid++ {
			images = append(images, imageName(txid))
			if txid > uint64(7-retain) {
				edits = append(edits, editsName(txid, txid))
			}
		}
		require.Equal(t, images, fs.list(imagePrefix))
		require.Equal(t, append(edits, inProgressName(7)), fs.list(editsPrefix))
		require.NoError(t, j.Close())
	}
}

// Checkpoints come by themselves after so many ops or bytes.
func TestOverdueCheckpoints(t *testing.T) {
	for name, set := range map[string]func(*LocalOptions){
		"ops":   func(o *LocalOptions) { o.CheckpointOps = 10 },
		"bytes": func(o *LocalOptions) { o.CheckpointBytes = 10 * (recordHeaderLen + 3) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options(newDisk())
				set(&o)
				j := openLocal(t, newMachine(), o)
				for i := range 35 {
					_, err := j.Append(t.Context(), addOp{"a", 1})
					require.NoError(t, err)
					synctest.Wait()
					require.EqualValues(t, (i+1)/10, j.Stats().Checkpoints, i)
				}
				require.NoError(t, j.Close())
			})
		})
	}
}

// Ops without a transaction id are kept, too, over checkpoints at the same txid and restarts.
func TestOpsWithoutTransaction(t *testing.T) {
	fs := newDisk()
	ops := make([]addOp, 24)
	for i := range ops {
		ops[i] = addOp{key: "noop"}
		if i == 9 {
			ops[i].n = 1
		}
	}
	for i := 0; i < len(ops); i += 4 {
		m := newMachine()
		j := openLocal(t, m, options(fs))
		require.Equal(t, digestOf(ops[:i]), m.digest)
		_, err := appendOps(t.Context(), j, ops[i:i+2])
		require.NoError(t, err)
		require.NoError(t, j.Checkpoint(t.Context()))
		_, err = appendOps(t.Context(), j, ops[i+2:i+4])
		require.NoError(t, err)
		require.NoError(t, j.Close())
	}
	n, err := tryOpen(t, fs, ops, nil)
	require.NoError(t, err)
	require.Equal(t, len(ops), n)
}

// The asynchronous mode syncs after its interval, once, and only if there is something to sync.
func TestAsyncSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := newDisk()
		o := options(fs)
		o.Sync = SyncAsync
		o.SyncInterval = 100 * time.Millisecond
		j := openLocal(t, newMachine(), o)
		_, err := appendOps(t.Context(), j, someOps(10))
		require.NoError(t, err)
		require.Zero(t, j.Stats().Syncs)
		time.Sleep(101 * time.Millisecond)
		require.EqualValues(t, 1, j.Stats().Syncs)
		require.Empty(t, fs.file(inProgressName(1)).pending)
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, j.Stats().Syncs)
		_, err = appendOps(t.Context(), j, someOps(1))
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.EqualValues(t, 2, j.Stats().Syncs)

		fs.fault = func(int, string) (int, error) { return 0, errInjected }
		_, err = j.Append(t.Context(), addOp{"a", 1})
		require.ErrorIs(t, err, ErrFailed)
		require.ErrorIs(t, j.Close(), errInjected)
	})
}

// A disk that hangs holds up those who wait, not those whose context ends.
func TestAppendIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		m := newMachine()
		j := openLocal(t, m, options(&slowFs{Fs: afero.NewMemMapFs(), sync: func() { <-hang }}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := j.Append(ctx, addOp{"a", 1})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("append gave %v", err)
				}
			})
		}
		wg.Wait()
		close(hang)
		got, err := j.Append(t.Context(), addOp{"a", 1})
		require.NoError(t, err)
		require.EqualValues(t, 4, got, "ops that nobody waits for are carried out")
		require.NoError(t, j.Close())
	})
}

// slowFs calls sync before segments are synced, but for the first time.
type slowFs struct {
	afero.Fs
	sync func()
}

func (s *slowFs) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	f, err := s.Fs.OpenFile(name, flag, perm)
	if err == nil && strings.Contains(name, inProgressPrefix) {
		f = &slowFile{File: f, sync: s.sync}
	}
	return f, err
}

type slowFile struct {
	afero.File
	sync  func()
	begun bool
}

func (f *slowFile) Sync() error {
	if f.begun {
		f.sync()
	}
	f.begun = true
	return f.File.Sync()
}

// An image that replaces a damaged one of the same name stays.
func TestCheckpointReplacesDamagedImage(t *testing.T) {
	fs := newDisk()
	ops := someOps(20)
	j := openLocal(t, newMachine(), options(fs))
	_, err := appendOps(t.Context(), j, ops)
	require.NoError(t, err)
	require.NoError(t, j.Checkpoint(t.Context()))
	require.NoError(t, j.Close())
	images := fs.list(imagePrefix)
	require.Len(t, images, 1)
	fs.file(images[0]).data[imageHeaderLen]++

	j = openLocal(t, newMachine(), options(fs))
	require.NoError(t, j.Checkpoint(t.Context()))
	require.NoError(t, j.Close())
	require.Equal(t, images, fs.list(imagePrefix))
	fs.lose(fs.list(editsPrefix)...)
	fs.lose(seenName)
	_, err = tryOpen(t, fs, ops, nil)
	require.EqualError(t, err, "editlog: /nn/current is corrupt at offset 0, op 21, after txid 15: "+
		"there are images, but no edits; restore the directory from a copy")
}

// What is replayed counts towards the next checkpoint: many short runs do not let the log grow for ever.
func TestOverdueAfterReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(newDisk())
		o.CheckpointOps = 10
		for run := range 4 {
			j := openLocal(t, newMachine(), o)
			_, err := appendOps(t.Context(), j, someOps(3))
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, run == 3, j.Stats().Checkpoints == 1)
			require.NoError(t, j.Close())
		}
	})
}
