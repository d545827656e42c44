package datanode

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
	"github.com/minidfs/go-minidfs/internal/transfer"
)

// TestFullDisk has a line in the log that an operator sees: clients hear no more than that a node is bad.
func TestFullDisk(t *testing.T) {
	const size = 1 << 20
	for _, test := range []struct {
		name   string
		claims int64 // what the volume says it has
		why    string
	}{
		{"before the block", size, "Out of space: "},
		{"in the middle of it", 2 * size, syscall.ENOSPC.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c := newMemory(t, 1, func(_ int, o *Options) {
					o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
					o.Volumes[0].FS, o.Volumes[0].Capacity = faultfs.NewDisk(faultfs.Options{Capacity: size}), test.claims
				})
				w, _ := tryWriter(t, c.dns, block(1, 1001, size), stageCreate, nil)
				data := make([]byte, 64<<10)
				for off := 0; off < size; off += len(data) {
					h := transfer.Header{Offset: int64(off), Seqno: int64(off / len(data)), DataLen: len(data)}
					sums := crc32c.Sum(nil, data)
					_, _ = w.Write(append(append(transfer.AppendPrefix(nil, h, len(sums)), sums...), data...)) // until the connection is cut
				}
				synctest.Wait()
				require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
				require.Contains(t, log.String(), "level=WARN")
				require.Contains(t, log.String(), test.why)
			})
		})
	}
}

func TestFailedVolume(t *testing.T) {
	fss := []*faultfs.FS{faultfs.Wrap(faultfs.NewDisk(faultfs.Options{})), faultfs.Wrap(faultfs.NewDisk(faultfs.Options{})), faultfs.Wrap(faultfs.NewDisk(faultfs.Options{}))}
	c := newCluster(t, 1, func(_ int, o *Options) {
		o.FailedVolumesTolerated = 1
		o.Volumes = nil
		for i, fs := range fss {
			o.Volumes = append(o.Volumes, Volume{FS: fs, Dir: fmt.Sprint("/", i), Capacity: 1 << 30})
		}
	})
	d := c.dns[0]
	for i := range dfs.BlockID(3) {
		put(t, c.dns, block(i, 1001, 1000), random(1000))
	}
	fault := fss[1].Inject(faultfs.Rule{Err: syscall.EIO})
	d.CheckVolumes()
	c.nn.until(t, "the failure is reported", func() bool {
		return len(c.nn.errs) == 1 && c.nn.beats[len(c.nn.beats)-1].GetFailedVolumes() == 1
	})
	c.nn.mu.Lock()
	last := c.nn.beats[len(c.nn.beats)-1]
	require.Len(t, last.Reports, 2)
	require.Equal(t, []string{"/1"}, last.GetVolumeFailureSummary().FailedStorageLocations)
	require.Equal(t, uint64(1<<30), last.GetVolumeFailureSummary().GetEstimatedCapacityLostTotal())
	c.nn.mu.Unlock()
	require.Len(t, d.Replicas(), 2)
	require.Len(t, d.Storages(), 3)

	fault.Remove()
	require.NoError(t, d.AddVolume(context.Background(), Volume{FS: fss[1], Dir: "/1", Capacity: 1 << 30}))
	require.Len(t, d.Replicas(), 3)
	require.NoError(t, d.TriggerHeartbeat(context.Background()))
	c.nn.mu.Lock()
	require.Zero(t, c.nn.beats[len(c.nn.beats)-1].GetFailedVolumes())
	c.nn.mu.Unlock()

	for _, fs := range fss[:2] {
		fs.Inject(faultfs.Rule{Err: syscall.EIO})
	}
	d.CheckVolumes()
	<-d.Done()
	c.nn.mu.Lock()
	require.True(t, slices.ContainsFunc(c.nn.errs, func(e *hdfspb.ErrorReportRequestProto) bool { return e.GetErrorCode() == codeFatalDisk }))
	c.nn.mu.Unlock()
	require.ErrorIs(t, d.TriggerHeartbeat(context.Background()), errEnded)
}
