package blocks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

func TestLocateOrder(t *testing.T) {
	w := newWorld(t, Options{Rand: seeded(t)}, 6, "/r1", "/r1", "/r1", "/r2", "/r2", "/r2")
	b := blk(int(id), 1001, 10)
	w.PutBlock(info(b, dfs.BlockComplete, 3))
	w.received(b, 1, 4, 5)
	first := map[string]int{}
	for range 300 {
		for _, reader := range []string{dn(1), "10.0.0.1", "host1"} {
			require.Equal(t, dn(1), w.Locate(id, reader).Targets[0].Node.UUID)
		}
		require.Equal(t, dn(1), w.Locate(id, dn(2)).Targets[0].Node.UUID, "same rack")
		require.Equal(t, dn(1), w.Locate(id, dn(6)).Targets[2].Node.UUID, "other rack")
		first[w.Locate(id, "").Targets[0].Node.UUID]++
	}
	require.Len(t, first, 3, "readers are spread")
	require.Equal(t, Locations{Block: dfs.Block{ID: id + 9}}, w.Locate(id+9, ""))
}

// Many datanodes on one address: who comes from there is near none of them.
func TestLocateSharedAddress(t *testing.T) {
	w := newWorld(t, Options{}, 0)
	b := blk(int(id), 1001, 10)
	w.PutBlock(info(b, dfs.BlockComplete, 3))
	for i := 1; i <= 3; i++ {
		r := reg(i)
		r.IP, r.Host, r.XferPort = "127.0.0.1", "localhost", 9000+i
		_, err := w.Register(r, w.now)
		require.NoError(t, err)
		require.NoError(t, w.IncrementalReport(r, disk(i), []Received{{Block: b, Status: StatusReceived}}, w.now))
	}
	first := map[string]int{}
	for range 300 {
		first[w.Locate(id, "127.0.0.1").Targets[0].Node.UUID]++
	}
	require.Len(t, first, 3)
	require.Equal(t, dn(2), w.Locate(id, dn(2)).Targets[0].Node.UUID)
}

func TestLocateOpen(t *testing.T) {
	w := newWorld(t, Options{}, 4)
	open := blk(int(id), 1001, 0)
	w.PutBlock(info(open, dfs.BlockUnderConstruction, 3))
	w.SetExpected(id, []Ref{ref(3), {UUID: dn(1), Storage: "not known"}, ref(2), {UUID: "nobody"}})
	expected, _ := where(w.Expected(id))
	require.Equal(t, []string{dn(3), dn(1), dn(2)}, expected, "in the order of the pipeline")
	w.event(4, open, StatusReceiving)
	require.Equal(t, []string{dn(1), dn(2), dn(3), dn(4)}, w.at(id), "and who else says that it has one")
	require.NoError(t, w.IncrementalReport(reg(1), vol(1, 1), []Received{{Block: open, Status: StatusReceiving}}, w.now))
	require.Equal(t, vol(1, 1).ID, w.Expected(id)[1].Storage, "where it really is")
	require.NoError(t, w.ErrorReport(reg(2), ErrorFatalDisk, ""))
	require.Equal(t, []string{dn(1), dn(3), dn(4)}, w.at(id))
	w.SetExpected(id+1, nil) // unknown block
	w.check()
}
