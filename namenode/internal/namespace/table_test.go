package namespace

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	got, want := newTable[int64, int](), map[int64]int{}
	for range 20_000 {
		id := int64(r.IntN(500))
		switch v := r.IntN(4); v {
		case 0:
			got.remove(id)
			delete(want, id)
		default:
			got.set(id, v)
			want[id] = v
		}
		require.Equal(t, want[id], got.get(id))
		require.Equal(t, len(want), got.len())
	}
	require.Equal(t, want, maps.Collect(got.all()))
	for id := range want {
		got.remove(id)
	}
	got.remove(1 << 40)
	require.Empty(t, got.pages)
	require.Zero(t, got.get(1<<62))
}
