package memnet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What follows holds for TCP, bare or wrapped, and for the network in memory.

func TestDialRefused(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		l, err := host("b").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		addr := l.Addr().String()
		require.NoError(t, l.Close())
		_, err = host("a").Dial(context.Background(), "tcp", addr)
		require.EqualError(t, err, "dial tcp "+addr+": connect: connection refused")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		var op *net.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, "dial", op.Op)
		require.Zero(t, n.Sent("a", "b"))
	})
}

func TestDialCancelled(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		l, err := host("b").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		n.Partition([]string{"a"}, []string{"b"})

		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(5*time.Millisecond, cancel)
		_, err = host("a").Dial(ctx, "tcp", l.Addr().String())
		require.ErrorIs(t, err, context.Canceled)

		ctx, cancel = context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		_, err = host("a").Dial(ctx, "tcp", l.Addr().String())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var ne net.Error
		require.ErrorAs(t, err, &ne)
		require.True(t, ne.Timeout())
	})
}

func TestAddressInUse(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		l, err := host("b").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		_, err = host("c").Listen("tcp", l.Addr().String())
		require.ErrorIs(t, err, syscall.EADDRINUSE)
		require.EqualError(t, err, "listen tcp "+l.Addr().String()+": bind: address already in use")
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Close(), net.ErrClosed)
		again, err := host("c").Listen("tcp", l.Addr().String())
		require.NoError(t, err)
		require.NoError(t, again.Close())
	})
}

func TestAcceptEndsWithTheListener(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		l, err := host("b").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		failed := make(chan error)
		go func() {
			_, err := l.Accept()
			failed <- err
		}()
		listeners, _ := n.Open("b")
		require.Equal(t, 1, listeners)
		require.NoError(t, l.Close())
		require.ErrorIs(t, <-failed, net.ErrClosed)
		_, err = l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
		listeners, conns := n.Open(Any)
		require.Equal(t, []int{0, 0}, []int{listeners, conns})
	})
}

// Whoever waits in the backlog of a listener that closes is reset.
func TestBacklogIsReset(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		l, err := host("b").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		c, err := host("a").Dial(context.Background(), "tcp", l.Addr().String())
		require.NoError(t, err)
		require.NoError(t, l.Close())
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.NoError(t, c.Close())
		require.Empty(t, n.Conns())
	})
}

func TestBytesArriveBeforeTheEnd(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		_, err := near.Write([]byte("last words"))
		require.NoError(t, err)
		require.NoError(t, near.Close())
		b, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "last words", string(b))
		_, err = far.Read(b)
		require.True(t, err == io.EOF)
		require.NoError(t, far.Close())
	})
}

// The first write after the other end has closed goes nowhere; a later one fails.
func TestWriteToTheClosed(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		require.NoError(t, far.Close())
		_, err := near.Read(make([]byte, 1))
		require.True(t, err == io.EOF)
		_, err = near.Write([]byte("a"))
		require.NoError(t, err)
		for err == nil { // at once in memory; soon on a real socket
			_, err = near.Write([]byte("b"))
		}
		require.ErrorIs(t, err, syscall.EPIPE)
		require.True(t, strings.HasSuffix(err.Error(), ": write: broken pipe"), err)
		require.NoError(t, near.Close())
	})
}

func TestCloseWithBytesUnreadResets(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		_, err := far.Write([]byte("before"))
		require.NoError(t, err)
		hear(t, near, "before")
		_, err = near.Write([]byte("unheard words"))
		require.NoError(t, err)
		hear(t, far, "unheard")
		require.NoError(t, far.Close())
		_, err = near.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.True(t, strings.HasSuffix(err.Error(), ": read: connection reset by peer"), err)
		_, err = near.Write([]byte("x"))
		require.Error(t, err)
		require.NoError(t, near.Close())
	})
}

func TestHalfClose(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		defer near.Close()
		defer far.Close()
		_, err := near.Write([]byte("question"))
		require.NoError(t, err)
		require.NoError(t, near.(interface{ CloseWrite() error }).CloseWrite())
		_, err = near.Write([]byte("more"))
		require.ErrorIs(t, err, syscall.EPIPE)
		b, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "question", string(b))
		say(t, far, near, "answer")
		require.NoError(t, far.(interface{ CloseRead() error }).CloseRead())
		_, err = far.Read(b)
		require.True(t, err == io.EOF)
	})
}

func TestOperationsOnTheClosed(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		defer far.Close()
		waiting := make(chan error)
		go func() {
			_, err := near.Read(make([]byte, 1))
			waiting <- err
		}()
		require.NoError(t, near.Close())
		require.ErrorIs(t, <-waiting, net.ErrClosed)
		for name, f := range map[string]func() error{
			"read":        func() error { _, err := near.Read(make([]byte, 1)); return err },
			"write":       func() error { _, err := near.Write([]byte("x")); return err },
			"close":       near.Close,
			"deadline":    func() error { return near.SetDeadline(time.Now()) },
			"close write": near.(interface{ CloseWrite() error }).CloseWrite,
		} {
			err := f()
			require.ErrorIs(t, err, net.ErrClosed, name)
			require.Contains(t, err.Error(), "use of closed network connection", name)
		}
	})
}

func TestDeadlines(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		defer near.Close()
		defer far.Close()
		require.NoError(t, near.SetReadDeadline(time.Now().Add(5*time.Millisecond)))
		_, err := near.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.True(t, errors.Is(err, os.ErrDeadlineExceeded))

		// a deadline moved while someone waits counts for him
		require.NoError(t, near.SetReadDeadline(time.Now().Add(time.Hour)))
		waiting := make(chan error)
		go func() {
			_, err := near.Read(make([]byte, 1))
			waiting <- err
		}()
		require.NoError(t, near.SetReadDeadline(time.Now().Add(time.Millisecond)))
		require.ErrorIs(t, <-waiting, os.ErrDeadlineExceeded)

		// a write that fills the buffers gives up, and says how far it came
		large := make([]byte, 64<<20)
		require.NoError(t, near.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		sent, err := near.Write(large)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Positive(t, sent)
		require.NoError(t, near.SetDeadline(time.Time{}))
		got, err := io.CopyN(io.Discard, far, int64(sent))
		require.NoError(t, err)
		require.Equal(t, int64(sent), got)
		say(t, near, far, "and on")
	})
}

func TestNetworkClose(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		l, err := host("b").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		near, far := connect(t, host("a"), host("b"))
		require.NoError(t, n.Close())
		_, err = near.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = host("a").Dial(context.Background(), "tcp", l.Addr().String())
		require.Error(t, err)
		_, err = host("a").Listen("tcp", "127.0.0.1:0")
		require.ErrorIs(t, err, net.ErrClosed)
		require.Len(t, n.Conns(), 2)
		require.NoError(t, near.Close())
		require.NoError(t, far.Close())
		require.Empty(t, n.Conns())
	})
}
