package memnet

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/minidfs/go-minidfs/internal/dfs"
)

// kinds are the networks that must behave alike.
var kinds = map[string]func(n *Network, name string) *Host{
	"memory": (*Network).Host,
	"wrapped": func(n *Network, name string) *Host {
		return n.Wrap(name, dfs.NetDial, net.Listen)
	},
	"near": func(n *Network, name string) *Host {
		return n.Wrap(name, dfs.NetDial, net.Listen).Near(netip.MustParseAddr("127.0.0.1"))
	},
}

// each runs a test on both kinds.
func each(t *testing.T, f func(t *testing.T, n *Network, host func(name string) *Host)) {
	for name, host := range kinds {
		t.Run(name, func(t *testing.T) {
			n := New(Options{})
			defer n.Close()
			f(t, n, func(name string) *Host { return host(n, name) })
		})
	}
}

// connect makes a connection from one host to another; a byte each way has told both who the other is.
func connect(t testing.TB, from, to *Host) (near, far net.Conn) {
	t.Helper()
	l, err := to.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	near, err = from.Dial(context.Background(), "tcp", l.Addr().String())
	require.NoError(t, err)
	far, err = l.Accept()
	require.NoError(t, err)
	say(t, near, far, "?")
	say(t, far, near, "!")
	return near, far
}

func say(t testing.TB, from, to net.Conn, text string) {
	t.Helper()
	_, err := from.Write([]byte(text))
	require.NoError(t, err)
	hear(t, to, text)
}

func hear(t testing.TB, c net.Conn, text string) {
	t.Helper()
	b := make([]byte, len(text))
	_, err := io.ReadFull(c, b)
	require.NoError(t, err)
	require.Equal(t, text, string(b))
}

func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
			near, far := connect(t, host("a"), host("b"))
			return near, far, func() { near.Close(); far.Close() }, nil
		})
		require.Empty(t, n.Conns())
	})
}

// With rules in force everything takes the long way: pumps, marks, copies.
func TestConformanceUnderRules(t *testing.T) {
	each(t, func(t *testing.T, n *Network, host func(string) *Host) {
		n.Delay("a", "b", 1)
		n.Corrupt("b", "a", func([]byte) {})
		nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
			near, far := connect(t, host("a"), host("b"))
			return near, far, func() { near.Close(); far.Close() }, nil
		})
		require.Empty(t, n.Conns())
	})
}
