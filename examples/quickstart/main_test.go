package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuickstart(t *testing.T) {
	name := filepath.Join(t.TempDir(), "input.txt")
	require.NoError(t, os.WriteFile(name, bytes.Repeat([]byte("line\n"), 1000), 0o644))
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, []string{name}))
	require.Contains(t, out.String(), "/in/input.txt: 5000 bytes")
	require.Contains(t, out.String(), "the same bytes")
	require.Contains(t, out.String(), "stopped in")

	require.ErrorContains(t, run(t.Context(), &out, []string{name + ".missing"}), "no such file")
}
