package namenode

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/minidfs/go-minidfs/internal/dfs"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the support matrix in README.md")

// The matrix stands between these lines of the README.
const (
	readme      = "../README.md"
	matrixBegin = "<!-- support matrix: go test ./namenode -run SupportMatrix -rewrite -->\n"
	matrixEnd   = "<!-- end of the support matrix -->\n"
)

// matrix describes each registered method of the clients' protocols in a row.
func matrix() string {
	n := &NameNode{}
	refused := map[string]string{}
	for _, m := range append(refusedMethods(), n.offMethods()...) {
		refused[m.Name] = "refused: " + dfs.AsRemote(m.Refusal).Class.Short()
	}
	for _, m := range n.emptyMethods() {
		refused[m.Name] = "done: there is none"
	}
	var rows []string
	for _, p := range n.protocols() {
		short := p.Name[strings.LastIndexByte(p.Name, '.')+1:]
		for _, m := range p.Methods {
			answer := refused[m.Name]
			if answer == "" || p.Name != clientProtocol {
				answer = "done"
			}
			if p.Name == haProtocol && strings.HasPrefix(m.Name, "transition") {
				answer = "refused: ServiceFailedException"
			}
			rows = append(rows, fmt.Sprintf("| %s | `%s` | %s |\n", short, m.Name, answer))
		}
	}
	slices.Sort(rows)
	return "| protocol | method | answer |\n|---|---|---|\n" + strings.Join(rows, "")
}

// TestSupportMatrix keeps the README's table equal to what is registered.
func TestSupportMatrix(t *testing.T) {
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), matrixBegin)
	require.True(t, ok, "README.md has no line %q", matrixBegin)
	_, after, ok := strings.Cut(rest, matrixEnd)
	require.True(t, ok, "README.md has no line %q", matrixEnd)
	if *rewrite {
		require.NoError(t, os.WriteFile(readme, []byte(before+matrixBegin+matrix()+matrixEnd+after), 0o644))
		return
	}
	require.Equal(t, before+matrixBegin+matrix()+matrixEnd+after, string(text),
		"the support matrix does not say what is registered: go test ./namenode -run SupportMatrix -rewrite")
}
