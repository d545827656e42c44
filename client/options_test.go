package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOptions(t *testing.T) {
	bad := []struct {
		o    Options
		want string
	}{
		{Options{}, "client: Options.Addrs is empty: name at least one namenode as host:port"},
		{Options{Addrs: []string{"host"}}, `client: namenode "host" is not host:port: address host: missing port in address`},
		{Options{Addrs: []string{"h:1"}, PacketSize: 1000}, "client: Options.PacketSize is 1000: it must be a multiple of 512, below 16 MiB"},
		{Options{Addrs: []string{"h:1"}, Window: -1}, "client: Options.Window is -1: at least one packet must be on its way"},
		{Options{Addrs: []string{"h:1"}, Replication: 1 << 15}, "client: Options.Replication is 32768"},
		{Options{Addrs: []string{"h:1"}, BlockSize: -1}, "client: Options.BlockSize is -1"},
	}
	for _, tt := range bad {
		_, err := New(tt.o)
		require.EqualError(t, err, tt.want)
	}
	one, err := Options{Addrs: []string{"h:1"}, User: "u"}.checked()
	require.NoError(t, err)
	require.Equal(t, 10*time.Second, one.RetryTimeout)
	two, err := Options{Addrs: []string{"h:1", "g:2"}, User: "u"}.checked()
	require.NoError(t, err)
	require.Equal(t, 2*time.Minute, two.RetryTimeout)

	a, err := New(Options{Addrs: []string{"h:1"}, User: "alice"})
	require.NoError(t, err)
	b, err := New(Options{Addrs: []string{"h:1"}})
	require.NoError(t, err)
	require.NotEqual(t, a.Name(), b.Name())
	require.Equal(t, "alice", a.User())
	require.NotEmpty(t, b.User())
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestPaths(t *testing.T) {
	c, err := New(Options{Addrs: []string{"h:1"}, User: "alice"})
	require.NoError(t, err)
	defer c.Close()
	for in, want := range map[string]string{
		"/": "/", "/a/": "/a", "//a//b": "/a/b", "/a/../b": "/b", "/..": "/", "a": "/user/alice/a", ".": "/user/alice", "": "",
	} {
		require.Equal(t, want, c.abs(in), in)
	}
	require.Equal(t, "/", base("/"))
	require.Equal(t, "b", base("/a/b"))
}
