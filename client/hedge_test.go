package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/minidfs/go-minidfs/internal/rpc"
)

func TestHedge(t *testing.T) {
	begin := func(t *testing.T) (*fake, *Client) {
		f := newFake(t, 3, 0)
		c := f.client(Options{})
		require.NoError(t, c.MkdirAll(t.Context(), "/a", 0o755))
		return f, c
	}
	remove := func(t *testing.T, c *Client) chan error { // at most once: a second one would find nothing
		done := make(chan error, 1)
		go func() { done <- c.Remove(t.Context(), "/a") }()
		return done
	}

	t.Run("a late first answer is the answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, c := begin(t)
			release := make(chan struct{})
			f.setHook(0, hold("delete", true, release))
			done := remove(t, c)
			time.Sleep(5 * time.Second)
			close(release)
			require.NoError(t, <-done)
			require.Len(t, f.seen("delete"), 1, "nobody else is active")
			settled(t, c)
		})
	})

	t.Run("and so is a late one while the repeated call is under way", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, c := begin(t)
			first, second := make(chan struct{}), make(chan struct{})
			f.setHook(0, hold("delete", true, first))
			f.setHook(1, hold("delete", true, second))
			done := remove(t, c)
			time.Sleep(time.Second)
			f.setActive(1)
			time.Sleep(time.Second)
			close(first)
			require.NoError(t, <-done)
			retries, nodes := ids(t, f.seen("delete"))
			require.Equal(t, []int32{0, 1}, retries)
			require.Equal(t, []int{0, 1}, nodes)
			settled(t, c)
			f.setHook(1, nil)
			close(second)
			require.NoError(t, c.MkdirAll(t.Context(), "/a", 0o755))
			require.NoError(t, c.Remove(t.Context(), "/a"), "an answer that nobody waits for is dropped")
		})
	})

	t.Run("the repeated call is answered, the first one later", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, c := begin(t)
			release := make(chan struct{})
			f.setHook(0, hold("delete", true, release))
			done := remove(t, c)
			time.Sleep(time.Second)
			f.setActive(1)
			require.NoError(t, <-done)
			settled(t, c)
			close(release)
			synctest.Wait()
			_, err := c.Stat(t.Context(), "/a")
			require.ErrorIs(t, err, dfs.ClassFileNotFound)
			require.Equal(t, 1, f.seen("getFileInfo")[0].nn, "calls stay with the new one")
		})
	})

	t.Run("both are answered at the same moment", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for range 50 {
				f, c := begin(t)
				release := make(chan struct{})
				f.setHook(0, hold("delete", true, release))
				f.setHook(1, hold("delete", true, release))
				done := remove(t, c)
				time.Sleep(time.Second)
				f.setActive(1)
				time.Sleep(time.Second)
				close(release)
				require.NoError(t, <-done)
				settled(t, c)
			}
		})
	})

	t.Run("the first one fails while the repeated call is under way", func(t *testing.T) {
		for name, fail := range map[string]error{
			"standby": dfs.Errorf(dfs.ClassStandby, "not any more"),
			"reset":   rpc.ErrDrop,
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f, c := begin(t)
					first, second := make(chan struct{}), make(chan struct{})
					f.setHook(0, func(ctx context.Context, c *rpc.Call, next rpc.Next) (proto.Message, error) {
						if c.Method != "delete" {
							return next(ctx)
						}
						<-first
						return nil, fail
					})
					f.setHook(1, hold("delete", false, second))
					done := remove(t, c)
					time.Sleep(time.Second)
					f.setActive(1)
					time.Sleep(time.Second)
					close(first)
					time.Sleep(time.Second)
					close(second)
					require.NoError(t, <-done)
					retries, _ := ids(t, f.seen("delete"))
					require.Equal(t, []int32{0, 1}, retries, "the call under way is waited for")
					settled(t, c)
				})
			})
		}
	})

	t.Run("two are silent one after the other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, c := begin(t)
			release := make(chan struct{})
			defer close(release)
			f.setHook(0, hold("delete", false, release))
			f.setHook(1, hold("delete", false, release))
			done := remove(t, c)
			time.Sleep(time.Second)
			f.setActive(1)
			time.Sleep(time.Second)
			f.setActive(2)
			require.NoError(t, <-done)
			retries, nodes := ids(t, f.seen("delete"))
			require.Equal(t, []int32{0, 1, 2}, retries)
			require.Equal(t, []int{0, 1, 2}, nodes)
			settled(t, c)
		})
	})

	t.Run("back to the first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, c := begin(t)
			first, release := make(chan struct{}), make(chan struct{})
			defer close(release)
			f.setHook(0, func(ctx context.Context, c *rpc.Call, next rpc.Next) (proto.Message, error) {
				if c.Method == "delete" && c.RetryCount == 0 {
					<-first
					return nil, dfs.Errorf(dfs.ClassStandby, "not any more")
				}
				return next(ctx)
			})
			f.setHook(1, hold("delete", false, release))
			done := remove(t, c)
			time.Sleep(time.Second)
			f.setActive(1)
			time.Sleep(time.Second)
			close(first)
			time.Sleep(time.Second)
			f.setActive(0)
			require.NoError(t, <-done)
			retries, nodes := ids(t, f.seen("delete"))
			require.Equal(t, []int32{0, 1, 2}, retries)
			require.Equal(t, []int{0, 1, 0}, nodes)
			settled(t, c)
		})
	})

	t.Run("one that claims to be active and is not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, c := begin(t)
			release := make(chan struct{})
			f.setHook(0, hold("delete", true, release))
			f.setHook(1, func(ctx context.Context, c *rpc.Call, next rpc.Next) (proto.Message, error) {
				if c.Method == "delete" {
					return nil, dfs.Errorf(dfs.ClassStandby, "I did not know")
				}
				return next(ctx)
			})
			done := remove(t, c)
			time.Sleep(time.Second)
			f.setActive(1)
			time.Sleep(time.Second)
			close(release)
			require.NoError(t, <-done)
			require.Less(t, len(f.seen("delete")), 10)
			settled(t, c)
		})
	})

	t.Run("a big answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, c := begin(t)
			f.page = 100_000
			for i := range 20_000 {
				f.files[fmt.Sprintf("/a/%05d", i)] = &fakeFile{id: uint64(i)}
			}
			for _, late := range []time.Duration{0, time.Millisecond} {
				f.setActive(0)
				release := make(chan struct{})
				f.setHook(0, hold("getListing", true, release))
				f.setHook(1, hold("getListing", true, release))
				time.AfterFunc(time.Second, func() { f.setActive(1) })
				time.AfterFunc(2*time.Second, func() {
					f.setHook(1, nil)
					close(release)
				})
				time.Sleep(late)
				list, err := c.ReadDir(t.Context(), "/a")
				require.NoError(t, err)
				require.Len(t, list, 20_000)
				for i, e := range list {
					require.Equal(t, fmt.Sprintf("%05d", i), e.Name())
				}
				settled(t, c)
				c.nn.position.Store(&position{left: make(chan struct{})})
			}
		})
	})

	t.Run("an error is an answer too", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, c := begin(t)
			f.net.Pause("nn1")
			f.setActive(1)
			require.ErrorIs(t, c.Rename(t.Context(), "/none", "/b"), dfs.ClassFileNotFound)
			require.Len(t, f.seen("rename2"), 1)
			settled(t, c)
		})
	})

	t.Run("the client is closed, or the context ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for range 2 {
				f, c := begin(t)
				release := make(chan struct{})
				defer close(release)
				f.setHook(0, hold("delete", false, release))
				f.setHook(1, hold("delete", false, release))
				reason := errors.New("no longer wanted")
				ctx, cancel := context.WithCancelCause(t.Context())
				done := make(chan error, 2)
				go func() { done <- c.Remove(ctx, "/a") }()
				go func() { done <- c.Remove(t.Context(), "/a") }()
				time.Sleep(time.Second)
				f.setActive(1)
				time.Sleep(time.Second)
				require.Len(t, f.seen("delete"), 4, "they are under way at two namenodes each")
				start := time.Now()
				cancel(reason)
				require.ErrorIs(t, <-done, reason)
				require.NoError(t, c.Close())
				require.ErrorIs(t, <-done, ErrClosed)
				require.Zero(t, time.Since(start))
				settled(t, c)
			}
		})
	})

	t.Run("many silent calls ask together", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f, c := begin(t)
			f.net.Pause("nn1")
			time.AfterFunc(200*time.Millisecond, func() { f.setActive(2) })
			start := time.Now()
			errs := make(chan error)
			for i := range 200 {
				go func() { errs <- c.MkdirAll(t.Context(), fmt.Sprint("/a/", i), 0o755) }()
			}
			for range 200 {
				require.NoError(t, <-errs)
			}
			require.Less(t, time.Since(start), 260*time.Millisecond)
			require.Less(t, len(f.seen("getHAServiceState")), 60)
			settled(t, c)
		})
	})
}
