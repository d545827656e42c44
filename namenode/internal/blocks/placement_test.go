package blocks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func where(targets []Target) (uuids, racks []string) {
	for _, t := range targets {
		uuids, racks = append(uuids, t.Node.UUID), append(racks, t.Node.Location)
	}
	return uuids, racks
}

// Random topologies: never two replicas on one datanode, as many as possible, on two racks where there are two, no rack
// over its share, the writer first, the third beside the second.
func TestPlacementProperties(t *testing.T) {
	rnd := seeded(t)
	for range 400 {
		nodes, rackCount, repl := 1+rnd.IntN(12), 1+rnd.IntN(4), 1+rnd.IntN(6)
		var racks []string
		for range nodes {
			racks = append(racks, fmt.Sprintf("/r%d", rnd.IntN(rackCount)))
		}
		w := newWorld(t, Options{Rand: rnd}, nodes, racks...)
		used := map[string]int{}
		for _, r := range racks {
			used[r]++
		}
		want := min(repl, nodes)
		perRack := want
		if len(used) > 1 && want > 1 {
			if perRack = (want-1)/len(used) + 2; perRack == want {
				perRack--
			}
		}
		possible := 0
		for _, n := range used {
			possible += min(n, perRack)
		}
		req := TargetRequest{Replication: repl, BlockSize: 1 << 20}
		writer := 0
		if rnd.IntN(3) > 0 {
			writer = 1 + rnd.IntN(nodes)
			req.Writer = []string{dn(writer), reg(writer).IP, reg(writer).Host}[rnd.IntN(3)]
		}
		got, err := w.ChooseTargets(req)
		require.NoError(t, err)
		uuids, on := where(got)
		context := fmt.Sprintf("racks %v replication %d writer %d: %v on %v", racks, repl, writer, uuids, on)
		require.Len(t, got, min(want, possible), context)
		seen, share := map[string]bool{}, map[string]int{}
		for _, g := range got {
			require.False(t, seen[g.Node.UUID], context)
			seen[g.Node.UUID] = true
			share[g.Node.Location]++
			require.LessOrEqual(t, share[g.Node.Location], perRack, context)
		}
		if len(got) > 1 && len(used) > 1 {
			require.Greater(t, len(share), 1, context)
		}
		if writer > 0 {
			require.Equal(t, dn(writer), uuids[0], context)
		}
		if len(got) == 3 && share[on[0]] == 1 && len(used) == 2 {
			require.Equal(t, on[1], on[2], context)
		}
	}
}

func TestPlacement(t *testing.T) {
	racks := []string{"/r1", "/r1", "/r1", "/r2", "/r2", "/r2"}
	size := int64(1 << 20)
	for _, c := range []struct {
		name string
		req  TargetRequest
		want func(uuids, racks []string) bool
	}{
		{"writer, then two on the other rack", TargetRequest{Replication: 3, Writer: dn(2)}, func(u, r []string) bool {
			return u[0] == dn(2) && r[1] == "/r2" && r[2] == "/r2"
		}},
		{"writer excluded: its rack", TargetRequest{Replication: 3, Writer: dn(2), Excluded: []string{dn(2)}}, func(u, r []string) bool {
			return len(u) == 3 && r[0] == "/r1"
		}},
		{"client on a rack, not on a datanode", TargetRequest{Replication: 1, Writer: "10.0.0.9"}, func(u, r []string) bool {
			return r[0] == "/r1"
		}},
		{"no local write", TargetRequest{Replication: 3, Writer: dn(1), Flags: dfs.AddBlockNoLocalWrite}, func(u, r []string) bool {
			return len(u) == 3 && u[0] != dn(1) && u[1] != dn(1) && u[2] != dn(1)
		}},
		{"no local write, but there is no other way", TargetRequest{Replication: 6, Writer: dn(1), Flags: dfs.AddBlockNoLocalWrite}, func(u, r []string) bool {
			return len(u) == 6 && u[0] == dn(1)
		}},
		{"no local rack", TargetRequest{Replication: 1, Writer: dn(1), Flags: dfs.AddBlockNoLocalRack}, func(u, r []string) bool {
			return r[0] == "/r2"
		}},
		{"favored", TargetRequest{Replication: 3, Favored: []string{"10.0.0.5:9866", "host6:9866", "nowhere:1"}}, func(u, r []string) bool {
			return len(u) == 3 && r[2] == "/r1" && (u[0] == dn(5) && u[1] == dn(6) || u[0] == dn(6) && u[1] == dn(5))
		}},
		{"one more to two on one rack", TargetRequest{Replication: 1, Existing: []Ref{ref(1), ref(2)}}, func(u, r []string) bool {
			return len(u) == 1 && r[0] == "/r2"
		}},
		{"one more to two racks: beside the first", TargetRequest{Replication: 1, Existing: []Ref{ref(1), ref(4)}}, func(u, r []string) bool {
			return len(u) == 1 && r[0] == "/r1" && u[0] != dn(1)
		}},
		{"one more, the others excluded", TargetRequest{Replication: 1, Existing: []Ref{ref(1)}, Excluded: []string{dn(2), dn(3), dn(4), dn(5)}}, func(u, r []string) bool {
			return len(u) == 1 && u[0] == dn(6)
		}},
		{"more than there are", TargetRequest{Replication: 9}, func(u, r []string) bool { return len(u) == 6 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Options{Rand: seeded(t), Racks: nil}, len(racks), append(racks, "/r0", "/r0", "/r1")...)
			for range 50 {
				c.req.BlockSize = size
				got, err := w.ChooseTargets(c.req)
				require.NoError(t, err)
				u, r := where(got)
				require.True(t, c.want(u, r), "%v on %v", u, r)
			}
		})
	}
}

func TestPlacementErrors(t *testing.T) {
	w := newWorld(t, Options{}, 3)
	const text = "File /f could only be written to 0 of the 1 minReplication nodes. There are %d datanode(s) running and %d node(s) are excluded in this operation."
	for _, c := range []struct {
		name              string
		w                 *world
		req               TargetRequest
		running, excluded int
	}{
		{"all excluded", w, TargetRequest{Replication: 3, Excluded: []string{dn(1), dn(2), dn(3)}}, 3, 3},
		{"too big", w, TargetRequest{Replication: 3, BlockSize: 1 << 45}, 3, 3},
		{"too big, one excluded", w, TargetRequest{Replication: 3, BlockSize: 1 << 45, Excluded: []string{dn(1)}}, 3, 3},
		{"wrong type", w, TargetRequest{Replication: 1, Policy: 2}, 3, 3},
		{"no datanode", newWorld(t, Options{}, 0), TargetRequest{Replication: 1}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.w.ChooseTargets(c.req)
			require.Nil(t, got)
			var e *PlacementError
			require.ErrorAs(t, err, &e)
			require.Equal(t, dfs.Errorf(dfs.ClassIO, text, c.running, c.excluded), e.For("/f"))
		})
	}
}

// Blocks on their way fill a datanode before its next heartbeat tells.
func TestPlacementCountsWhatIsUnderWay(t *testing.T) {
	w := newWorld(t, Options{}, 1)
	size := int64(1<<40) / 4
	for i := range 4 {
		got, err := w.ChooseTargets(TargetRequest{Replication: 1, BlockSize: size})
		require.NoError(t, err)
		b := blk(int(id)+i, 1001, 0)
		w.PutBlock(info(b, dfs.BlockUnderConstruction, 1))
		w.SetExpected(b.ID, Refs(got))
	}
	_, err := w.ChooseTargets(TargetRequest{Replication: 1, BlockSize: size})
	require.Error(t, err)
	w.received(blk(int(id), 1001, 5), 1)
	_, err = w.ChooseTargets(TargetRequest{Replication: 1, BlockSize: size})
	require.NoError(t, err)
	_, err = w.ChooseTargets(TargetRequest{Replication: 1, BlockSize: 2 * size})
	require.Error(t, err)
	w.tick(scheduledRoll)
	w.beat(1)
	w.tick(scheduledRoll)
	w.beat(1)
	_, err = w.ChooseTargets(TargetRequest{Replication: 1, BlockSize: 2 * size})
	require.NoError(t, err, "what has not come in all that time does not come")
}

func TestPlacementAvoids(t *testing.T) {
	load := func(w *world, i, n int) {
		_, _, err := w.Heartbeat(reg(i), Heartbeat{Reports: []StorageReport{report(i)}, XceiverCount: n}, w.now)
		require.NoError(t, err)
	}
	choose := func(w *world, repl int) int {
		got, err := w.ChooseTargets(TargetRequest{Replication: repl, BlockSize: 1})
		require.NoError(t, err)
		for _, g := range got {
			if g.Node.UUID == dn(1) {
				return len(got)
			}
		}
		return -len(got)
	}
	t.Run("busy", func(t *testing.T) {
		w := newWorld(t, Options{}, 3)
		load(w, 1, 5)
		load(w, 2, 1)
		load(w, 3, 1)
		require.Equal(t, -2, choose(w, 3), "5 is more than twice 7/3")
		load(w, 1, 4)
		require.Equal(t, 3, choose(w, 3))
		w = newWorld(t, Options{IgnoreLoad: true}, 3)
		load(w, 1, 50)
		require.Equal(t, 3, choose(w, 3))
	})
	t.Run("stale", func(t *testing.T) {
		w := newWorld(t, Options{AvoidStale: true}, 3)
		w.now = w.now.Add(w.o.StaleAfter)
		w.beat(2)
		w.beat(3)
		w.tick(0)
		require.Equal(t, -2, choose(w, 2))
		require.Equal(t, 3, choose(w, 3), "better a stale one than none")
	})
	t.Run("failed and read-only storages", func(t *testing.T) {
		w := newWorld(t, Options{}, 2)
		a, b := report(1), report(1)
		a.Failed, b.Storage, b.ReadOnly = true, vol(1, 1), true
		_, _, err := w.Heartbeat(reg(1), Heartbeat{Reports: []StorageReport{a, b}}, w.now)
		require.NoError(t, err)
		require.Equal(t, -1, choose(w, 2))
	})
}

func TestStoragePolicies(t *testing.T) {
	disks := func(t *testing.T, types ...dfs.StorageType) *world {
		w := newWorld(t, Options{Rand: seeded(t)}, 0)
		for i := 1; i <= 4; i++ {
			_, err := w.Register(reg(i), w.now)
			require.NoError(t, err)
			var reports []StorageReport
			for v, typ := range types {
				s := vol(i, v)
				s.Type = typ
				reports = append(reports, StorageReport{Storage: s, Remaining: 1 << 30})
			}
			_, _, err = w.Heartbeat(reg(i), Heartbeat{Reports: reports}, w.now)
			require.NoError(t, err)
		}
		return w
	}
	const D, S, A, R = dfs.StorageDisk, dfs.StorageSSD, dfs.StorageArchive, dfs.StorageRAMDisk
	all := []dfs.StorageType{D, S, A, R}
	for _, c := range []struct {
		name   string
		policy uint8
		have   []dfs.StorageType
		want   map[dfs.StorageType]int
	}{
		{"unset", 0, all, map[dfs.StorageType]int{D: 3}},
		{"hot", 7, all, map[dfs.StorageType]int{D: 3}},
		{"cold", 2, all, map[dfs.StorageType]int{A: 3}},
		{"warm", 5, all, map[dfs.StorageType]int{D: 1, A: 2}},
		{"warm without archive", 5, []dfs.StorageType{D}, map[dfs.StorageType]int{D: 3}},
		{"one ssd", 10, all, map[dfs.StorageType]int{S: 1, D: 2}},
		{"one ssd without ssd", 10, []dfs.StorageType{D}, map[dfs.StorageType]int{D: 3}},
		{"all ssd", 12, all, map[dfs.StorageType]int{S: 3}},
		{"all ssd without ssd", 12, []dfs.StorageType{D, A}, map[dfs.StorageType]int{D: 3}},
		{"lazy persist", 15, all, map[dfs.StorageType]int{R: 1, D: 2}},
		{"lazy persist without memory", 15, []dfs.StorageType{D}, map[dfs.StorageType]int{D: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := disks(t, c.have...).ChooseTargets(TargetRequest{Replication: 3, BlockSize: 1, Policy: c.policy})
			require.NoError(t, err)
			types := map[dfs.StorageType]int{}
			for _, g := range got {
				types[g.Type]++
			}
			require.Equal(t, c.want, types)
		})
	}
}

func TestDistance(t *testing.T) {
	require.Equal(t, 2, distance("/a", "/a"))
	require.Equal(t, 4, distance("/a", "/b"))
	require.Equal(t, 4, distance("/d1/a", "/d1/b"))
	require.Equal(t, 6, distance("/d1/a", "/d2/a"))
}
