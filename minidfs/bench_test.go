package minidfs_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/minidfs"
)

// BenchmarkStart is what every test pays: a namenode and three datanodes, ready, and gone again. Medians are reported.
func BenchmarkStart(b *testing.B) {
	benchmarkStart(b)
}

// BenchmarkStartHA is BenchmarkStart with three namenodes.
func BenchmarkStartHA(b *testing.B) {
	benchmarkStart(b, minidfs.NameNodes(3))
}

func benchmarkStart(b *testing.B, shape ...minidfs.Option) {
	for name, options := range map[string][]minidfs.Option{
		"memory":  shape,
		"memnet":  append(slices.Clone(shape), minidfs.MemNet()),
		"tempdir": append(slices.Clone(shape), minidfs.TempDir("")),
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

// BenchmarkFailover takes the active namenode away, and looks when the first edit is answered and read back. The time of
// the verb itself is part of it.
func BenchmarkFailover(b *testing.B) {
	for name, verb := range map[string]func(ctx context.Context, c *minidfs.Cluster, n *minidfs.NameNode) error{
		"kill":  func(_ context.Context, _ *minidfs.Cluster, n *minidfs.NameNode) error { return n.Kill() },
		"stop":  func(_ context.Context, _ *minidfs.Cluster, n *minidfs.NameNode) error { return n.Stop() },
		"pause": func(_ context.Context, _ *minidfs.Cluster, n *minidfs.NameNode) error { return n.Pause() },
		"transfer": func(ctx context.Context, c *minidfs.Cluster, _ *minidfs.NameNode) error {
			_, err := c.Failover(ctx)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context()
			c, err := minidfs.New(ctx, minidfs.NameNodes(3))
			require.NoError(b, err)
			fs := c.Client("alice")
			var took []time.Duration
			for b.Loop() {
				leader, err := c.WaitLeader(ctx)
				require.NoError(b, err)
				dir := c.Path(strconv.Itoa(len(took)))
				began := time.Now()
				require.NoError(b, verb(ctx, c, leader))
				require.NoError(b, fs.Mkdir(ctx, dir, 0o755))
				_, err = fs.Stat(ctx, dir)
				require.NoError(b, err)
				took = append(took, time.Since(began))
				if leader.Running() {
					require.NoError(b, leader.Resume())
				} else {
					require.NoError(b, leader.Start(ctx))
				}
				require.NoError(b, c.WaitActive(ctx))
			}
			b.ReportMetric(median(took), "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			require.NoError(b, c.Close())
		})
	}
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}
