package editlog

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// storeKinds are all that a member must work on. Folders are given once for each id.
func storeKinds(t *testing.T) map[string]func(id string) *Stores {
	dir := t.TempDir()
	return map[string]func(id string) *Stores{
		"memory": func(string) *Stores { return NewMemoryStores() },
		"folder": func(id string) *Stores {
			s, err := OpenStores(filepath.Join(dir, "a", id), true)
			require.NoError(t, err)
			return s
		},
	}
}

// appendSome appends n ops to the leader, one an entry, or to the next one where that one refuses.
func (g *testGroup) appendSome(n int) {
	for ops := someOps(n); len(ops) > 0; {
		done, err := appendOps(g.t.Context(), g.leader().r, ops)
		ops = ops[done:]
		if err != nil {
			require.ErrorIs(g.t, err, ErrNotLeader)
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// restart starts all members that do not run, and makes the best one lead.
func (g *testGroup) restart() {
	for _, n := range g.all {
		if n.r == nil {
			n.start()
		}
	}
	require.NoError(g.t, g.best().r.Elect(g.t.Context()))
}

func (g *testGroup) killAll() {
	for _, n := range g.all {
		n.r.Kill()
		n.r = nil
	}
}

func TestGroupRestart(t *testing.T) {
	for name, stores := range storeKinds(t) {
		inBubble(t, name, func(t *testing.T) {
			g := newGroupOn(t, 3, stores, nil)
			for round := range 4 {
				g.appendSome(30)
				got, err := g.leader().r.Append(t.Context(), addOp{"round", 1})
				require.NoError(t, err)
				require.Equal(t, uint64(round+1), got)
				g.agree()
				digest := g.leader().digest()
				switch round {
				case 0:
					g.killAll()
				case 1:
					for _, n := range g.all {
						require.NoError(t, n.r.Checkpoint(t.Context()))
						require.NoError(t, n.r.Checkpoint(t.Context()), "nothing new")
						require.EqualValues(t, 1, n.r.Stats().Checkpoints)
					}
					g.killAll()
				default:
					for _, n := range g.all {
						require.NoError(t, n.r.Close())
						n.r = nil
					}
				}
				g.restart()
				require.NoError(t, g.leader().r.Fence(t.Context()))
				require.Equal(t, digest, g.leader().digest())
				require.Equal(t, testIdentity, g.leader().r.Identity())
			}
			g.close()
		})
	}
}

// A member that was away for long gets an image, and so does one that was never there.
func TestInstallImage(t *testing.T) {
	for name, stores := range storeKinds(t) {
		inBubble(t, name, func(t *testing.T) {
			g := newGroupOn(t, 3, stores, nil)
			g.appendSome(20)
			away := g.all[2]
			away.r.Kill()
			away.r = nil
			g.appendSome(3 * trailingLogs)
			for _, n := range g.all[:2] {
				require.NoError(t, n.r.Checkpoint(t.Context()))
			}
			first, err := g.all[0].r.disk.FirstIndex()
			require.NoError(t, err)
			require.Greater(t, first, uint64(2*trailingLogs), "the log was cut")
			away.start()
			g.agree()
			require.Positive(t, away.r.imagedNow(), "it came with an image")

			blank := g.add("nn4", stores("nn4"))
			blank.start()
			require.NoError(t, g.leader().r.Add(t.Context(), Member{ID: blank.id, Addr: blank.addr}))
			g.appendSome(10)
			g.agree()
			require.Positive(t, blank.r.imagedNow())
			g.killAll()
			g.restart()
			g.close()
		})
	}
}

func (r *Raft) imagedNow() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.imaged
}

func TestGroupCheckpointsByItself(t *testing.T) {
	for name, change := range map[string]func(*RaftOptions){
		"ops":   func(o *RaftOptions) { o.CheckpointOps = 50 },
		"bytes": func(o *RaftOptions) { o.CheckpointBytes = 50 * 45 },
	} {
		inBubble(t, name, func(t *testing.T) {
			g := newGroup(t, 3, change)
			g.appendSome(49)
			require.Zero(t, g.leader().r.Stats().Checkpoints)
			g.appendSome(10)
			for _, n := range g.all {
				g.until("an image of "+n.id, func() bool { return n.r.Stats().Checkpoints == 1 })
			}
			g.close()
		})
	}
}

// The power fails everywhere at once. What was acknowledged by a mode that syncs first is there; without, what was there at
// the last sync.
func TestGroupPowerLoss(t *testing.T) {
	for _, mode := range []SyncMode{SyncGroup, SyncAsync, SyncNone} {
		inBubble(t, mode.String(), func(t *testing.T) {
			g := newGroup(t, 3, func(o *RaftOptions) { o.Sync = mode })
			g.appendSome(40)
			g.agree()
			for _, n := range g.all {
				require.NoError(t, n.r.Checkpoint(t.Context()))
			}
			kept := g.leader().digest()
			g.appendSome(7)
			g.agree()
			if mode == SyncAsync {
				time.Sleep(1500 * time.Millisecond)
			}
			if mode != SyncNone {
				kept = g.leader().digest()
			}
			require.ErrorContains(t, g.all[0].stores.PowerLoss(), "kill it before")
			g.killAll()
			for _, n := range g.all {
				require.NoError(t, n.stores.PowerLoss())
			}
			g.restart()
			g.agree()
			require.Equal(t, kept, g.leader().digest())
			g.appendSome(5)
			g.close()
		})
	}
}

func TestStoresOfOthers(t *testing.T) {
	for name, stores := range storeKinds(t) {
		inBubble(t, name, func(t *testing.T) {
			g := newGroupOn(t, 1, stores, nil)
			n := g.all[0]
			twin := g.add("nn2", n.stores)
			require.ErrorContains(t, twin.open(), "another journal has the stores open; close it first")
			g.close()

			n.id = "nn9"
			require.ErrorContains(t, n.open(), `belong to member "nn1", not to "nn9"; give each member its own stores`)
			n.id = "nn1"
			g.options = func(o *RaftOptions) { o.Identity.ClusterID = "CID-2" }
			require.ErrorContains(t, n.open(), "belong to the file system CID-1, namespace 7, not to CID-2")
			g.options = func(o *RaftOptions) { o.Identity = Identity{} }
			n.start()
			require.Equal(t, testIdentity, n.r.Identity(), "the stores' own")
			n.r.Kill()
			n.stores = NewMemoryStores()
			require.ErrorContains(t, n.open(), "give RaftOptions.Identity")
		})
	}
}

func TestRaftOptions(t *testing.T) {
	for name, o := range map[string]RaftOptions{
		"RaftOptions.ID":                        {},
		"Addr, Listener, Dial and Stores":       {ID: "a"},
		fmt.Sprintf("up to %d bytes", maxIDLen): {ID: string(make([]byte, 300))},
	} {
		_, err := OpenRaft(t.Context(), newMachine(), o)
		require.ErrorContains(t, err, name)
	}
}
