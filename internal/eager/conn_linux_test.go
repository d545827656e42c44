package eager

import (
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"
)

// connect gives the two ends of a connection, the accepted one eager, and counts the latter's looks.
func connect(t *testing.T, l *Listener) (c *conn, peer *net.TCPConn, looks *atomic.Int64) {
	t.Helper()
	far, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	near, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { near.Close(); far.Close() })
	c, looks = near.(*conn), new(atomic.Int64)
	once := c.once
	c.once = func(fd uintptr) bool { looks.Add(1); return once(fd) }
	return c, far.(*net.TCPConn), looks
}

func listen(t *testing.T) *Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return &Listener{Below: l.(Below)}
}

// excite makes the next read of c look.
func excite(c *conn) {
	c.soon.Store(sure)
	c.of.last.Store(c)
}

func TestConnection(t *testing.T) {
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		c, peer, _ := connect(t, listen(t))
		excite(c)
		return c, peer, func() { c.Close(); peer.Close() }, nil
	})
}

func TestLooksWhereSomethingIsLikelyToCome(t *testing.T) {
	l := listen(t)
	c, peer, looks := connect(t, l)
	b := make([]byte, 10)
	read := func(c net.Conn, from net.Conn) {
		t.Helper()
		_, err := from.Write([]byte("x"))
		require.NoError(t, err)
		n, err := c.Read(b)
		require.NoError(t, err)
		require.Equal(t, "x", string(b[:n]))
	}

	read(c, peer)
	require.Zero(t, looks.Load(), "the first read")
	for range 100 * sure { // waits that are short, one pause of the machine aside
		read(c, peer)
	}
	require.NotZero(t, looks.Load(), "a busy connection")

	other, otherPeer, _ := connect(t, l)
	read(other, otherPeer)
	looks.Store(0)
	read(c, peer)
	require.Zero(t, looks.Load(), "another connection was read since")

	excite(c)
	c.soon.Store(0)
	read(c, peer)
	require.Zero(t, looks.Load(), "the waits before were long")
}

func TestALookEnds(t *testing.T) {
	type result struct {
		n   int
		err error
	}
	for _, tt := range []struct {
		name  string
		while func(c *conn, peer *net.TCPConn) error // done once c has looked
		check func(t *testing.T, got result)
	}{
		{"with bytes", func(_ *conn, peer *net.TCPConn) error { _, err := peer.Write([]byte("abc")); return err },
			func(t *testing.T, got result) { require.NoError(t, got.err); require.Equal(t, 3, got.n) }},
		{"with the end", func(_ *conn, peer *net.TCPConn) error { return peer.CloseWrite() },
			func(t *testing.T, got result) { require.Equal(t, result{0, io.EOF}, got) }},
		{"with a reset", func(_ *conn, peer *net.TCPConn) error { peer.SetLinger(0); return peer.Close() },
			func(t *testing.T, got result) {
				require.ErrorIs(t, got.err, syscall.ECONNRESET)
				require.IsType(t, &net.OpError{}, got.err)
				require.Equal(t, "read", got.err.(*net.OpError).Op)
			}},
		{"with a deadline", func(c *conn, _ *net.TCPConn) error { return c.SetReadDeadline(time.Unix(1, 0)) },
			func(t *testing.T, got result) { require.ErrorIs(t, got.err, os.ErrDeadlineExceeded) }},
		{"with Close", func(c *conn, _ *net.TCPConn) error { return c.Close() },
			func(t *testing.T, got result) { require.ErrorIs(t, got.err, net.ErrClosed) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, peer, _ := connect(t, listen(t))
			looking, once := make(chan bool, 1), c.once
			c.once = func(fd uintptr) bool {
				select {
				case looking <- true:
				default:
				}
				return once(fd)
			}
			excite(c)
			done := make(chan result, 1)
			go func() {
				n, err := c.Read(make([]byte, 10))
				done <- result{n, err}
			}()
			<-looking
			require.NoError(t, tt.while(c, peer))
			tt.check(t, <-done)
		})
	}
}

// What the other end says between two reads is met by a look for certain.
func TestALookMeets(t *testing.T) {
	c, peer, looks := connect(t, listen(t))
	excite(c)
	require.NoError(t, peer.SetLinger(0))
	require.NoError(t, peer.Close())
	_, err := c.Read(make([]byte, 10))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.EqualValues(t, 1, looks.Load())

	c, peer, looks = connect(t, listen(t))
	excite(c)
	require.NoError(t, peer.Close())
	_, err = c.Read(make([]byte, 10))
	require.Equal(t, io.EOF, err)
	require.EqualValues(t, 1, looks.Load())
}

// Two reads at once are allowed: one of them looks at most.
func TestTwoReads(t *testing.T) {
	c, peer, _ := connect(t, listen(t))
	got := make(chan int, 2)
	for range 2 {
		go func() {
			sum, b := 0, make([]byte, 1)
			for {
				excite(c)
				n, err := c.Read(b)
				if sum += n; err != nil {
					got <- sum
					return
				}
			}
		}()
	}
	const total = 5000
	_, err := peer.Write(make([]byte, total))
	require.NoError(t, err)
	require.NoError(t, peer.Close())
	require.Equal(t, total, <-got+<-got)
}

func TestListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	if runtime.GOMAXPROCS(0) == 1 {
		require.Same(t, l, Listen(l))
		return
	}
	eager := Listen(l).(*Listener)
	require.NoError(t, eager.SetDeadline(time.Unix(1, 0)))
	_, err = eager.Accept()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)

	bare := struct{ net.Listener }{l}
	require.Equal(t, bare, Listen(bare), "one without deadlines")
}

func TestALookAllocatesNothing(t *testing.T) {
	c, peer, _ := connect(t, listen(t))
	b := make([]byte, 1)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		excite(c)
		_, err := peer.Write(b)
		require.NoError(t, err)
		_, err = c.Read(b)
		require.NoError(t, err)
	}))
}
