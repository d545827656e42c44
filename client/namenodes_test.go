package client

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

// ids gives what the calls had in common, and how they differed.
func ids(t *testing.T, calls []fakeCall) (retries []int32, nodes []int) {
	for _, c := range calls {
		require.Equal(t, calls[0].id, c.id, "every attempt has the id of the first")
		retries = append(retries, c.retry)
		nodes = append(nodes, c.nn)
	}
	return retries, nodes
}

func TestCallFollowsTheActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3, 0)
		f.setActive(2)
		c := f.client(Options{})
		require.NoError(t, c.MkdirAll(t.Context(), "/a", 0o755))
		retries, nodes := ids(t, f.seen("mkdirs"))
		require.Equal(t, []int32{0, 1, 2}, retries)
		require.Equal(t, []int{0, 1, 2}, nodes)

		_, err := c.Stat(t.Context(), "/a")
		require.NoError(t, err)
		require.Len(t, f.seen("getFileInfo"), 1, "the next call begins where the last was answered")
	})
}

func TestLostAnswerIsGivenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, namenodes := range []int{1, 2} {
			f := newFake(t, namenodes, 0)
			c := f.client(Options{})
			var once sync.Once
			f.setHook(0, func(ctx context.Context, call *rpc.Call, next rpc.Next) (proto.Message, error) {
				m, err := next(ctx)
				if call.Method == "create" {
					once.Do(func() {
						f.setActive(namenodes - 1)
						err = rpc.ErrDrop
					})
				}
				return m, err
			})
			// without Overwrite a second create would fail: the file is there
			w, err := c.Create(t.Context(), "/f")
			require.NoError(t, err)
			require.NoError(t, w.Close())
			retries, nodes := ids(t, f.seen("create"))
			require.Equal(t, []int32{0, 1}, retries)
			require.Equal(t, []int{0, namenodes - 1}, nodes)
		}
	})
}

func TestRetriableIsTriedAgainAtTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 2, 0)
		c := f.client(Options{})
		left := 5
		f.setHook(0, func(ctx context.Context, call *rpc.Call, next rpc.Next) (proto.Message, error) {
			if left--; left >= 0 {
				return nil, dfs.Errorf(dfs.ClassRetriable, "starting up")
			}
			return next(ctx)
		})
		start := time.Now()
		require.NoError(t, c.MkdirAll(t.Context(), "/a", 0o755))
		retries, nodes := ids(t, f.seen("mkdirs"))
		require.Equal(t, []int32{0, 1, 2, 3, 4, 5}, retries)
		require.Equal(t, []int{0, 0, 0, 0, 0, 0}, nodes)
		require.Greater(t, time.Since(start), backoffBase*31/2, "the waits grow")
	})
}

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 2, 0)
		f.setActive(-1)
		c := f.client(Options{RetryTimeout: 20 * time.Second})
		start := time.Now()
		err := c.MkdirAll(t.Context(), "/a", 0o755)
		require.ErrorIs(t, err, ErrStandby)
		require.ErrorContains(t, err, "mkdir /a: mkdirs: no namenode answered in 2")
		require.GreaterOrEqual(t, time.Since(start), 20*time.Second)
		require.Less(t, time.Since(start), 20*time.Second+2*backoffMax)
	})
}

func TestRefusedConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 0)
		c := f.client(Options{})
		f.net.Down("nn1")
		start := time.Now()
		_, err := c.Stat(t.Context(), "/")
		var conn *rpc.ConnError
		require.ErrorAs(t, err, &conn)
		require.False(t, conn.Sent)
		require.GreaterOrEqual(t, time.Since(start), 10*time.Second)

		time.AfterFunc(3*time.Second, func() { f.net.Up("nn1") })
		_, err = c.Stat(t.Context(), "/")
		require.NoError(t, err, "a namenode that comes back in time is found")
	})
}

func TestHedgeFindsTheNewActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3, 0)
		c := f.client(Options{})
		require.NoError(t, c.MkdirAll(t.Context(), "/a", 0o755))
		f.net.Partition([]string{"client"}, []string{"nn1"})
		time.AfterFunc(time.Second, func() { f.setActive(1) })
		start := time.Now()
		require.NoError(t, c.MkdirAll(t.Context(), "/b", 0o755))
		require.Less(t, time.Since(start), 3*time.Second)
		retries, nodes := ids(t, f.seen("mkdirs")[1:])
		require.Equal(t, []int32{1}, retries)
		require.Equal(t, []int{1}, nodes)

		// and a namenode that is only slow keeps its call
		var slow sync.Once
		f.setHook(1, func(ctx context.Context, call *rpc.Call, next rpc.Next) (proto.Message, error) {
			if call.Method == "getFileInfo" {
				slow.Do(func() { time.Sleep(5 * time.Second) })
			}
			return next(ctx)
		})
		_, err := c.Stat(t.Context(), "/b")
		require.NoError(t, err)
		require.Len(t, f.seen("getFileInfo"), 1)
	})
}

func TestSilentNameNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 2, 0)
		c := f.client(Options{HedgeAfter: -1, CallTimeout: 30 * time.Second})
		f.setHook(0, func(ctx context.Context, _ *rpc.Call, _ rpc.Next) (proto.Message, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		time.AfterFunc(time.Second, func() { f.setActive(1) })
		start := time.Now()
		_, err := c.Stat(t.Context(), "/")
		require.NoError(t, err)
		require.InDelta(t, 30, time.Since(start).Seconds(), 1)
	})
}

func TestContextEndsACall(t *testing.T) {
	reason := errors.New("no longer wanted")
	block := func(ctx context.Context, _ *rpc.Call, _ rpc.Next) (proto.Message, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	standby := func(context.Context, *rpc.Call, rpc.Next) (proto.Message, error) {
		return nil, dfs.Errorf(dfs.ClassStandby, "standby")
	}
	for name, hook := range map[string]rpc.Hook{"in the call": block, "between attempts": standby} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 2, 0)
				c := f.client(Options{})
				f.setHook(0, hook)
				f.setHook(1, hook)
				ctx, cancel := context.WithCancelCause(t.Context())
				start := time.Now()
				time.AfterFunc(3*time.Second, func() { cancel(reason) })
				_, err := c.Stat(ctx, "/")
				require.ErrorIs(t, err, reason)
				require.Equal(t, 3*time.Second, time.Since(start))

				time.AfterFunc(3*time.Second, func() { c.Close() })
				_, err = c.Stat(t.Context(), "/")
				require.ErrorIs(t, err, ErrClosed)
				require.Equal(t, 6*time.Second, time.Since(start))
			})
		})
	}
}

func TestErrorsCarryPathClassAndMeaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 0)
		c := f.client(Options{})
		f.setHook(0, func(context.Context, *rpc.Call, rpc.Next) (proto.Message, error) {
			return nil, dfs.Errorf(dfs.ClassAccessControl, "Permission denied: user=alice\n\tat org.apache.hadoop.Foo\n\tat java.Bar")
		})
		_, err := c.Stat(t.Context(), "x/../y")
		require.EqualError(t, err, "stat x/../y: Permission denied: user=alice (AccessControlException)")
		require.ErrorIs(t, err, fs.ErrPermission)
		var p *fs.PathError
		require.ErrorAs(t, err, &p)
		require.Equal(t, "x/../y", p.Path)
		var remote *RemoteError
		require.ErrorAs(t, err, &remote)
		require.Equal(t, dfs.ClassAccessControl, remote.Class)
		require.Equal(t, "/user/alice/y", f.seen("getFileInfo")[0].req.(interface{ GetSrc() string }).GetSrc())
	})
}

func TestNameNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 3, 0)
		f.net.Down("nn3")
		c := f.client(Options{})
		s := c.NameNodes(t.Context())
		require.Len(t, s, 3)
		require.Equal(t, NameNodeState{Addr: f.addrs[0], State: "ACTIVE"}, s[0])
		require.Equal(t, NameNodeState{Addr: f.addrs[1], State: "STANDBY"}, s[1])
		require.Error(t, s[2].Err)
	})
}
