package editlog

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// Stores in memory and in a folder give the same answers to anything that raft may do with a log.
func TestStoresAgree(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	folder, err := OpenStores(t.TempDir(), false)
	require.NoError(t, err)
	var disks []*raftDisk
	for _, s := range []*Stores{NewMemoryStores(), folder} {
		d, err := s.take(true, func(err error) { t.Error(err) })
		require.NoError(t, err)
		defer func() { require.NoError(t, d.letGo()) }()
		disks = append(disks, d)
	}
	both := func(do func(d *raftDisk) any) {
		t.Helper()
		require.Equal(t, do(disks[0]), do(disks[1]))
	}
	next := uint64(1)
	for range 300 {
		switch rng.IntN(4) {
		case 0, 1:
			if rng.IntN(20) == 0 {
				next += 100 // as after an image
			}
			var logs []*raft.Log
			for range 1 + rng.IntN(9) {
				logs = append(logs, &raft.Log{Index: next, Term: 3, Data: []byte{byte(next), byte(rng.Uint32())}})
				next++
			}
			both(func(d *raftDisk) any { return d.StoreLogs(logs) })
		case 2: // a suffix
			from := next - min(next-1, rng.Uint64N(5))
			both(func(d *raftDisk) any {
				if last, _ := d.LastIndex(); last < from {
					return nil
				}
				return d.DeleteRange(from, next-1)
			})
			next = from
		case 3: // a prefix
			both(func(d *raftDisk) any {
				first, _ := d.FirstIndex()
				return d.DeleteRange(first, first+min(3, next-1-min(first, next-1)))
			})
		}
		both(func(d *raftDisk) any { i, _ := d.FirstIndex(); return i })
		both(func(d *raftDisk) any { i, _ := d.LastIndex(); return i })
		at := 1 + rng.Uint64N(next)
		both(func(d *raftDisk) any {
			var l raft.Log
			if err := d.GetLog(at, &l); err != nil {
				require.True(t, errors.Is(err, raft.ErrLogNotFound), err)
				return nil
			}
			return l
		})
		key, value := []byte{byte(rng.IntN(3))}, rng.Uint64()
		both(func(d *raftDisk) any { return d.SetUint64(key, value) })
		both(func(d *raftDisk) any {
			n, err := d.GetUint64([]byte{byte(value % 4)})
			if err != nil {
				return err.Error()
			}
			return n
		})
	}
}
