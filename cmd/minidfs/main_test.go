package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/minidfs/go-minidfs/client"
)

// asCommand in the environment makes the test binary be the command.
const asCommand = "MINIDFS_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process is a running command.
type process struct {
	*exec.Cmd
	t   *testing.T
	out *bufio.Reader
	err bytes.Buffer
	tmp string
}

// spawn starts the command with a temporary folder of its own.
func spawn(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...), t: t, tmp: t.TempDir()}
	p.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+p.tmp)
	p.Stderr = &p.err
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	return p
}

// ready reads the line that says where the cluster is.
func (p *process) ready() ready {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		_ = p.Wait()
		p.t.Fatalf("no line: %v; %s", err, p.err.String())
	}
	var r ready
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	require.NoError(p.t, d.Decode(&r))
	return r
}

// exit waits for the end and gives code and output.
func (p *process) exit() (code int, out string) {
	p.t.Helper()
	text, err := io.ReadAll(p.out)
	require.NoError(p.t, err)
	err = p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.ProcessState.ExitCode(), string(text)
}

func (p *process) requireNothingLeft() {
	p.t.Helper()
	left, err := os.ReadDir(p.tmp)
	require.NoError(p.t, err)
	require.Empty(p.t, left)
}

func connect(t *testing.T, r ready, user string) *client.Client {
	t.Helper()
	fs, err := client.New(client.Options{Addrs: r.NameNodes, User: user})
	require.NoError(t, err)
	t.Cleanup(func() { fs.Close() })
	return fs
}

// TestServe starts, says where, serves, and stops at a signal.
func TestServe(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := spawn(t, "serve", "--datanodes", "2", "--superuser", "root", "-D", "dfs.blocksize=16m")
			r := p.ready()
			require.Len(t, r.NameNodes, 1)
			require.Equal(t, "hdfs://"+r.NameNodes[0], r.URI)
			require.Len(t, r.DataNodes, 2)
			require.FileExists(t, filepath.Join(r.ConfDir, "core-site.xml"))
			require.True(t, strings.HasPrefix(r.ConfDir, p.tmp))
			fs := connect(t, r, "root")
			require.NoError(t, fs.WriteFile(t.Context(), "/f", []byte("x")))
			info, err := fs.Stat(t.Context(), "/f")
			require.NoError(t, err)
			require.Equal(t, int64(16<<20), info.BlockSize)
			require.Equal(t, 2, info.Replication)

			began := time.Now()
			require.NoError(t, p.Process.Signal(signal))
			code, out := p.exit()
			require.Less(t, time.Since(began), 2*time.Second)
			require.Equal(t, exitOK, code, p.err.String())
			require.Empty(t, out, "more than the line")
			require.Empty(t, p.err.String())
			p.requireNothingLeft()
		})
	}
}

// TestServeBusy stops in time while clients write.
func TestServeBusy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := spawn(t, "serve", "--dir", dir, "--superuser", "root")
	r := p.ready()
	require.Equal(t, filepath.Join(dir, "conf"), r.ConfDir)
	fs := connect(t, r, "root")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		w, err := fs.Create(ctx, "/f")
		close(began)
		for err == nil {
			_, err = w.Write(make([]byte, 1<<20))
		}
		done <- err
	}()
	<-began
	at := time.Now()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	code, _ := p.exit()
	require.Equal(t, exitOK, code, p.err.String())
	require.Less(t, time.Since(at), 2*time.Second)
	cancel()
	require.Error(t, <-done)
}

// TestServePort listens where it is told to.
func TestServePort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	p := spawn(t, "serve", "--port", strconv.Itoa(port))
	code, out := p.exit()
	require.Equal(t, exitError, code)
	require.Empty(t, out)
	require.Equal(t, fmt.Sprintf("minidfs: nn1: port %d of 127.0.0.1 cannot be taken: bind: address already in use\n", port), p.err.String())
	p.requireNothingLeft()
	require.NoError(t, l.Close())

	p = spawn(t, "serve", "--port", strconv.Itoa(port), "--datanodes", "1")
	require.Equal(t, "hdfs://127.0.0.1:"+strconv.Itoa(port), p.ready().URI)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	code, _ = p.exit()
	require.Equal(t, exitOK, code)
}

// TestServeCommand runs a program against the cluster and passes on what it says.
func TestServeCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		code         int
		out          string
	}{
		{"success", `echo $MINIDFS_URI | grep -c '^hdfs://127.0.0.1:[0-9]*$'; ls $HADOOP_CONF_DIR`, 0, "1\ncore-site.xml\nhdfs-site.xml\n"},
		{"failure", "exit 7", 7, ""},
		{"the command itself", asCommand + `=1 "` + os.Args[0] + `" fs mkdir /d && ` + asCommand + `=1 "` + os.Args[0] + `" fs ls / | wc -l | tr -d ' '`, 0, "1\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := spawn(t, "serve", "--datanodes", "1", "--", "sh", "-c", test.script)
			code, out := p.exit()
			require.Equal(t, test.code, code, p.err.String())
			require.Equal(t, test.out, out)
			p.requireNothingLeft()
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		p := spawn(t, "serve", "--datanodes", "1", "--", "no-such-program")
		code, _ := p.exit()
		require.Equal(t, exitError, code)
		require.Equal(t, "minidfs: serve: exec: \"no-such-program\": executable file not found in $PATH\n", p.err.String())
	})
	t.Run("signal", func(t *testing.T) {
		t.Parallel()
		p := spawn(t, "serve", "--datanodes", "1", "--", "sh", "-c", "echo up; exec sleep 60")
		_, err := p.out.ReadString('\n')
		require.NoError(t, err)
		require.NoError(t, p.Process.Signal(syscall.SIGTERM))
		code, _ := p.exit()
		require.Equal(t, exitOK, code, p.err.String())
		p.requireNothingLeft()
	})
}

// TestServeFails says in one line what is wrong.
func TestServeFails(t *testing.T) {
	t.Parallel()
	notOurs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(notOurs, "thesis.txt"), nil, 0o644))
	used := filepath.Join(t.TempDir(), "used")
	holder := spawn(t, "serve", "--dir", used)
	holder.ready()
	damaged := filepath.Join(t.TempDir(), "damaged")
	p := spawn(t, "serve", "--dir", damaged, "--", "sh", "-c", asCommand+`=1 "`+os.Args[0]+`" fs mkdir /a /b /c /d /e`)
	code, _ := p.exit()
	require.Equal(t, exitOK, code, p.err.String())
	edits, err := filepath.Glob(filepath.Join(damaged, "nn1", "current", "edits_*"))
	require.NoError(t, err)
	require.Len(t, edits, 1)
	text, err := os.ReadFile(edits[0])
	require.NoError(t, err)
	text[len(text)/2] ^= 1
	require.NoError(t, os.WriteFile(edits[0], text, 0o644))

	for _, test := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"not ours", []string{"serve", "--dir", notOurs}, 1, []string{notOurs + " is not a minidfs folder and not empty (it has thesis.txt): give an empty or a new one"}},
		{"in use", []string{"serve", "--dir", used}, 1, []string{"nn1 cannot start: ", used, " is in use by process " + strconv.Itoa(holder.Process.Pid)}},
		{"damaged", []string{"serve", "--dir", damaged}, 1, []string{"nn1 cannot start: ", edits[0], "offset ", "tx"}},
		{"unknown key", []string{"serve", "-D", "dfs.block.size=1"}, 1, []string{"minidfs: the key dfs.block.size is not honoured; the nearest that is: dfs.blocksize"}},
		{"bad value", []string{"serve", "-D", "dfs.blocksize=much"}, 1, []string{"minidfs: dfs.blocksize=much: a size such as 1048576, 16m or 1g is wanted"}},
		{"no value", []string{"serve", "-D", "dfs.blocksize"}, 2, []string{"write -D key=value"}},
		{"bad port", []string{"serve", "--port", "70000"}, 1, []string{"minidfs: Port(70000): from 0 to 65535 are possible"}},
		{"bad number", []string{"serve", "--datanodes", "many"}, 2, []string{`invalid value "many" for flag -datanodes`}},
		{"unknown flag", []string{"serve", "--replicas", "3"}, 2, []string{"flag provided but not defined: -replicas; minidfs serve --help says more"}},
		{"no dashes", []string{"serve", "ls"}, 2, []string{`minidfs serve: unexpected "ls"; write -- before a command to run`}},
		{"unknown command", []string{"run"}, 2, []string{`minidfs: there is no command "run"`}},
		{"unknown flag of fs", []string{"fs", "--url", "x"}, 2, []string{"flag provided but not defined: -url"}},
		{"unknown command of fs", []string{"fs", "-uri", "hdfs://h:1", "dir"}, 2, []string{`minidfs fs: there is no command "dir"`}},
		{"unknown letter", []string{"fs", "-uri", "hdfs://h:1", "ls", "-x", "/"}, 2, []string{"minidfs fs ls: there is no flag -x"}},
		{"too few", []string{"fs", "-uri", "hdfs://h:1", "mv", "/a"}, 2, []string{"2 arguments are wanted at least"}},
		{"no uri", []string{"fs", "ls", "/"}, 1, []string{"-uri is missing"}},
		{"bad uri", []string{"fs", "-uri", "h:1", "ls", "/"}, 1, []string{`"h:1" is no address of an HDFS`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), test.args, stdio{nil, &out, &errs})
			require.Equal(t, test.code, code)
			require.Empty(t, out.String())
			for _, want := range test.want {
				require.Contains(t, errs.String(), want)
			}
			if test.code == exitError {
				require.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
			}
		})
	}
}

// TestHelp has help at every level, on the output.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--help"}, "minidfs: a whole HDFS in one process"},
		{[]string{"help"}, "minidfs: a whole HDFS in one process"},
		{[]string{"serve", "--help"}, "usage: minidfs serve"},
		{[]string{"serve", "-h"}, "dfs.blocksize"},
		{[]string{"serve", "--help"}, "\n  -D key=value             "},
		{[]string{"serve", "--help"}, "\n  --datanodes int          how many datanodes (default 3)\n"},
		{[]string{"serve", "--help"}, "\n  --port int               the port of the first namenode, the others have the next ones; 0: any free ones\n"},
		{[]string{"fs", "--help"}, "usage: minidfs fs"},
		{[]string{"fs", "ls", "--help"}, "usage: minidfs fs ls [-R] PATH..."},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, exitOK, run(t.Context(), test.args, stdio{nil, &out, &errs}), test.args)
		require.Contains(t, out.String(), test.want)
		require.Empty(t, errs.String())
	}
	var out, errs bytes.Buffer
	require.Equal(t, exitUsage, run(t.Context(), nil, stdio{nil, &out, &errs}))
	require.Contains(t, errs.String(), "minidfs serve")
}
