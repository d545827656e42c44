package gotest

import (
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/colinmarc/hdfs/v2"
	"github.com/minidfs/go-minidfs/minidfs"
	"github.com/stretchr/testify/require"
)

// store makes the public Go client a Store.
type store struct{ *hdfs.Client }

func (s store) Create(name string) (io.WriteCloser, error) { return s.Client.Create(name) }

func connect(t *testing.T, c *minidfs.Cluster, user string) store {
	t.Helper()
	client, err := hdfs.NewClient(hdfs.ClientOptions{
		Addresses:        c.Addrs(),
		User:             user,
		NamenodeDialFunc: c.Dial, // needed with MemNet only
		DatanodeDialFunc: c.Dial,
	})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return store{client}
}

func TestPublish(t *testing.T) {
	c := minidfs.Start(t)
	alice := connect(t, c, "alice")
	require.NoError(t, Publish(alice, c.Path(""), "daily", []string{"one", "two"}))

	got, err := alice.ReadFile(c.Path("daily"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(got))
}

// TestPublishInMemory needs no sockets: the client connects through the cluster.
func TestPublishInMemory(t *testing.T) {
	c := minidfs.Start(t, minidfs.MemNet(), minidfs.DataNodes(1))
	alice := connect(t, c, "alice")
	require.NoError(t, Publish(alice, c.Path(""), "daily", []string{"one"}))

	got, err := c.Client("bob").ReadFile(t.Context(), c.Path("daily"))
	require.NoError(t, err)
	require.Equal(t, "one\n", string(got))
}

func TestPublishWithoutPermission(t *testing.T) {
	c := minidfs.Start(t)
	dir := c.Path("private")
	require.NoError(t, c.Client(c.Superuser()).Mkdir(t.Context(), dir, 0o700))

	err := Publish(connect(t, c, "alice"), dir, "daily", []string{"one"})
	require.ErrorIs(t, err, os.ErrPermission)

	_, err = c.Client(c.Superuser()).Stat(t.Context(), dir+"/daily")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
