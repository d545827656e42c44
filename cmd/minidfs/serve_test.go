package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStopSlow waits for as long as it takes to stop, and says that it does.
func TestStopSlow(t *testing.T) {
	signal.Reset() // what package signal makes at the first use must not be the bubble's
	failure := errors.New("the folder stays")
	for _, test := range []struct {
		name  string
		takes time.Duration
		err   error
		says  string
	}{
		{"soon", stopTimeout / 2, nil, ""},
		{"late", time.Hour, nil, "minidfs: serve: still stopping"},
		{"late, and it fails", time.Hour, failure, "minidfs: serve: still stopping"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var errs bytes.Buffer
				began := time.Now()
				err := stop(func() error { time.Sleep(test.takes); return test.err }, stdio{err: &errs})
				require.Equal(t, test.err, err)
				require.Equal(t, test.takes, time.Since(began))
				if test.says == "" {
					require.Empty(t, errs.String())
				} else {
					require.Contains(t, errs.String(), test.says)
				}
			})
		})
	}
}

// TestServeJournalFails ends with the reason when the journal cannot be written, and ends the user's command.
func TestServeJournalFails(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{nil, {"--", "sh", "-c", `echo "{\"namenodes\":[\"${MINIDFS_URI#hdfs://}\"]}"; exec sleep 60`}} {
		t.Run(fmt.Sprint(len(command), " arguments"), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			args := []string{"serve", "--dir", dir, "--datanodes", "1", "--superuser", "root", "-D", "dfs.namenode.checkpoint.txns=1"}
			p := spawn(t, append(args, command...)...)
			fs := connect(t, p.ready(), "root")
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "nn1")))
			ctx, cancel := context.WithCancel(t.Context())
			edits := make(chan error, 1)
			go func() {
				var err error
				for i := 0; err == nil; i++ { // the next segment of the journal finds no folder
					err = fs.Mkdir(ctx, fmt.Sprint("/", i), 0o755)
				}
				edits <- err
			}()
			code, _ := p.exit()
			cancel()
			require.Error(t, <-edits)
			require.Equal(t, exitError, code, p.err.String())
			require.Contains(t, p.err.String(), "minidfs: nn1 answers no more calls: editlog: journal has failed: ")
			require.Contains(t, p.err.String(), "no such file or directory\n")
		})
	}
}
