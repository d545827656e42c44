package minidfs

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"github.com/minidfs/go-minidfs/internal/memnet"
)

// Start starts a cluster for a test. When the test ends the cluster is checked for consistency, stopped, and searched
// for goroutines, connections and listeners that it left behind; anything found fails the test. Logs go to the test's.
//
// With MINIDFS_URI=hdfs://host:port[,host:port] in the environment, Start attaches to that HDFS instead; Path then keeps
// tests apart, and verbs that would break something skip the test.
func Start(t TB, options ...Option) *Cluster {
	t.Helper()
	conf, err := newConfig(options)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	sink := &testLog{t: t}
	t.Cleanup(func() { sink.closed.Store(true) })
	if conf.logger == nil {
		conf.logger = slog.New(slog.NewTextHandler(sink, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	if uri := os.Getenv("MINIDFS_URI"); uri != "" {
		c, err := attach(conf, uri, t)
		if err != nil {
			t.Fatalf("%v", err)
			return nil
		}
		t.Cleanup(func() { c.leave() })
		return c
	}
	c, err := start(context.Background(), conf, t)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(func() { c.end(t) })
	return c
}

// end is the cleanup of a test's cluster.
func (c *Cluster) end(t TB) {
	t.Helper()
	if c.conf.noCheck == "" {
		if err := c.Check(); err != nil {
			t.Errorf("minidfs: the cluster is not consistent at the end of the test: %v", err)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("minidfs: stopping the cluster: %v", err)
	}
	if stacks := leftovers(c.id); stacks != "" {
		t.Errorf("minidfs: goroutines are left after the cluster was stopped:\n%s", stacks)
	}
	if open := c.net.Conns(); len(open) > 0 {
		t.Errorf("minidfs: connections are left after the cluster was stopped: %s", strings.Join(open, ", "))
	}
	if t.Failed() {
		t.Logf("minidfs: seed %d; Seed(%d) repeats the cluster's random choices", c.conf.seed, c.conf.seed)
	}
}

// attach makes a Cluster of an HDFS that runs elsewhere.
func attach(conf *config, uri string, t TB) (*Cluster, error) {
	u, err := url.Parse(strings.Split(uri, ",")[0])
	if err != nil || u.Scheme != "hdfs" || u.Port() == "" {
		return nil, fmt.Errorf("minidfs: MINIDFS_URI=%q: write hdfs://host:port, or hdfs://host:port,host:port for several namenodes", uri)
	}
	if err := conf.complete(); err != nil {
		return nil, err
	}
	addrs := strings.Split(strings.TrimSuffix(strings.TrimPrefix(uri, "hdfs://"), "/"), ",")
	c := &Cluster{conf: conf, id: fmt.Sprintf("%x", randomSeed()), log: conf.logger, net: memnet.New(memnet.Options{}), addrs: addrs, attached: true, t: t}
	if conf.memory {
		c.own("MemNet")
	}
	if conf.files != nil {
		if err := loadTree(context.Background(), c.Client(c.Superuser()), conf.files, c.Path("")); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// leave removes what the test wrote on an attached HDFS, and closes the clients.
func (c *Cluster) leave() {
	if c.fresh != "" {
		if err := c.Client(c.Superuser()).RemoveAll(context.Background(), c.fresh); err != nil {
			c.log.Warn("minidfs: the test's directory stays", "dir", c.fresh, "err", err)
		}
	}
	if err := c.Close(); err != nil {
		c.log.Warn("minidfs: closing clients", "err", err)
	}
}

// testLog writes to a test's log until the test has ended: later lines would make package testing panic.
type testLog struct {
	t      TB
	closed atomic.Bool
}

func (l *testLog) Write(line []byte) (int, error) {
	if !l.closed.Load() {
		l.t.Logf("%s", strings.TrimRight(string(line), "\n"))
	}
	return len(line), nil
}
