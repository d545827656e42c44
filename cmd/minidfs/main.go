package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes.
const (
	exitOK    = 0
	exitError = 1 // what was asked for did not work
	exitUsage = 2 // it was not understood
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// stdio is where a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// say writes to the output; one that cannot be written to is nobody's affair but its reader's.
func (s stdio) say(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }

// complain writes to the error output.
func (s stdio) complain(format string, args ...any) { _, _ = fmt.Fprintf(s.err, format, args...) }

const usage = `minidfs: a whole HDFS in one process

  minidfs serve [flags] [-- CMD ARGS]   run an HDFS until SIGTERM, or for as long as CMD runs
  minidfs fs -uri URI COMMAND ARGS      ls, put, get, cat, mkdir, rm, mv, stat, du on any HDFS

minidfs serve --help and minidfs fs --help say more.
`

func run(ctx context.Context, args []string, std stdio) int {
	if len(args) == 0 {
		std.complain("%s", usage)
		return exitUsage
	}
	switch args[0] {
	case "serve":
		return serve(ctx, args[1:], std)
	case "fs":
		return shell(ctx, args[1:], std)
	case "help", "-h", "-help", "--help":
		std.say("%s", usage)
		return exitOK
	}
	std.complain("minidfs: there is no command %q\n\n%s", args[0], usage)
	return exitUsage
}

// parse reads flags. done says that there is nothing more to do but to exit with code. Help goes to the output; what was
// not understood is one line on the error output.
func parse(flags *flag.FlagSet, args []string, std stdio) (code int, done bool) {
	var help bytes.Buffer
	flags.SetOutput(&help)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		std.say("%s", help.String())
		return exitOK, true
	case err != nil:
		std.complain("%s: %s; %s --help says more\n", flags.Name(), oneLine(err), flags.Name())
		return exitUsage, true
	}
	return exitOK, false
}

// failed prints an error in one line.
func failed(std stdio, err error) int {
	std.complain("minidfs: %s\n", oneLine(err))
	return exitError
}
