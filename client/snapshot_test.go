package client

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Differences print as hdfs snapshotDiff prints them.
func TestDiffEntryPrints(t *testing.T) {
	for want, d := range map[string]DiffEntry{
		"M\t.":            {Kind: DiffModified, Path: "."},
		"+\t./a/b":        {Kind: DiffCreated, Path: "a/b"},
		"-\t./f":          {Kind: DiffDeleted, Path: "f"},
		"R\t./f -> ./a/g": {Kind: DiffRenamed, Path: "f", Target: "a/g"},
	} {
		require.Equal(t, want, fmt.Sprint(d))
		require.Equal(t, want[:1], fmt.Sprint(d.Kind))
	}
}
