package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/minidfs/go-minidfs/minidfs"
)

// stopTimeout is how long the user's command has to end, and the cluster to stop before the user is told why it takes so
// long.
const stopTimeout = 2 * time.Second

const serveUsage = `usage: minidfs serve [flags] [-- CMD ARGS]

Starts an HDFS and prints one line of JSON on stdout when it is ready:
  {"uri":"hdfs://127.0.0.1:41234","namenodes":["127.0.0.1:41234"],"datanodes":["127.0.0.1:..."],"conf_dir":"..."}
With CMD, runs it with MINIDFS_URI and HADOOP_CONF_DIR set, stops, and exits with its code. Without, serves until
SIGTERM or SIGINT. Without --dir everything is temporary.

flags:
`

// ready is the line that tells scripts where the cluster is.
type ready struct {
	URI       string   `json:"uri"`
	NameNodes []string `json:"namenodes"`
	DataNodes []string `json:"datanodes"`
	ConfDir   string   `json:"conf_dir"`
}

// serveFlags are what the command line says.
type serveFlags struct {
	nameNodes, dataNodes, port             int
	dir, writeConf, nameService, superuser string
	conf                                   []minidfs.Option
	command                                []string
}

func serve(ctx context.Context, args []string, std stdio) int {
	var f serveFlags
	flags := flag.NewFlagSet("minidfs serve", flag.ContinueOnError)
	flags.IntVar(&f.nameNodes, "namenodes", 1, "how many namenodes: 1, or 3 or 5 for a highly available HDFS")
	flags.IntVar(&f.dataNodes, "datanodes", 3, "how many datanodes")
	flags.IntVar(&f.port, "port", 0, "the port of the first namenode, the others have the next ones; 0: any free ones")
	flags.StringVar(&f.dir, "dir", "", "keep the data in this folder; it survives a kill -9")
	flags.StringVar(&f.writeConf, "write-conf", "", "write core-site.xml and hdfs-site.xml into this folder")
	flags.StringVar(&f.nameService, "nameservice", "", "the logical name of several namenodes; default: one is made up")
	flags.StringVar(&f.superuser, "superuser", "", "the superuser; default: the user of the operating system")
	flags.Func("D", "`key=value`: one of HDFS's own configuration keys; may be repeated", func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("write -D key=value")
		}
		f.conf = append(f.conf, minidfs.Conf(key, value))
		return nil
	})
	flags.Usage = func() {
		_, _ = fmt.Fprint(flags.Output(), serveUsage)
		printFlags(flags)
		_, _ = fmt.Fprint(flags.Output(), "\nkeys that -D takes:\n")
		for _, k := range minidfs.HonouredKeys() {
			_, _ = fmt.Fprintf(flags.Output(), "  %-46s %s\n", k[0], k[1])
		}
	}
	if code, done := parse(flags, args, std); done {
		return code
	}
	f.command = flags.Args()
	if len(f.command) > 0 && !slices.Contains(args, "--") {
		std.complain("minidfs serve: unexpected %q; write -- before a command to run\n", f.command[0])
		return exitUsage
	}
	return f.run(ctx, std)
}

// run starts the cluster, announces it, and stops it in the end.
func (f *serveFlags) run(ctx context.Context, std stdio) int {
	options := []minidfs.Option{
		minidfs.NameNodes(f.nameNodes), minidfs.DataNodes(f.dataNodes), minidfs.Port(f.port), minidfs.OtherProcesses(),
		minidfs.Logger(slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelWarn}))),
	}
	if f.dir != "" {
		options = append(options, minidfs.Dir(f.dir))
	} else {
		options = append(options, minidfs.TempDir(""))
	}
	if f.nameService != "" {
		options = append(options, minidfs.NameService(f.nameService))
	}
	if f.superuser != "" {
		options = append(options, minidfs.Superuser(f.superuser))
	}
	alive, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	options = append(options, minidfs.OnFailure(fail))
	c, err := minidfs.New(ctx, append(options, f.conf...)...)
	switch {
	case err != nil && ctx.Err() != nil:
		return exitOK // told to stop before it was ready
	case err != nil:
		return failed(std, err)
	}
	code, err := f.announceAndWait(alive, c, std)
	if err == nil && alive.Err() != nil && ctx.Err() == nil {
		err = context.Cause(alive)
	}
	if err != nil {
		code = failed(std, err)
	}
	if err := stop(c.Close, std); err != nil && code == exitOK {
		code = failed(std, err)
	}
	return code
}

// announceAndWait prints the line and waits for the signal, the cluster's failure, or the command.
func (f *serveFlags) announceAndWait(ctx context.Context, c *minidfs.Cluster, std stdio) (int, error) {
	confDir, err := f.siteFiles(c)
	if err != nil {
		return exitError, err
	}
	line := ready{URI: c.URI(), NameNodes: c.Addrs(), DataNodes: []string{}, ConfDir: confDir}
	for _, d := range c.DataNodes() {
		line.DataNodes = append(line.DataNodes, d.Addr())
	}
	if len(f.command) > 0 {
		return runCommand(ctx, f.command, line, std)
	}
	text, err := json.Marshal(line)
	if err != nil {
		return exitError, err
	}
	if _, err := fmt.Fprintf(std.out, "%s\n", text); err != nil {
		return exitError, err
	}
	<-ctx.Done()
	return exitOK, nil
}

// siteFiles writes the configuration for other clients, and gives its folder: the one that was asked for, or one that goes
// or stays with the data.
func (f *serveFlags) siteFiles(c *minidfs.Cluster) (string, error) {
	dir := f.writeConf
	switch {
	case dir == "" && f.dir == "":
		return c.ConfDir()
	case dir == "":
		dir = filepath.Join(f.dir, "conf")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, c.WriteConf(dir)
}

// runCommand runs the user's command against the cluster and gives its exit code. It is asked to end when ctx does, and
// killed if that does not help.
func runCommand(ctx context.Context, command []string, at ready, std stdio) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
	cmd.Env = append(os.Environ(), "MINIDFS_URI="+at.URI, "HADOOP_CONF_DIR="+at.ConfDir)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return exitOK, nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	case ctx.Err() != nil:
		return exitOK, nil
	}
	return exitError, fmt.Errorf("serve: %w", err)
}

// stop waits for the end of close, however long it takes to remove what a temporary cluster has written. When that is
// not soon it says so, and leaves the user's next signal to the operating system.
func stop(close func() error, std stdio) error {
	done := make(chan error, 1)
	go func() { done <- close() }()
	select {
	case err := <-done:
		return err
	case <-time.After(stopTimeout):
	}
	std.complain("minidfs: serve: still stopping: removing temporary files, or waiting for a disk; another signal ends the process at once and leaves them\n")
	signal.Reset()
	return <-done
}

// printFlags lists flags as the documentation writes them: two dashes before a word, one before a letter.
func printFlags(flags *flag.FlagSet) {
	flags.VisitAll(func(f *flag.Flag) {
		value, note := flag.UnquoteUsage(f)
		dashes := "--"
		if len(f.Name) == 1 {
			dashes = "-"
		}
		if f.DefValue != "" && f.DefValue != "0" {
			note += " (default " + f.DefValue + ")"
		}
		_, _ = fmt.Fprintf(flags.Output(), "  %-24s %s\n", dashes+f.Name+" "+value, note)
	})
}

func oneLine(err error) string {
	return strings.TrimPrefix(strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " "), "minidfs: ")
}
