package rpc

import (
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestOutboxJoinsFrames: what comes while a write is under way leaves in one write, and in order.
func TestOutboxJoinsFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		writes := &countWrites{Conn: near}
		o := outbox{conn: writes, pool: &buffers{}}
		go o.send([]byte("one"))
		synctest.Wait()
		for _, frame := range []string{"two", "three", "four"} {
			_, err := o.send([]byte(frame))
			require.NoError(t, err)
		}
		require.Equal(t, int64(15), o.backlog())
		require.True(t, o.sent(3))
		require.False(t, o.sent(4))
		got := make([]byte, 15)
		_, err := io.ReadFull(far, got)
		require.NoError(t, err)
		require.Equal(t, "onetwothreefour", string(got))
		synctest.Wait()
		require.Equal(t, 2, writes.n)
		require.Zero(t, o.backlog())
	})
}

type countWrites struct {
	net.Conn
	n int
}

func (w *countWrites) Write(b []byte) (int, error) {
	w.n++
	return w.Conn.Write(b)
}

// TestOutboxLimit: bytes that nobody takes do not pile up for ever.
func TestOutboxLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		o := outbox{conn: near, pool: &buffers{}, limit: 10}
		done := make(chan error, 1)
		go func() {
			_, err := o.send([]byte("one"))
			done <- err
		}()
		synctest.Wait()
		_, err := o.send([]byte("twotwotwo"))
		require.NoError(t, err)
		_, err = o.send([]byte("three"))
		require.EqualError(t, err, "the peer leaves 12 bytes unread")
		far.Close()
		require.Equal(t, io.ErrClosedPipe, <-done)
		_, err = o.send([]byte("four"))
		require.Equal(t, io.ErrClosedPipe, err)
		require.False(t, o.sent(1))
	})
}
