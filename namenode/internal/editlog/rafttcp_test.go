package editlog

import (
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// On real sockets, in real time: three members come, work, lose their leader and go, and leave no goroutine and no port.
func TestGroupOnSockets(t *testing.T) {
	before := runtime.NumGoroutine()
	var members []Member
	var listeners []net.Listener
	for _, id := range []string{"nn1", "nn2", "nn3"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listeners = append(listeners, l)
		members = append(members, Member{ID: id, Addr: l.Addr().String(), Voter: true})
	}
	var all []*Raft
	for i, m := range members {
		r, err := OpenRaft(t.Context(), newMachine(), RaftOptions{
			ID: m.ID, Addr: m.Addr, Listener: listeners[i], Dial: dfs.NetDial, Stores: NewMemoryStores(), Members: members,
			Identity: testIdentity,
		})
		require.NoError(t, err)
		defer r.Kill()
		all = append(all, r)
	}
	require.NoError(t, all[0].Elect(t.Context()))
	_, err := appendOps(t.Context(), all[0], someOps(50))
	require.NoError(t, err)
	require.NoError(t, all[0].Fence(t.Context()))
	all[0].Kill()
	next := all[1]
	if all[2].Progress().Last > next.Progress().Last {
		next = all[2]
	}
	require.NoError(t, next.Elect(t.Context()))
	got, err := next.Append(t.Context(), addOp{"key-after", 1})
	require.NoError(t, err)
	require.Equal(t, uint64(1), got)
	for _, r := range all {
		r.Kill()
	}
	for _, m := range members {
		l, err := net.Listen("tcp", m.Addr)
		require.NoError(t, err, "the port is free")
		require.NoError(t, l.Close())
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}
