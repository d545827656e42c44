package memnet

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// silence holds that nothing comes for a little while.
func silence(t testing.TB, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	n, err := c.Read(make([]byte, 100))
	require.Zero(t, n)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, c.SetReadDeadline(time.Time{}))
}

func TestPartitionStallsAndHealDelivers(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		other, others := connect(t, host("a"), host("c"))
		n.Partition([]string{"a"}, []string{"b", "x"})
		for _, c := range []net.Conn{near, far} {
			_, err := c.Write([]byte("held "))
			require.NoError(t, err)
		}
		silence(t, near)
		silence(t, far)
		say(t, other, others, "elsewhere all is well")
		_, err := near.Write([]byte("back"))
		require.NoError(t, err)
		require.NoError(t, near.Close())
		silence(t, far)
		n.HealBetween([]string{"b"}, []string{"a"})
		b, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "held back", string(b))
		for _, c := range []net.Conn{far, other, others} {
			require.NoError(t, c.Close())
		}
		require.Empty(t, n.Conns())
	})
}

func TestBytesThatHadArrivedStay(t *testing.T) {
	n := New(Options{})
	near, far := connect(t, n.Host("a"), n.Host("b"))
	_, err := near.Write([]byte("there"))
	require.NoError(t, err)
	n.Stall("a", "b")
	hear(t, far, "there")
	silence(t, far)
	say(t, far, near, "the other direction is open")
}

func TestDialWaitsForHeal(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		l, err := host("b").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		for name, rule := range map[string]func(){
			"partition":         func() { n.Partition([]string{Any}, []string{"b"}) },
			"no way back":       func() { n.Stall("b", "a") },
			"black hole":        func() { n.Blackhole("a", "b") },
			"black hole back":   func() { n.Blackhole("b", Any) },
			"nothing gets away": func() { n.Stall("a", Any) },
		} {
			rule()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
			_, err := host("a").Dial(ctx, "tcp", l.Addr().String())
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			dialled := make(chan error)
			go func() {
				c, err := host("a").Dial(context.Background(), "tcp", l.Addr().String())
				if err == nil {
					err = c.Close()
				}
				dialled <- err
			}()
			n.Heal()
			require.NoError(t, <-dialled, name)
		}
	})
}

func TestBlackhole(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		idle, idles := connect(t, host("a"), host("b"))
		sent := n.Sent("a", "b")
		n.Blackhole("a", "b")
		_, err := near.Write(make([]byte, 16<<20)) // more than any buffer holds
		require.NoError(t, err)
		require.Equal(t, sent+(16<<20), n.Sent("a", "b"))
		silence(t, far)
		say(t, far, near, "the other direction is open")
		n.Heal()
		_, err = near.Write([]byte("a stream with a hole would be no stream"))
		require.NoError(t, err)
		silence(t, far)
		require.NoError(t, near.Close())
		silence(t, far)
		say(t, idle, idles, "what lost nothing lives on")
		for _, c := range []net.Conn{far, idle, idles} {
			require.NoError(t, c.Close())
		}
	})
}

func TestCut(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		other, others := connect(t, host("a"), host("c"))
		n.Partition([]string{"a"}, []string{"b"})
		waiting := make(chan error)
		go func() {
			_, err := far.Read(make([]byte, 1))
			waiting <- err
		}()
		require.Equal(t, 2, n.Cut("b", "a"))
		require.ErrorIs(t, <-waiting, syscall.ECONNRESET)
		_, err := near.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = near.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		say(t, other, others, "elsewhere all is well")
		require.NoError(t, near.Close())
		require.NoError(t, far.Close())
		_, err = near.Read(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
		require.Zero(t, n.Cut("a", "b"))
		require.Equal(t, 2, n.Cut("a", Any))
		require.NoError(t, other.Close())
		require.NoError(t, others.Close())
		require.Empty(t, n.Conns())
	})
}

func TestCorrupt(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		defer near.Close()
		defer far.Close()
		n.Corrupt("a", "b", func(b []byte) {
			for i := range b {
				b[i] ^= 0x20
			}
		})
		mine := []byte("Hello")
		_, err := near.Write(mine)
		require.NoError(t, err)
		hear(t, far, "hELLO")
		require.Equal(t, "Hello", string(mine))
		say(t, far, near, "Hello")
		n.Corrupt("a", "b", nil)
		say(t, near, far, "Hello")
	})
}

func TestDownAndUp(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		dial := func(from, to string) error {
			c, err := host(from).Dial(context.Background(), "tcp", to)
			if err == nil {
				err = c.Close()
			}
			return err
		}
		near, far := connect(t, host("a"), host("b"))
		l, err := host("b").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		mine, err := host("a").Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		n.Down("b")
		_, err = near.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = far.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.ErrorIs(t, dial("a", l.Addr().String()), syscall.ECONNREFUSED)
		require.ErrorIs(t, dial("b", mine.Addr().String()), syscall.ENETDOWN)
		_, err = host("b").Listen("tcp", "127.0.0.1:0")
		require.ErrorIs(t, err, syscall.ENETDOWN)
		require.NoError(t, dial("c", mine.Addr().String()))
		n.Up("b")
		require.NoError(t, dial("a", l.Addr().String()))
		require.NoError(t, dial("b", mine.Addr().String()))
		for _, c := range []io.Closer{near, far, l, mine} {
			require.NoError(t, c.Close())
		}
		require.Empty(t, n.Conns())
	})
}

// A rule for Any spares what a host sends to itself; a rule by name does not.
func TestAny(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		self, selfs := connect(t, host("a"), host("a"))
		near, far := connect(t, host("a"), host("b"))
		n.Partition([]string{"a"}, []string{Any})
		say(t, self, selfs, "to myself")
		_, err := near.Write([]byte("out"))
		require.NoError(t, err)
		silence(t, far)
		n.HealBetween([]string{"a"}, []string{"b"})
		silence(t, far)
		n.HealBetween([]string{Any}, []string{"a"})
		hear(t, far, "out")
		n.Stall("a", "a")
		_, err = self.Write([]byte("?"))
		require.NoError(t, err)
		silence(t, selfs)
		n.Heal()
		hear(t, selfs, "?")
		for _, c := range []net.Conn{self, selfs, near, far} {
			require.NoError(t, c.Close())
		}
	})
}

func TestCounts(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		say(t, near, far, "12345")
		read := make(chan error)
		go func() {
			_, err := io.ReadFull(near, make([]byte, 100_000))
			read <- err
		}()
		_, err := far.(io.ReaderFrom).ReadFrom(bytes.NewReader(make([]byte, 100_000)))
		require.NoError(t, <-read)
		require.NoError(t, err)
		require.Equal(t, int64(6), n.Sent("a", "b"))
		require.Equal(t, int64(100_001), n.Sent("b", "a"))
		require.Zero(t, n.Sent("a", "c"))
		_, conns := n.Open("a")
		require.Equal(t, 1, conns)
		require.Len(t, n.Conns(), 2)
		require.Equal(t, "a "+near.LocalAddr().String()+" -> b "+near.RemoteAddr().String(), n.Conns()[0])
		require.NoError(t, near.Close())
		_, conns = n.Open(Any)
		require.Equal(t, 1, conns)
		require.NoError(t, far.Close())
		require.Empty(t, n.Conns())
	})
}

func TestAddresses(t *testing.T) {
	n := New(Options{OwnIPs: true, FirstPort: 30000})
	a, b := n.Host("a"), n.Host("b")
	require.Equal(t, []string{"127.0.1.1", "127.0.1.2"}, []string{a.IP(), b.IP()})
	require.Same(t, a, n.Host("a"))
	l, err := b.Listen("tcp", ":0")
	require.NoError(t, err)
	require.Equal(t, "127.0.1.2:30000", l.Addr().String())
	for _, addr := range []string{"127.0.1.2:30000", "b:30000"} {
		c, err := a.Dial(context.Background(), "tcp", addr)
		require.NoError(t, err)
		require.Equal(t, "127.0.1.1", c.LocalAddr().(*net.TCPAddr).IP.String())
		require.NoError(t, c.Close())
	}
	for addr, want := range map[string]string{
		"127.0.1.2":         "dial tcp: address 127.0.1.2: missing port in address",
		"elsewhere:1":       "dial tcp: lookup elsewhere: no such host",
		"127.0.1.2:30001":   "dial tcp 127.0.1.2:30001: connect: connection refused",
		"192.168.0.1:30000": "dial tcp: memnet: 192.168.0.1 is not a loopback address",
	} {
		_, err := a.Dial(context.Background(), "tcp", addr)
		require.ErrorContains(t, err, want)
	}
	_, err = a.Dial(context.Background(), "udp", "127.0.1.2:30000")
	require.EqualError(t, err, "dial tcp 127.0.1.2:30000: unknown network udp")
	_, err = a.Listen("udp", ":0")
	require.Error(t, err)

	// a host that is cut off does not even refuse
	n.Partition([]string{"a"}, []string{"b"})
	require.NoError(t, l.Close())
	for _, addr := range []string{"127.0.1.2:30000", "127.0.1.2:1"} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		_, err = a.Dial(ctx, "tcp", addr)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}
