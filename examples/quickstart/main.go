package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/minidfs"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, files []string) (err error) {
	begin := time.Now()
	c, err := minidfs.New(ctx) // 1 namenode, 3 datanodes, everything in memory
	if err != nil {
		return err
	}
	defer func() {
		begin := time.Now()
		err = errors.Join(err, c.Close())
		fmt.Fprintf(out, "stopped in %v\n", time.Since(begin).Round(time.Microsecond))
	}()
	fmt.Fprintf(out, "started in %v: %s, datanodes", time.Since(begin).Round(time.Microsecond), c.URI())
	for _, d := range c.DataNodes() {
		fmt.Fprintf(out, " %s=%s", d.ID(), d.Addr())
	}
	fmt.Fprintln(out)

	fs := c.Client(c.Superuser())
	if err := fs.Mkdir(ctx, "/in", 0o755); err != nil {
		return err
	}
	if len(files) == 0 {
		return show(ctx, out, fs, "/in/generated", generated())
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = show(ctx, out, fs, "/in/"+filepath.Base(name), f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// generated is 64 MB that never repeat, the same at every run.
func generated() io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{}), 64<<20)
}

// show copies in to HDFS, reads it back, compares, and prints what happened. Small blocks make for several of them.
func show(ctx context.Context, out io.Writer, fs *client.Client, path string, in io.Reader) error {
	begin := time.Now()
	w, err := fs.Create(ctx, path, client.BlockSize(16<<20))
	if err != nil {
		return err
	}
	written := sha256.New()
	size, err := io.Copy(w, io.TeeReader(in, written))
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := w.Close(); err != nil {
		return err
	}
	writeTime := time.Since(begin)

	begin = time.Now()
	r, err := fs.Open(ctx, path)
	if err != nil {
		return err
	}
	read := sha256.New()
	_, err = io.Copy(read, r)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d bytes, written in %v (%s), read in %v (%s), ", path, size,
		writeTime.Round(time.Microsecond), rate(size, writeTime), time.Since(begin).Round(time.Microsecond), rate(size, time.Since(begin)))
	if !same(written, read) {
		fmt.Fprintln(out, "and DIFFERENT")
		return fmt.Errorf("%s: what was read is not what was written", path)
	}
	fmt.Fprintln(out, "the same bytes")

	blocks, err := fs.Locations(ctx, path)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		fmt.Fprintf(out, "  %v, bytes %d to %d, on", b.Block, b.Offset, b.Offset+b.Len)
		for _, r := range b.Replicas {
			fmt.Fprintf(out, " %v", r.DatanodeID)
		}
		fmt.Fprintln(out)
	}
	return nil
}

func same(a, b hash.Hash) bool { return string(a.Sum(nil)) == string(b.Sum(nil)) }

func rate(n int64, d time.Duration) string {
	return fmt.Sprintf("%.0f MB/s with hashing", float64(n)/1e6/d.Seconds())
}
