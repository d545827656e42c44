package minidfs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/datanode"
	"github.com/minidfs/go-minidfs/minidfs"
)

// A program has an HDFS of its own.
func ExampleNew() {
	ctx := context.Background()
	c, err := minidfs.New(ctx, minidfs.DataNodes(1), minidfs.Superuser("root"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fs := c.Client("root")
	if err := fs.WriteFile(ctx, "/greeting", []byte("hello")); err != nil {
		fmt.Println(err)
	}
	data, err := fs.ReadFile(ctx, "/greeting")
	fmt.Println(string(data), err)
	// Output: hello <nil>
}

// A file system begins with files in it.
func ExampleFiles() {
	ctx := context.Background()
	tree := fstest.MapFS{"in/part-0": {Data: []byte("a\nb\n"), Mode: 0o644}}
	c, err := minidfs.New(ctx, minidfs.Files(tree), minidfs.MemNet(), minidfs.Superuser("root"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	info, err := c.Client("alice").Stat(ctx, "/in/part-0")
	fmt.Println(err, info.Name(), info.Size(), info.Mode())
	// Output: <nil> part-0 4 -rw-r--r--
}

// Nodes die and come back; what was acknowledged is there.
func ExampleDataNode() {
	ctx := context.Background()
	c, err := minidfs.New(ctx, minidfs.MemNet(), minidfs.Superuser("root"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fs := c.Client("root")
	fmt.Println(fs.WriteFile(ctx, "/f", []byte("x")))
	fmt.Println(c.DataNode("dn1").Kill(), c.DataNode("dn2").Kill())
	data, err := fs.ReadFile(ctx, "/f")
	fmt.Println(string(data), err)
	fmt.Println(c.DataNode("dn1").Start(ctx), c.Check())
	// Output:
	// <nil>
	// <nil> <nil>
	// x <nil>
	// <nil> <nil>
}

// A writer's Close is held at the namenode, at the moment before its file is complete.
func ExampleCluster_Inject() {
	ctx := context.Background()
	c, err := minidfs.New(ctx, minidfs.MemNet(), minidfs.Superuser("root"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	held := c.Inject(minidfs.Fault{Node: "nn1", Method: "complete", User: "alice", Hold: true})
	fs, path := c.Client("alice"), c.Path("f")
	done := make(chan error)
	go func() { done <- fs.WriteFile(ctx, path, []byte("x")) }()
	fmt.Println(held.Wait(ctx, 1))
	closed, err := fs.IsFileClosed(ctx, path)
	fmt.Println(closed, err)
	held.Release()
	fmt.Println(<-done, held.Count())
	// Output:
	// <nil>
	// false <nil>
	// <nil> 1
}

// A Fault picks what datanodes are about to do: the first operation that reads, and every ack of dn2 for the end of a block.
func ExampleFault() {
	ctx := context.Background()
	c, err := minidfs.New(ctx, minidfs.MemNet(), minidfs.Superuser("root"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	reads := c.Inject(minidfs.Fault{Data: datanode.EventOp, Times: 1, Err: errors.New("not today"), Match: func(e *datanode.Event) bool {
		return e.Op == datanode.OpReadBlock
	}})
	acks := c.Inject(minidfs.Fault{Data: datanode.EventAck, Node: "dn2", Match: func(e *datanode.Event) bool {
		if e.Last {
			e.Status = datanode.StatusError
		}
		return e.Last
	}})
	fs, path := c.Client("alice"), c.Path("f")
	fmt.Println(fs.WriteFile(ctx, path, []byte("hello")), acks.Count()) // goes on without dn2
	data, err := fs.ReadFile(ctx, path)
	fmt.Println(string(data), err, reads.Count()) // goes on at the next datanode
	// Output:
	// <nil> 1
	// hello <nil> 1
}

// The network between two hosts is slow.
func ExampleNet_Delay() {
	ctx := context.Background()
	c, err := minidfs.New(ctx, minidfs.MemNet(), minidfs.Superuser("root"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	c.Net().Delay(minidfs.ClientHost, "nn1", 30*time.Millisecond)
	began := time.Now()
	_, err = c.Client("root").Stat(ctx, "/")
	fmt.Println(err, time.Since(began) >= 30*time.Millisecond)
	// Output: <nil> true
}

// In tests: the cluster is checked, stopped and searched for leaks when the test ends.
func ExampleStart() {
	_ = func(t *testing.T) {
		c := minidfs.Start(t, minidfs.DataNodes(5), minidfs.Racks("/r1", "/r2"), minidfs.MemNet())
		near := c.Client("alice", c.On("dn2")) // sits on dn2's machine
		if err := near.WriteFile(t.Context(), c.Path("f"), []byte("x"), client.Replication(2)); err != nil {
			t.Fatal(err)
		}
	}
}

// One cluster for a package: TestMain makes it, each test has its part.
func ExampleCluster_For() {
	var cluster *minidfs.Cluster
	_ = func(m *testing.M) { // TestMain
		var err error
		if cluster, err = minidfs.New(context.Background()); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		code := m.Run()
		if err := cluster.Close(); err != nil {
			fmt.Println(err)
		}
		os.Exit(code)
	}
	_ = func(t *testing.T) { // a test
		c := cluster.For(t)
		if err := c.Client("alice").WriteFile(t.Context(), c.Path("f"), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
}
