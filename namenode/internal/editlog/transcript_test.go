package editlog

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the files in testdata anew")

// TestTranscript compares every change of the disk, in order, with testdata/transcript. The order of writes, syncs and
// renames is what durability rests on: look twice at each line that changes.
func TestTranscript(t *testing.T) { synctest.Test(t, transcript) }

func transcript(t *testing.T) {
	var out strings.Builder
	fs := newDisk()
	o := options(fs)
	o.SegmentBytes = 250
	o.RetainImages = 1
	var j *Local
	add := func(n int) {
		_, err := appendOps(t.Context(), j, someOps(17)[17-n:])
		require.NoError(t, err)
	}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"open an empty directory", func() { j = openLocal(t, newMachine(), o) }},
		{"append", func() { add(1) }},
		{"checkpoint", func() { require.NoError(t, j.Checkpoint(t.Context())) }},
		{"checkpoint again", func() { require.NoError(t, j.Checkpoint(t.Context())) }},
		{"append until the segment is full", func() { add(5) }},
		{"append", func() { add(1) }},
		{"checkpoint", func() { require.NoError(t, j.Checkpoint(t.Context())) }},
		{"append an op without transaction", func() { _, _ = j.Append(t.Context(), addOp{"noop", 0}) }},
		{"checkpoint", func() { require.NoError(t, j.Checkpoint(t.Context())) }},
		{"append", func() { add(1) }},
		{"kill", func() { j.Kill() }},
		{"open again", func() { j = openLocal(t, newMachine(), o) }},
		{"append", func() { add(1) }},
		{"close", func() { require.NoError(t, j.Close()) }},
		{"open again", func() { j = openLocal(t, newMachine(), o) }},
		{"close without an append", func() { require.NoError(t, j.Close()) }},
		{"open again, with a torn tail and an unfinished image", func() {
			write(t, fs, "/nn/current/fsimage_0000000000000000099.tmp", "half")
			file := fs.list(inProgressPrefix)[0]
			fs.file(file).data = append(fs.file(file).data, "torn"...)
			fs.trace = nil
			j = openLocal(t, newMachine(), o)
		}},
		{"append in mode async", func() {
			require.NoError(t, j.Close())
			o.Sync = SyncAsync
			j = openLocal(t, newMachine(), o)
			fs.trace = nil
			add(2)
		}},
		{"close", func() { require.NoError(t, j.Close()) }},
	} {
		fs.keep = true
		step.do()
		synctest.Wait() // a full segment is closed after the answer
		fs.mu.Lock()
		fmt.Fprintf(&out, "# %s\n", step.name)
		for _, line := range fs.trace {
			line = strings.ReplaceAll(line, "/nn/current/", "")
			fmt.Fprintln(&out, strings.ReplaceAll(line, "_000000000000000", "_"))
		}
		fs.trace = nil
		fs.mu.Unlock()
	}
	path := filepath.Join("testdata", "transcript")
	if *rewrite {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}
