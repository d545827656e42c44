package client

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/internal/transfer"
)

func TestFailedCloseGivesUpTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		c := f.client(Options{})
		other, err := c.Create(t.Context(), "/other")
		require.NoError(t, err)
		w, err := c.Create(t.Context(), "/f")
		require.NoError(t, err)
		_, err = w.Write([]byte("data"))
		require.NoError(t, err)
		require.NoError(t, w.Hflush())
		f.net.Down("nn1")
		err = w.Close()
		require.ErrorContains(t, err, "close /f: complete: no namenode answered in 1")
		require.Equal(t, err, w.Close(), "a second Close gives what the first gave")
		_, again := w.Write([]byte("x"))
		require.Equal(t, err, again)
		require.Equal(t, err, w.Hflush())
		f.net.Up("nn1")
		time.Sleep(10 * time.Minute)
		require.Zero(t, f.renewals(w.holder))
		require.InDelta(t, 20, f.renewals(other.holder), 1)
		require.NoError(t, other.Close())
	})
}

func TestLeaseLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		c := f.client(Options{})
		w, err := c.Create(t.Context(), "/f")
		require.NoError(t, err)
		f.net.Down("nn1")
		time.Sleep(25 * time.Minute)
		_, err = w.Write([]byte("x"))
		require.ErrorContains(t, err, "write /f: aborted, since its lease could not be renewed for 20m")
		require.Equal(t, err, w.Close())
	})
}

func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		c := f.client(Options{})
		w, err := c.Create(t.Context(), "/f")
		require.NoError(t, err)
		_, err = w.Write(make([]byte, 100))
		require.NoError(t, err)
		require.NoError(t, w.Hflush())
		require.NoError(t, w.Abort())
		require.NoError(t, w.Abort())
		_, err = w.Write([]byte("x"))
		require.EqualError(t, err, "write /f: aborted: file already closed")
		require.ErrorIs(t, w.Close(), ErrClosed)
		require.Empty(t, f.seen("complete"))
		_, conns := f.net.Open("client")
		require.Equal(t, 1, conns, "only that to the namenode is left")
	})
}

func TestContextEndsAWriter(t *testing.T) {
	reason := errors.New("no longer wanted")
	for _, stalled := range []string{"nn1", "dn1", "dn3"} {
		t.Run(stalled+" silent", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, 1, 3)
				c := f.client(Options{})
				ctx, cancel := context.WithCancelCause(t.Context())
				w, err := c.Create(ctx, "/f")
				require.NoError(t, err)
				f.net.Stall(stalled, memnetAny)
				time.AfterFunc(time.Second, func() { cancel(reason) })
				start := time.Now()
				_, err = io.Copy(w, zeros{})
				require.ErrorIs(t, err, reason)
				require.Equal(t, time.Second, time.Since(start))
				require.ErrorIs(t, w.Close(), reason)
				f.net.Heal()
			})
		})
	}
}

const memnetAny = "*"

func TestForgottenWriterLosesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		c := f.client(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		w, err := c.Create(ctx, "/f")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.NotZero(t, f.renewals(w.holder))
		cancel()
		synctest.Wait()
		before := f.renewals(w.holder)
		time.Sleep(10 * time.Minute)
		require.Equal(t, before, f.renewals(w.holder))
		require.Empty(t, c.leases.writers())
	})
}

func TestClientCloseAbortsWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, 1, 3)
		c := f.client(Options{})
		w, err := c.Create(t.Context(), "/f")
		require.NoError(t, err)
		_, err = w.Write(make([]byte, 1000))
		require.NoError(t, err)
		f.dns[1].with(func() { f.dns[1].onPacket = func(transfer.Header) fakeVerdict { return holdPacket } })
		failed := make(chan error)
		go func() { failed <- w.Hflush() }()
		time.Sleep(time.Second)
		start := time.Now()
		require.NoError(t, c.Close())
		require.ErrorIs(t, <-failed, ErrClosed)
		require.Zero(t, time.Since(start))
		require.ErrorIs(t, w.Close(), ErrClosed)
		_, err = c.Create(t.Context(), "/g")
		require.ErrorIs(t, err, ErrClosed)
		_, conns := f.net.Open("client")
		require.Zero(t, conns)
	})
}
