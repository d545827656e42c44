package minidfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minidfs/go-minidfs/client"
)

// Client gives a client for a user, closed with the cluster. Options come after the cluster's own settings. Where there
// can be no client, in a test the test ends, elsewhere the client answers every call with the reason, ErrClosed once the
// cluster is closed.
func (c *Cluster) Client(user string, options ...func(*client.Options)) *client.Client {
	fs, reason := c.NewClient(user, options...)
	if reason == nil {
		return fs
	}
	if !errors.Is(reason, ErrClosed) {
		c.fail("%v", reason)
	}
	fs, err := client.New(client.Options{Addrs: []string{"127.0.0.1:0"}, User: "nobody"})
	if err == nil {
		err = fs.CloseCause(reason)
	}
	if err != nil {
		c.fail("%v", err)
	}
	return fs
}

// NewClient is Client with an error.
func (c *Cluster) NewClient(user string, options ...func(*client.Options)) (*client.Client, error) {
	o := client.Options{Addrs: c.addrs, User: user, Dial: c.Dial, Logger: c.log.With("client", user)}
	for _, f := range options {
		f(&o)
	}
	if user == "" {
		return nil, errors.New(`minidfs: Client(""): name a user`)
	}
	fs, err := client.New(o)
	if err != nil {
		return nil, fmt.Errorf("minidfs: Client(%q): %w", user, err)
	}
	closed := c.isClosed()
	c.views.Lock()
	if closed = closed || c.left; !closed {
		c.clients = append(c.clients, fs)
	}
	c.views.Unlock()
	if closed {
		return nil, errors.Join(fmt.Errorf("minidfs: Client(%q): %w", user, ErrClosed), fs.Close())
	}
	return fs, nil
}

// root is a client of the superuser's for the cluster's own verbs.
func (c *Cluster) root() (*client.Client, error) {
	c.views.Lock()
	fs := c.admin
	c.views.Unlock()
	if fs != nil {
		return fs, nil
	}
	fs, err := c.NewClient(c.Superuser())
	if err != nil {
		return nil, err
	}
	c.views.Lock()
	defer c.views.Unlock()
	c.admin = fs
	return fs, nil
}

// Dial opens a connection to a node of the cluster, in memory or not. Other Go clients take it as their dial function.
func (c *Cluster) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.host(clientHost, loopback, nil).Dial(ctx, network, addr)
}

// On makes a client sit on a datanode's machine: its first replicas go there. It needs MemNet or OwnAddresses, because
// otherwise all nodes share one address.
func (c *Cluster) On(datanode string) func(*client.Options) {
	return func(o *client.Options) {
		d := c.find(datanode)
		switch {
		case d == nil:
			c.fail("minidfs: On(%q): there is no such datanode", datanode)
		case !c.apart():
			c.fail("minidfs: On(%q): all datanodes share the address %s: give the cluster OwnAddresses or MemNet", datanode, loopback)
		default:
			o.Dial = d.host.Guest(clientHost).Dial
		}
	}
}

// For gives the cluster to one test of several that share it, in a package whose TestMain has made it with New, say. The
// test has a directory of its own under Path, and clients that end with it; when it ends, the cluster is checked for
// consistency and the directory is removed. Its Close closes the clients only.
func (c *Cluster) For(t TB) *Cluster {
	t.Helper()
	mine := &Cluster{core: c.core, t: t, shared: true}
	t.Cleanup(func() { mine.finish(t) })
	return mine
}

// Path is name under a directory of this Start's own, or of this For's, made when first asked for and open to every user,
// so that tests that share a cluster or a real HDFS do not meet.
func (c *Cluster) Path(name string) string {
	dir, err := c.directory()
	if err != nil {
		c.fail("minidfs: Path(%q): %v", name, err)
	}
	return path.Join(dir, name)
}

func (c *Cluster) directory() (string, error) {
	c.views.Lock()
	dir := c.dir
	c.views.Unlock()
	if dir != "" {
		return dir, nil
	}
	c.mu.Lock()
	c.core.views++
	dir = fmt.Sprintf("/tmp/minidfs-%s-%d", c.id, c.core.views)
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	fs, err := c.root()
	if err != nil {
		return dir, err
	}
	if err := fs.MkdirAll(ctx, dir, 0o777); err != nil {
		return dir, err
	}
	if err := fs.Chmod(ctx, dir, 0o777|os.ModeSticky); err != nil {
		return dir, err
	}
	c.views.Lock()
	defer c.views.Unlock()
	if c.dir == "" { // nobody was quicker
		c.dir = dir
	}
	return c.dir, nil
}

// forget removes the directory of Path.
func (c *Cluster) forget() error {
	c.views.Lock()
	dir, left := c.dir, c.left
	c.dir = ""
	c.views.Unlock()
	if dir == "" || left {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), forgetTimeout)
	defer cancel()
	fs, err := c.root()
	if err != nil {
		return err
	}
	err = fs.RemoveAll(ctx, dir)
	if errors.Is(err, client.ErrSnapshot) {
		if err = removeSnapshots(ctx, fs, dir); err == nil {
			err = fs.RemoveAll(ctx, dir)
		}
	}
	return err
}

// removeSnapshots deletes the snapshots of a directory and of all below it, which keep it from being removed.
func removeSnapshots(ctx context.Context, fs *client.Client, dir string) error {
	dirs, err := fs.SnapshottableDirs(ctx)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if d.Path != dir && !strings.HasPrefix(d.Path, dir+"/") {
			continue
		}
		snapshots, err := fs.Snapshots(ctx, d.Path)
		if err != nil {
			return err
		}
		for _, s := range snapshots {
			if err := fs.DeleteSnapshot(ctx, d.Path, s.Name()); err != nil {
				return err
			}
		}
		if err := fs.DisallowSnapshots(ctx, d.Path); err != nil {
			return err
		}
	}
	return nil
}

// forgetTimeout bounds the removal of a test's directory, for clusters that no longer answer.
const forgetTimeout = 5 * time.Second
