package datanode

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/faultfs"
	"github.com/minidfs/go-minidfs/internal/hdfspb"
)

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
