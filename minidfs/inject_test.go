package minidfs_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/datanode"
	"github.com/minidfs/go-minidfs/minidfs"
)

func TestFaultsOfCalls(t *testing.T) {
	refusal := &client.RemoteError{Class: client.ErrSafeMode, Message: "not now"}
	tests := []struct {
		name  string
		fault minidfs.Fault
		want  []error // of four mkdirs by alice, then one by bob
		count int
		took  time.Duration
		made  []int // which of them exist in the end
	}{
		{"counted", minidfs.Fault{}, []error{nil, nil, nil, nil, nil}, 5, 0, []int{0, 1, 2, 3, 4}},
		{"refused", minidfs.Fault{Err: refusal}, []error{refusal, refusal, refusal, refusal, refusal}, 5, 0, nil},
		{"the second and third", minidfs.Fault{After: 1, Times: 2, Err: refusal}, []error{nil, refusal, refusal, nil, nil}, 2, 0, []int{0, 3, 4}},
		{"a user's", minidfs.Fault{User: "bob", Err: refusal}, []error{nil, nil, nil, nil, refusal}, 1, 0, []int{0, 1, 2, 3}},
		{"a node's", minidfs.Fault{Node: "dn1", Err: refusal}, []error{nil, nil, nil, nil, nil}, 0, 0, []int{0, 1, 2, 3, 4}},
		{"late", minidfs.Fault{Delay: time.Minute}, []error{nil, nil, nil, nil, nil}, 5, 5 * time.Minute, []int{0, 1, 2, 3, 4}},
		{"refused after all", minidfs.Fault{Answer: true, Err: refusal}, []error{refusal, refusal, refusal, refusal, refusal}, 5, 0, []int{0, 1, 2, 3, 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := minidfs.Start(t, minidfs.MemNet(), minidfs.DataNodes(1))
				dir := c.Path("d")
				require.NoError(t, c.Client(c.Superuser()).Mkdir(t.Context(), dir, 0o777))
				tt.fault.Method = "mkdirs"
				i := c.Inject(tt.fault)
				began := time.Now()
				names := []string{"0", "1", "2", "3", "4"}
				for n, want := range tt.want {
					user := "alice"
					if n == 4 {
						user = "bob"
					}
					err := c.Client(user).MkdirAll(t.Context(), dir+"/"+names[n], 0o755)
					if want == nil {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, client.ErrSafeMode)
						require.ErrorContains(t, err, "not now")
					}
				}
				require.Equal(t, tt.took, time.Since(began))
				require.Equal(t, tt.count, i.Count())
				i.Remove()
				for n, name := range names {
					_, err := c.Client("alice").Stat(t.Context(), dir+"/"+name)
					if slices.Contains(tt.made, n) {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, fs.ErrNotExist)
					}
				}
				require.NoError(t, c.Client("alice").MkdirAll(t.Context(), dir+"/last", 0o755))
				require.Equal(t, tt.count, i.Count())
			})
		})
	}
}

// What is held goes on when it is released; others on the same connection go on meanwhile.
func TestHeldCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := minidfs.Start(t, minidfs.MemNet(), minidfs.DataNodes(1))
		alice, dir := c.Client("alice"), c.Path("d")
		held := c.Inject(minidfs.Fault{Method: "mkdirs", Hold: true})
		done := make(chan error, 1)
		go func() { done <- alice.MkdirAll(t.Context(), dir, 0o755) }()
		require.NoError(t, held.Wait(t.Context(), 1))
		_, err := alice.Stat(t.Context(), dir)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.Empty(t, done)
		held.Release()
		require.NoError(t, <-done)
		require.NoError(t, alice.MkdirAll(t.Context(), dir+"/2", 0o755))
		require.Equal(t, 2, held.Count())

		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("enough"))
		require.EqualError(t, held.Wait(ctx, 3), "enough")
	})
}

func TestFaultsOfData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := minidfs.Start(t, minidfs.MemNet())
		alice := c.Client("alice")
		refused := c.Inject(minidfs.Fault{Data: datanode.EventOp, Node: "dn2", Times: 1, Err: errors.New("no")})
		acks := c.Inject(minidfs.Fault{Data: datanode.EventAck, Match: func(e *datanode.Event) bool { return e.Last }})
		require.NoError(t, alice.WriteFile(t.Context(), c.Path("f"), []byte("hello")))
		require.Equal(t, 1, refused.Count())
		require.Equal(t, 2, acks.Count()) // dn2 was left out
		got, err := alice.ReadFile(t.Context(), c.Path("f"))
		require.NoError(t, err)
		require.Equal(t, "hello", string(got))
	})
}
