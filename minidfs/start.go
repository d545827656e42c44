package minidfs

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
)

// Start starts a cluster for a test. When the test ends the cluster is checked for consistency, stopped, and searched
// for goroutines, connections, listeners, open files and folders that it left behind; anything found fails the test. Logs
// go to the test's.
//
// With MINIDFS_URI=hdfs://host:port[,host:port] in the environment, or a logical name that HADOOP_CONF_DIR explains, Start
// attaches to that HDFS instead; Path then keeps tests apart, and verbs that would break something skip the test.
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
		return attach(t, conf, uri, os.Getenv("HADOOP_CONF_DIR"))
	}
	c, err := start(context.Background(), conf, t)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(func() { c.finish(t) })
	return c
}

// attach makes a Cluster of an HDFS that runs elsewhere.
func attach(t TB, conf *config, uri, confDir string) *Cluster {
	t.Helper()
	addrs, err := Resolve(uri, confDir)
	if err != nil {
		t.Fatalf("%v: it is from MINIDFS_URI", err)
		return nil
	}
	if conf.shapes() {
		t.Skipf("minidfs: the test's options need a cluster of our own; MINIDFS_URI names %s", uri)
	}
	if err := conf.complete(); err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	c := newCluster(conf, t)
	c.addrs, c.attached = addrs, true
	t.Cleanup(func() { c.finish(t) })
	if err := c.load(context.Background()); err != nil {
		t.Fatalf("%v", err)
	}
	return c
}

// finish is the cleanup of a test's cluster, or of a test's part in one.
func (c *Cluster) finish(t TB) {
	t.Helper()
	if c.isClosed() && !c.shared {
		t.Logf("minidfs: the test has closed the cluster itself: it was not checked for consistency")
	} else if c.conf.noCheck == "" {
		if err := c.Check(); err != nil {
			t.Errorf("minidfs: the cluster is not consistent at the end of the test: %v", err)
		}
	}
	if c.shared || c.attached {
		if err := c.forget(); err != nil {
			t.Logf("minidfs: the directory of the test stays: %v", err)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("minidfs: stopping the cluster: %v", err)
	}
	if !c.shared {
		if leaks := append(c.end.leaks, c.remains()...); len(leaks) > 0 {
			t.Errorf("minidfs: left behind when the cluster was stopped:\n  %s", strings.Join(leaks, "\n  "))
		}
	}
	if t.Failed() && !c.attached {
		t.Logf("minidfs: seed %d; Seed(%d) repeats the cluster's random choices", c.conf.seed, c.conf.seed)
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

// String names the cluster in logs.
func (c *core) String() string { return fmt.Sprintf("minidfs %s", c.id) }
