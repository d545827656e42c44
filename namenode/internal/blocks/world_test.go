package blocks

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// world is a Manager and the datanodes that talk to it. Datanode dnN has one storage dnN-s0, 1 TB of DISK.
type world struct {
	*Manager
	t   testing.TB
	now time.Time
}

// newWorld has an active Manager with safe mode over and n datanodes that have registered, sent a heartbeat and reported
// that they hold nothing. Racks are given one for each datanode, in turn.
func newWorld(t testing.TB, o Options, n int, racks ...string) *world {
	t.Helper()
	if len(racks) > 0 {
		o.Racks = func(host string) string {
			i, err := strconv.Atoi(host[strings.LastIndexByte(host, '.')+1:])
			if err != nil || !strings.HasPrefix(host, "10.0.0.") {
				return ""
			}
			return racks[(i-1)%len(racks)]
		}
	}
	w := &world{Manager: New(o), t: t, now: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.SetActive(true, 1)
	w.Loaded(w.now)
	for i := 1; i <= n; i++ {
		w.join(i)
	}
	return w
}

func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func reg(i int) Registration {
	return Registration{DatanodeID: dfs.DatanodeID{UUID: dn(i), IP: fmt.Sprintf("10.0.0.%d", i), Host: "host" + strconv.Itoa(i), XferPort: 9866, IPCPort: 9867}}
}

func dn(i int) string    { return "dn" + strconv.Itoa(i) }
func disk(i int) Storage { return Storage{ID: dn(i) + "-s0", Type: dfs.StorageDisk} }
func ref(i int) Ref      { return Ref{UUID: dn(i), Storage: disk(i).ID} }
func blk(id, gs, n int) dfs.Block {
	return dfs.Block{ID: dfs.BlockID(id), GenStamp: dfs.GenStamp(gs), Len: int64(n)}
}

func info(b dfs.Block, state dfs.BlockState, replication int) BlockInfo {
	return BlockInfo{Block: b, File: 20000, State: state, Replication: int16(replication)}
}

func report(i int) StorageReport {
	return StorageReport{Storage: disk(i), Capacity: 1 << 40, Remaining: 1 << 40}
}

func (w *world) join(i int) {
	w.t.Helper()
	_, err := w.Register(reg(i), w.now)
	require.NoError(w.t, err)
	w.beat(i)
	w.full(i)
}

func (w *world) beat(i int) []Command {
	w.t.Helper()
	cmds, _, err := w.Heartbeat(reg(i), Heartbeat{Reports: []StorageReport{report(i)}}, w.now)
	require.NoError(w.t, err)
	return cmds
}

// deletes sends a heartbeat and returns what the datanode is told to delete.
func (w *world) deletes(i int) []dfs.Block {
	w.t.Helper()
	for _, c := range w.beat(i) {
		if inv, ok := c.(InvalidateCommand); ok {
			return inv.Blocks
		}
	}
	return nil
}

func (w *world) full(i int, list ...Replica) {
	w.t.Helper()
	require.NoError(w.t, w.FullReport(reg(i), disk(i), slices.Values(list), ReportContext{Total: 1}, w.now))
}

func (w *world) event(i int, b dfs.Block, status ReceivedStatus) {
	w.t.Helper()
	require.NoError(w.t, w.IncrementalReport(reg(i), disk(i), []Received{{Block: b, Status: status}}, w.now))
}

func (w *world) received(b dfs.Block, nodes ...int) {
	w.t.Helper()
	for _, i := range nodes {
		w.event(i, b, StatusReceived)
	}
}

func (w *world) tick(d time.Duration) {
	w.now = w.now.Add(d)
	w.Tick(w.now)
}

// at lists the datanodes of a block's locations, sorted.
func (w *world) at(id dfs.BlockID) []string {
	out := []string{}
	for _, t := range w.Locate(id, "").Targets {
		out = append(out, t.Node.UUID)
	}
	slices.Sort(out)
	return out
}

func finalized(b dfs.Block) Replica { return Replica{Block: b, State: dfs.ReplicaFinalized} }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// check counts everything anew and compares.
func (w *world) check() {
	w.t.Helper()
	var want tally
	listed := 0
	for id, b := range w.blocks {
		require.Equal(w.t, id, b.ID)
		want.move(0, b.marks)
		lives, corrupts := b.count()
		require.Equal(w.t, corrupts > 0, b.marks&markCorrupt != 0, "%v", b)
		require.Equal(w.t, b.state == dfs.BlockComplete && lives == 0, b.marks&markMissing != 0, "%v", b)
		nodes := map[*node]bool{}
		for i := range b.replicas {
			r := &b.replicas[i]
			require.False(w.t, nodes[r.storage.node], "two replicas on one datanode")
			nodes[r.storage.node] = true
			require.True(w.t, r.storage.node.alive)
			require.Same(w.t, b, r.storage.blocks[r.pos])
			listed++
		}
	}
	queued := 0
	for _, n := range w.order {
		queued += n.deletions.len()
		for _, s := range n.storages {
			listed -= len(s.blocks)
			named := 0
			for _, b := range s.blocks {
				if b.replicas[b.at(n)].round == s.round {
					named++
				}
			}
			require.Equal(w.t, named, s.listed)
		}
	}
	require.Zero(w.t, listed, "replicas that no storage lists, or the other way round")
	require.Equal(w.t, want.by, w.tally.by)
	require.Equal(w.t, queued, w.tally.deletions)
}
