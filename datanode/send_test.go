package datanode

import (
	"context"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSendfile reads the same ranges with nobody watching the packets, so that the system sends the file, and with a hook
// that sees each one.
func TestSendfile(t *testing.T) {
	var watched atomic.Bool
	var seen atomic.Int64
	c := newCluster(t, 1, func(_ int, o *Options) {
		o.Watched = func(k EventKind) bool { return k != EventPacketOut || watched.Load() }
		o.TransferHook = func(_ context.Context, e *Event) error {
			if e.Kind == EventPacketOut {
				seen.Add(int64(len(e.Data)))
			}
			return nil
		}
	})
	d := c.dns[0]
	data := random(1_300_001)
	b := block(1, 1001, len(data))
	put(t, c.dns, b, data)
	for _, watch := range []bool{false, true} {
		watched.Store(watch)
		for _, r := range []struct{ off, n int64 }{{0, b.Len}, {1, b.Len - 1}, {511, 600_000}, {700_000, 600_001}, {0, 65_536}, {b.Len - 70_000, 70_000}} {
			got, err := read(t, d, b, r.off, r.n)
			require.NoError(t, err)
			require.Equal(t, data[r.off:r.off+r.n], got)
		}
		require.Equal(t, watch, seen.Load() > 0)
	}

	watched.Store(false)
	require.NoError(t, os.Truncate(d.Replicas()[0].Data, 700_000))
	got, err := read(t, d, b, 0, 100_000)
	require.NoError(t, err)
	require.Equal(t, data[:100_000], got)
	_, err = read(t, d, b, 0, b.Len)
	require.Error(t, err, "the connection ends where the file does")
	until(t, func() bool { return len(d.Replicas()) == 0 })
}
