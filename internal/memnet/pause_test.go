package memnet

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPause holds everything to and from one host; rules are another matter.
func TestPause(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		near, far := connect(t, host("a"), host("b"))
		other, others := connect(t, host("a"), host("c"))
		n.Pause("b")
		n.Heal()
		for _, c := range []net.Conn{near, far} {
			_, err := c.Write([]byte("held"))
			require.NoError(t, err)
		}
		silence(t, near)
		silence(t, far)
		say(t, other, others, "elsewhere all is well")
		n.Resume("b")
		hear(t, near, "held")
		hear(t, far, "held")
		n.Partition([]string{"a"}, []string{"b"})
		n.Pause("b")
		n.Resume("b")
		_, err := near.Write([]byte("x"))
		require.NoError(t, err)
		silence(t, far)
		n.Heal()
		hear(t, far, "x")
		for _, c := range []net.Conn{near, far, other, others} {
			require.NoError(t, c.Close())
		}
	})
}

// TestGuest has two hosts at one address, with fates of their own.
func TestGuest(t *testing.T) {
	n := New(Options{OwnIPs: true})
	defer n.Close()
	machine, server := n.Host("machine"), n.Host("server")
	guest := machine.Guest("guest")
	require.Equal(t, machine.IP(), guest.IP())
	near, far := connect(t, guest, server)
	n.Down("machine")
	say(t, near, far, "still there")
	host, _, err := net.SplitHostPort(far.RemoteAddr().String())
	require.NoError(t, err)
	require.Equal(t, machine.IP(), host)
	n.Cut("guest", Any)
	_, err = near.Read(make([]byte, 1))
	require.Error(t, err)
	require.NoError(t, near.Close())
	require.NoError(t, far.Close())
}
