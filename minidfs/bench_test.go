package minidfs_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/minidfs"
)

// BenchmarkStart is what every test pays: a namenode and three datanodes, ready, and gone again. Medians are reported.
func BenchmarkStart(b *testing.B) {
	for name, options := range map[string][]minidfs.Option{
		"memory":  nil,
		"memnet":  {minidfs.MemNet()},
		"tempdir": {minidfs.TempDir("")},
	} {
		b.Run(name, func(b *testing.B) {
			var starts, stops []time.Duration
			for b.Loop() {
				began := time.Now()
				c, err := minidfs.New(context.Background(), options...)
				require.NoError(b, err)
				ready := time.Now()
				require.NoError(b, c.Close())
				starts, stops = append(starts, ready.Sub(began)), append(stops, time.Since(ready))
			}
			b.ReportMetric(median(starts), "start-ms")
			b.ReportMetric(median(stops), "stop-ms")
		})
	}
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}
