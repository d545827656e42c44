package editlog

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRandomHistories lives through many endings of one directory: closes, kills, failures, power losses, with
// checkpoints and changing options, and compares each state with the ops that must or may be in it.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { randomHistory(t, seed) })
	}
}

func randomHistory(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	fs := newDisk()
	var ops []addOp // in the state for certain
	for round := range 12 {
		o := options(fs)
		o.Sync = []SyncMode{SyncGroup, SyncPerOp, SyncAsync, SyncNone}[rng.IntN(4)]
		o.SegmentBytes = int64(100 + rng.IntN(600))
		o.RetainImages = 1 + rng.IntN(3)
		m := newMachine()
		j, err := OpenLocal(t.Context(), m, o)
		require.NoError(t, err, "round %d", round)
		require.Equal(t, digestOf(ops), m.digest, "round %d", round)

		durable := len(ops)
		failAt := fs.count + rng.IntN(200)
		if rng.IntN(2) == 0 {
			fs.fault = func(i int, _ string) (int, error) {
				if i >= failAt {
					return int(seed % 40), errInjected
				}
				return -1, nil
			}
		}
		tried := ops
		for range rng.IntN(60) {
			if rng.IntN(12) == 0 {
				if j.Checkpoint(t.Context()) == nil {
					durable = len(ops)
				}
				continue
			}
			op := addOp{key: fmt.Sprint("key-", rng.IntN(5)), n: uint64(rng.IntN(4) * rng.IntN(80))}
			tried = append(ops[:len(ops):len(ops)], op)
			if _, err = j.Append(t.Context(), op); err != nil {
				break
			}
			ops = tried
			if o.Sync == SyncGroup || o.Sync == SyncPerOp {
				durable = len(ops)
			}
		}
		least := len(ops)
		switch rng.IntN(3) {
		case 0:
			if j.Close() != nil {
				fs = fs.reboot()
			}
		case 1:
			j.Kill()
			fs = fs.reboot()
		default:
			j.Kill()
			fs = fs.crash(rng, 1+rng.IntN(30))
			least = durable
		}
		fs.fault = nil
		n, err := tryOpen(t, fs, tried, nil)
		require.NoError(t, err, "round %d", round)
		require.GreaterOrEqual(t, n, least, "round %d: acknowledged ops are lost", round)
		ops = tried[:n]
	}
}
