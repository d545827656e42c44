package minidfs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the list of keys in README.md")

// TestHonouredKeys keeps the README's list of keys equal to what Conf takes.
func TestHonouredKeys(t *testing.T) {
	const (
		readme = "../README.md"
		begin  = "<!-- keys: go test ./minidfs -run HonouredKeys -rewrite -->\n"
		end    = "<!-- end of the keys -->\n"
	)
	list := "| key | sets |\n|---|---|\n"
	for _, k := range HonouredKeys() {
		list += fmt.Sprintf("| `%s` | %s |\n", k[0], k[1])
	}
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "README.md has no line %q", begin)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "README.md has no line %q", end)
	if *rewrite {
		require.NoError(t, os.WriteFile(readme, []byte(before+begin+list+end+after), 0o644))
		return
	}
	require.Equal(t, before+begin+list+end+after, string(text), "go test ./minidfs -run HonouredKeys -rewrite")
}
