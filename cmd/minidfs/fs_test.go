package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/minidfs"
)

// TestShell runs every command of the shell against a cluster.
func TestShell(t *testing.T) {
	t.Parallel()
	c := minidfs.Start(t, minidfs.Superuser("root"), minidfs.User("alice", "staff"), minidfs.Conf("dfs.blocksize", "1m"))
	local := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(local, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	a, b := write("a.txt", "alpha\n"), write("b.txt", "beta\n")
	folder := filepath.Join(local, "folder")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "sub", "empty"), 0o755))
	write("folder/one", "1")
	write("folder/sub/two", "22")
	big := write("big", strings.Repeat("0123456789abcdef", 100_000))

	tested := map[string]bool{}
	for i, step := range []struct {
		args string // of fs, separated by spaces
		in   string
		code int
		out  string // a regular expression for all of the output
		err  string // part of the error
	}{
		{args: "mkdir /d", out: ""},
		{args: "mkdir /d", code: 1, err: "FileAlreadyExists"},
		{args: "mkdir /x/y/z", code: 1, err: "/x"},
		{args: "mkdir -p /x/y/z /x/y"},
		{args: "put " + a + " " + b + " /d"},
		{args: "put " + a + " /d/a.txt", code: 1, err: "put /d/a.txt: file already exists"},
		{args: "put -f " + b + " /d/a.txt"},
		{args: "put " + a + " " + b + " /d/new", code: 1, err: "/d/new is no directory, and there are 2 files to copy"},
		{args: "put - /d/stdin", in: "from the input"},
		{args: "put " + filepath.Join(local, "none") + " /d", code: 1, err: "no such file"},
		{args: "put " + big + " /big"},
		{args: "put " + folder + " /f"},
		{args: "put " + folder + "/. /f"},
		{args: "put " + folder + " /f", code: 1, err: "put /f/folder/one: file already exists; put /f/folder/sub/two: file already exists"},
		{args: "rm /f/folder/one"},
		{args: "put " + folder + " /f", code: 1, err: "fs put: put /f/folder/sub/two: file already exists\n"},
		{args: "put -f " + folder + " /f"},
		{args: "put " + folder + " /none/f", code: 1, err: "/none"},
		{args: "put -r " + folder + " /r", code: 2, err: "there is no flag -r"},
		{args: "put " + folder + " /d/a.txt", code: 1, err: "/d/a.txt"},
		{args: "ls -R /f", out: `drwxr-xr-x   - root supergroup          0 .* /f/folder
-rw-r--r--   3 root supergroup          1 .* /f/folder/one
drwxr-xr-x   - root supergroup          0 .* /f/folder/sub
drwxr-xr-x   - root supergroup          0 .* /f/folder/sub/empty
-rw-r--r--   3 root supergroup          2 .* /f/folder/sub/two
-rw-r--r--   3 root supergroup          1 .* /f/one
drwxr-xr-x   - root supergroup          0 .* /f/sub
drwxr-xr-x   - root supergroup          0 .* /f/sub/empty
-rw-r--r--   3 root supergroup          2 .* /f/sub/two
`},
		{args: "cat /f/sub/two", out: "22"},
		{args: "rm -r /f"},
		{args: "cat /d/a.txt /d/stdin", out: "beta\nfrom the input"},
		{args: "cat /none /d/a.txt", code: 1, out: "beta\n", err: "FileNotFound"},
		{args: "get /d/a.txt -", out: "beta\n"},
		{args: "get /d/a.txt " + local, code: 1, err: "file exists"},
		{args: "get /d/a.txt " + filepath.Join(local, "copy")},
		{args: "get /none " + filepath.Join(local, "none"), code: 1, err: "FileNotFound"},
		{args: "ls /d", out: `-rw-r--r--   3 root supergroup          5 \d{4}-\d\d-\d\d \d\d:\d\d /d/a.txt
-rw-r--r--   3 root supergroup          5 .* /d/b.txt
-rw-r--r--   3 root supergroup         14 .* /d/stdin
`},
		{args: "ls -R /x", out: `drwxr-xr-x   - root supergroup          0 .* /x/y
drwxr-xr-x   - root supergroup          0 .* /x/y/z
`},
		{args: "ls /none", code: 1, err: "FileNotFound"},
		{args: "stat /big", out: `/big: -rw-r--r-- root:supergroup id=\d+ size=1600000 replication=3 blocksize=1048576 modified=.* read=.*
  blk_\d+_\d+ offset=0 length=1048576 on .*
  blk_\d+_\d+ offset=1048576 length=551424 on .*
`},
		{args: "du /d /big", out: "24  72  /d\n1600000  4800000  /big\n"},
		{args: "df", out: `capacity \d+ used \d+ remaining \d+\n`},
		{args: "chmod 1750 /d"},
		{args: "chmod 8 /d", code: 1, err: `"8" is no mode: write it in octal, from 0 to 1777`},
		{args: "chown alice:staff /d/b.txt"},
		{args: "chown :staff /d"},
		{args: "ls /", out: `(?s).*-rw-r--r--   3 root supergroup    1600000 .* /big
drwxr-x--T   - root staff          0 .* /d
drwxr-xr-x   - root supergroup          0 .* /x
`},
		{args: "mv /d/b.txt /x", out: ""},
		{args: "mv /big /x/b.txt", code: 1, err: "FileAlreadyExists"},
		{args: "mv -f /big /x/y", out: ""},
		{args: "mv -f /x/y/big /x/b.txt", out: ""},
		{args: "mv /none /x", code: 1, err: "/none"},
		{args: "mv /a /b /c", code: 1, err: "one source and one target are wanted"},
		{args: "fsck /", out: `(?s).* Total files:	3
.* Total blocks:	4
 Under-replicated blocks:	0
 Average block replication:	3.0
.*
The filesystem under path '/' is HEALTHY
`},
		{args: "rm /x", code: 1, err: "/x is a directory: add -r"},
		{args: "rm /none", code: 1, err: "FileNotFound"},
		{args: "rm -f /none"},
		{args: "rm -rf /x /none"},
		{args: "rm /d/a.txt /d/stdin"},
		{args: "ls /d", out: ""},
		{args: "-user alice mkdir /alices", code: 1, err: "Permission denied"},
	} {
		args := append([]string{"fs", "-uri", c.URI(), "-user", "root"}, strings.Fields(step.args)...)
		for _, word := range strings.Fields(step.args) {
			if !strings.HasPrefix(word, "-") && word != "alice" {
				tested[word] = true
				break
			}
		}
		var out, errs bytes.Buffer
		code := run(t.Context(), args, stdio{strings.NewReader(step.in), &out, &errs})
		require.Equal(t, step.code, code, "step %d: %s: %s", i, step.args, errs.String())
		require.Regexp(t, regexp.MustCompile("^"+step.out+"$"), out.String(), step.args)
		require.Contains(t, errs.String(), step.err, step.args)
		require.Equal(t, step.code, strings.Count(errs.String(), "\n"), "%s: %s", step.args, errs.String())
		if strings.HasPrefix(step.args, "put") { // the namenode may hear of the third replica a little later
			waitReplicated(t, c)
		}
	}
	for _, command := range shellCommands() {
		require.True(t, tested[command.name], "there is no test of fs %s", command.name)
	}
	text, err := os.ReadFile(filepath.Join(local, "copy"))
	require.NoError(t, err)
	require.Equal(t, "beta\n", string(text))
	require.NoFileExists(t, filepath.Join(local, "none"), "half a copy stays")
}

// TestPutStopped does not try what is left of a folder once it is told to stop.
func TestPutStopped(t *testing.T) {
	t.Parallel()
	c := minidfs.Start(t, minidfs.Superuser("root"))
	folder := t.TempDir()
	for _, name := range []string{"one", "three", "two"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(name), 0o644))
	}
	held := c.Inject(minidfs.Fault{Method: "create", After: 1, Hold: true})
	defer held.Remove()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		_ = held.Wait(ctx, 1)
	}()
	var errs bytes.Buffer
	require.Equal(t, exitError, run(ctx, []string{"fs", "-uri", c.URI(), "-user", "root", "put", folder, "/f"}, stdio{nil, io.Discard, &errs}))
	require.Contains(t, errs.String(), "/f/three")
	require.NotContains(t, errs.String(), "/f/two")
	text, err := c.Client("root").ReadFile(t.Context(), "/f/one")
	require.NoError(t, err)
	require.Equal(t, "one", string(text))
}

// waitReplicated waits until every file has its replicas.
func waitReplicated(t *testing.T, c *minidfs.Cluster) {
	t.Helper()
	root := c.Client("root")
	defer root.Close()
	err := root.Walk(t.Context(), "/", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return c.WaitReplicated(t.Context(), path, 3)
	})
	require.NoError(t, err)
}

// TestFsckUnhealthy finds what is missing.
func TestFsckUnhealthy(t *testing.T) {
	t.Parallel()
	c := minidfs.Start(t, minidfs.Superuser("root"), minidfs.Conf("dfs.namenode.heartbeat.recheck-interval", "100ms"), minidfs.Conf("dfs.heartbeat.interval", "50ms"))
	root := c.Client("root")
	require.NoError(t, root.WriteFile(t.Context(), "/one", []byte("x"), client.Replication(1)))
	require.NoError(t, root.WriteFile(t.Context(), "/more", []byte("x"), client.Replication(3)))
	require.NoError(t, c.WaitReplicated(t.Context(), "/more", 3))
	blocks, err := root.Locations(t.Context(), "/one")
	require.NoError(t, err)
	for _, d := range c.DataNodes() {
		if d.Addr() == blocks[0].Replicas[0].XferAddr() {
			require.NoError(t, d.Kill())
		}
	}
	for missing := 0; missing == 0; {
		require.NoError(t, c.TriggerMonitors(t.Context()))
		blocks, err := root.Locations(t.Context(), "/one")
		require.NoError(t, err)
		if len(blocks[0].Replicas) == 0 {
			missing++
		}
	}
	var out, errs bytes.Buffer
	require.Equal(t, exitError, run(t.Context(), []string{"fs", "-uri", c.URI(), "-user", "root", "fsck", "/"}, stdio{nil, &out, &errs}))
	require.Regexp(t, `/one: blk_\d+_\d+: MISSING`, out.String())
	require.Regexp(t, `/more: blk_\d+_\d+: Under replicated, 2 of 3 replicas`, out.String())
	require.Contains(t, out.String(), "The filesystem under path '/' is CORRUPT")
	require.Equal(t, "minidfs: fs fsck: blocks are missing or corrupt\n", errs.String())
}
