package namespace

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// call applies an op as a client's call.
func (e *env) call(client byte, id int32, a Args) Result {
	e.t.Helper()
	e.now++
	op := &Op{Time: e.now, Caller: root, CallID: id, Args: a}
	op.ClientID[0] = client
	if r, final := e.Check(op); final && r.Err == nil {
		return r
	}
	return e.Apply([]*Op{op})[0]
}

func TestRetryCache(t *testing.T) {
	e := newEnv(t)
	create := &Create{Path: "/f", Perm: 0o644, Holder: "h", Flags: dfs.CreateNew, Replication: 1, BlockSize: 100}
	first := e.call(1, 7, create)
	require.NoError(t, first.Err)
	tx := e.TxID()
	e.must(root, &SetPermission{"/f", 0o600})
	require.Equal(t, first, e.call(1, 7, create), "the answer as it was then")
	require.Equal(t, tx+1, e.TxID())
	require.Equal(t, dfs.ClassAlreadyBeingCreated, dfs.AsRemote(e.call(1, 8, create).Err).Class)
	require.Equal(t, dfs.ClassAlreadyBeingCreated, dfs.AsRemote(e.call(2, 7, create).Err).Class)

	require.False(t, e.call(1, 9, &Delete{"/none", true}).Bool)
	e.mkdir(root, "/none")
	require.True(t, e.call(1, 9, &Delete{"/none", true}).Bool, "only what changed something is remembered")
	require.True(t, e.call(1, 9, &Delete{"/none", true}).Bool)
	require.False(t, e.call(1, 10, &Delete{"/none", true}).Bool)
	require.False(t, e.call(1, -5, &Delete{"/none", true}).Bool, "no call id, no memory")

	op := &Op{Time: e.now, CallID: 9, Args: &Delete{"/none", true}}
	op.ClientID[0] = 1
	r, ok := e.Answered(op)
	require.True(t, ok)
	require.True(t, r.Bool)
	e.now += DefaultParams().RetryTTL
	op.Time = e.now
	_, ok = e.Answered(op)
	require.False(t, ok, "too old")
	require.Equal(t, dfs.ClassAlreadyBeingCreated, dfs.AsRemote(e.call(1, 7, create).Err).Class)
	e.mkdir(root, "/other")
	require.True(t, e.call(3, 1, &Delete{"/other", true}).Bool)
	require.Len(t, e.retry.index, 1, "old entries are gone")
	require.Len(t, e.retry.clients, 1)
}

// TestRetryCacheIsFair lets one client make very many calls: the few of the others stay.
func TestRetryCacheIsFair(t *testing.T) {
	e := newEnv(t)
	p := testParams()
	p.RetryMax = 100
	e.must(dfs.Caller{}, &SetParams{p})
	for i := range 3 {
		e.mkdir(root, fmt.Sprintf("/small%d", i))
		require.True(t, e.call(byte(10+i), 1, &Delete{fmt.Sprintf("/small%d", i), true}).Bool)
	}
	for i := range 1000 {
		e.mkdir(root, "/busy")
		require.True(t, e.call(1, int32(i), &Delete{"/busy", true}).Bool)
		require.LessOrEqual(t, len(e.retry.index), 100)
	}
	for i := range 3 {
		require.True(t, e.call(byte(10+i), 1, &Delete{fmt.Sprintf("/small%d", i), true}).Bool)
	}
	require.True(t, e.call(1, 950, &Delete{"/busy", true}).Bool)
	require.False(t, e.call(1, 850, &Delete{"/busy", true}).Bool)
}
