package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/minidfs/go-minidfs/client"
	"github.com/minidfs/go-minidfs/minidfs"
)

// session is one run of the shell.
type session struct {
	ctx context.Context
	fs  *client.Client
	std stdio
}

// shellCommand is a row of the shell's table.
type shellCommand struct {
	name, args, help string
	least            int // arguments
	run              func(s *session, flags map[string]bool, args []string) error
	flags            string // letters it takes
}

func shellCommands() []shellCommand {
	return []shellCommand{
		{"ls", "[-R] PATH...", "list a directory", 1, (*session).ls, "R"},
		{"stat", "PATH...", "everything the namenode says of a path", 1, (*session).stat, ""},
		{"cat", "PATH...", "print files", 1, (*session).cat, ""},
		{"put", "[-f] LOCAL... PATH", "copy in, folders with all that is in them; -f overwrites; - is standard input", 2, (*session).put, "f"},
		{"get", "PATH LOCAL", "copy out; - is standard output", 2, (*session).get, ""},
		{"mkdir", "[-p] PATH...", "make directories; -p: those above too", 1, (*session).mkdir, "p"},
		{"rm", "[-r] [-f] PATH...", "remove files; -r: directories too; -f: what is missing is fine", 1, (*session).rm, "rf"},
		{"mv", "[-f] SRC DST", "rename; -f overwrites", 2, (*session).mv, "f"},
		{"du", "PATH...", "bytes, bytes with all replicas", 1, (*session).du, ""},
		{"df", "", "capacity of the file system", 0, (*session).df, ""},
		{"chmod", "MODE PATH...", "set permissions, octal", 2, (*session).chmod, ""},
		{"chown", "OWNER[:GROUP] PATH...", "set the owner, the group, or both", 2, (*session).chown, ""},
		{"fsck", "PATH", "blocks and replicas below a path", 1, (*session).fsck, ""},
	}
}

func shell(ctx context.Context, args []string, std stdio) int {
	var uri, user string
	flags := flag.NewFlagSet("minidfs fs", flag.ContinueOnError)
	flags.StringVar(&uri, "uri", os.Getenv("MINIDFS_URI"), "hdfs://host:port[,host:port], or a logical name that $HADOOP_CONF_DIR explains; default: $MINIDFS_URI")
	flags.StringVar(&user, "user", os.Getenv("HADOOP_USER_NAME"), "who to be; default: $HADOOP_USER_NAME, then the user of the operating system")
	flags.Usage = func() {
		_, _ = fmt.Fprint(flags.Output(), "usage: minidfs fs -uri URI COMMAND ARGS\n\ncommands:\n")
		for _, c := range shellCommands() {
			_, _ = fmt.Fprintf(flags.Output(), "  %-6s %-24s %s\n", c.name, c.args, c.help)
		}
		_, _ = fmt.Fprint(flags.Output(), "\nflags:\n")
		flags.PrintDefaults()
	}
	if code, done := parse(flags, args, std); done {
		return code
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return exitUsage
	}
	for _, c := range shellCommands() {
		if c.name == flags.Arg(0) {
			return runShell(ctx, c, flags.Args()[1:], uri, user, std)
		}
	}
	std.complain("minidfs fs: there is no command %q; minidfs fs --help lists them\n", flags.Arg(0))
	return exitUsage
}

// runShell connects and runs one command.
func runShell(ctx context.Context, c shellCommand, args []string, uri, user string, std stdio) int {
	set, rest, err := letters(c, args)
	if errors.Is(err, flag.ErrHelp) {
		std.say("usage: minidfs fs %s %s\n\n%s\n", c.name, c.args, c.help)
		return exitOK
	}
	if err != nil {
		std.complain("minidfs fs %s: %v\nusage: minidfs fs %s %s\n", c.name, err, c.name, c.args)
		return exitUsage
	}
	if uri == "" {
		return failed(std, errors.New("fs: -uri is missing: write -uri hdfs://host:port, or set MINIDFS_URI"))
	}
	addrs, err := minidfs.Resolve(uri, os.Getenv("HADOOP_CONF_DIR"))
	if err != nil {
		return failed(std, fmt.Errorf("fs: %w", err))
	}
	fs, err := client.New(client.Options{Addrs: addrs, User: user})
	if err != nil {
		return failed(std, err)
	}
	err = c.run(&session{ctx: ctx, fs: fs, std: std}, set, rest)
	if err = errors.Join(err, fs.Close()); err != nil {
		return failed(std, fmt.Errorf("fs %s: %w", c.name, err))
	}
	return exitOK
}

// letters splits one-letter flags from arguments.
func letters(c shellCommand, args []string) (map[string]bool, []string, error) {
	set := map[string]bool{}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		switch args[0] {
		case "-help", "--help":
			return nil, nil, flag.ErrHelp
		case "--":
			return set, args[1:], enough(c, args[1:])
		}
		for _, letter := range args[0][1:] {
			if !strings.ContainsRune(c.flags, letter) {
				return nil, nil, fmt.Errorf("there is no flag -%c", letter)
			}
			set[string(letter)] = true
		}
		args = args[1:]
	}
	return set, args, enough(c, args)
}

func enough(c shellCommand, args []string) error {
	if len(args) < c.least {
		return fmt.Errorf("%d arguments are wanted at least", c.least)
	}
	return nil
}

// each calls f for every path and goes on after errors.
func each(paths []string, f func(path string) error) error {
	var errs []error
	for _, p := range paths {
		errs = append(errs, f(p))
	}
	return errors.Join(errs...)
}
