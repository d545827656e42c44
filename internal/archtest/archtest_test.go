package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// all runs every rule.
func (m *module) all() (all []violation) {
	for _, rule := range []func() []violation{m.imports, m.docs, m.inits, m.globals} {
		all = append(all, rule()...)
	}
	return all
}

// TestModule checks this repository.
func TestModule(t *testing.T) {
	root, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(root)
		require.NotEqual(t, root, up, "no go.mod above this folder")
		root = up
	}
	m, err := load(os.DirFS(root))
	require.NoError(t, err)
	require.Contains(t, m.packages, "internal/archtest")
	for _, v := range m.all() {
		t.Error(v)
	}
}

// files is a small tree: module "m" is this one's name too, so that the table applies.
func files(pairs ...string) fstest.MapFS {
	tree := fstest.MapFS{"go.mod": {Data: []byte("module m\n")}}
	for i := 0; i < len(pairs); i += 2 {
		tree[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return tree
}

const doc = "// Package p is documented.\npackage p\n"

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name string
		tree fstest.MapFS
		want []string // a part of each violation
	}{
		{"allowed imports", files(
			"namenode/doc.go", doc+`import ( _ "m/internal/dfs"; _ "m/namenode/internal/blocks"; _ "google.golang.org/protobuf/proto"; _ "github.com/spf13/afero"; _ "net/http" )`,
			"namenode/internal/editlog/doc.go", doc+`import ( _ "github.com/hashicorp/raft"; _ "m/internal/dfs"; _ "github.com/spf13/afero" )`,
			"fixtures/workloads/sort/doc.go", doc+`import ( _ "m/namenode"; _ "m/fixtures/trees"; _ "m/internal/hdfspb"; _ "github.com/stretchr/testify/require" )`,
			"cmd/minidfs/doc.go", doc+`import _ "m/cmd/minidfs/table"`,
			"internal/rpc/doc.go", doc, "internal/rpc/a_test.go", `package p; import ( _ "m/minidfs"; _ "github.com/colinmarc/hdfs/v2"; _ "github.com/stretchr/testify/require" )`,
		), nil},
		{"the servers meet on the wire", files("datanode/doc.go", doc+`import _ "m/namenode"`), []string{"datanode/doc.go:3: datanode imports namenode"}},
		{"a client stays outside", files("client/doc.go", doc+`import _ "m/datanode"`), []string{"client imports datanode"}},
		{"internals of others", files("datanode/doc.go", doc+`import _ "m/namenode/internal/blocks"`), []string{"datanode imports namenode/internal/blocks"}},
		{"protobuf stops at the handler", files("namenode/internal/namespace/doc.go", doc+`import _ "m/internal/hdfspb"`), []string{"namespace imports internal/hdfspb"}},
		{"also its library", files("datanode/internal/volume/doc.go", doc+`import _ "google.golang.org/protobuf/proto"`), []string{"protobuf stops at the handler"}},
		{"the leaf", files("internal/dfs/doc.go", doc+`import _ "m/internal/rpc"`), []string{"may import nothing of this module"}},
		{"raft", files("namenode/raft.go", "package p\n"+`import _ "github.com/hashicorp/raft"`, "namenode/doc.go", doc), []string{"stay behind editlog.Journal"}},
		{"raft in a test", files("minidfs/a_test.go", `package p; import _ "github.com/hashicorp/raft-boltdb/v2"`), []string{"stay behind editlog.Journal"}},
		{"afero", files("internal/rpc/doc.go", doc+`import _ "github.com/spf13/afero"`), []string{"only where a disk is named"}},
		{"testify", files("client/doc.go", doc+`import _ "github.com/stretchr/testify/require"`), []string{"testify only in tests and fixtures"}},
		{"other clients", files("examples/copy/doc.go", doc+`import _ "github.com/colinmarc/hdfs/v2"`), []string{"only in _test.go files"}},
		{"a new dependency", files("client/doc.go", doc+`import _ "example.com/log"`), []string{"a new dependency needs a row"}},
		{"examples see the public", files("examples/copy/doc.go", doc+`import _ "m/internal/dfs"`), []string{"examples/copy imports internal/dfs"}},
		{"a package without a row", files("util/doc.go", doc, "util/a.go", `package p; import _ "m/client"`), []string{"util: the package is not in the import table"}},

		{"no doc.go", files("client/a.go", doc), []string{"client: no doc.go"}},
		{"a doc.go that says nothing", files("client/doc.go", "package p"), []string{"client: no doc.go"}},
		{"a command's main.go", files("cmd/x/main.go", "// Command x.\npackage main"), nil},
		{"only tests", files("client/a_test.go", "package p"), nil},

		{"init", files("client/doc.go", doc+"func init() {}"), []string{"client/doc.go:3: func init"}},
		{"init in a test", files("client/a_test.go", "package p\nfunc init() {}"), []string{"client/a_test.go:2: func init"}},
		{"a method init", files("client/doc.go", doc+"type t int; func (t) init() {}"), nil},

		{"harmless variables", files("client/doc.go", doc+`
			import ( "errors"; "embed"; "fmt" )
			var ErrX = errors.New("x")
			var errY = fmt.Errorf("y: %w", ErrX)
			var errZ = &Error{Class: "z"}
			var _ I = T{}
			var names = map[int]string{1: "one"}
			var ops = [...]op{{"a", func() { x := 1; x++ }}}
			var magic = []byte("HDFS")
			type op struct { name string; f func() }
			//go:embed x.txt
			var files embed.FS
			func f() int { names := 1; names = 2; for i := range ops { _ = i }; return names }
			`), nil},
		{"generated", files("client/doc.go", doc, "client/x.pb.go", "// Code generated by x. DO NOT EDIT.\npackage p\nvar x int\nfunc init() {}"), nil},
		{"a variable of a test", files("client/a_test.go", "package p\nvar x int"), nil},
		{"no value", files("client/doc.go", doc+"var count int"), []string{"client/doc.go:3: var count has no value"}},
		{"a pointer", files("client/doc.go", doc+"type T struct{}\nvar cache = &T{}"), []string{"var cache is a pointer"}},
		{"a lock", files("client/doc.go", doc+`import "sync"`+"\nvar pool = sync.Pool{New: nil}"), []string{"var pool has a lock"}},
		{"a channel", files("client/doc.go", doc+"var c = make(chan int)"), []string{"var c"}},
		{"a call", files("client/doc.go", doc+"var logger = log.New()"), []string{"var logger is the result of log.New"}},
		{"assigned", files("client/doc.go", doc+"var limit = 3\nfunc f() { limit = 4 }"), []string{"var limit is changed, or its address taken, at client/doc.go:4"}},
		{"counted", files("client/doc.go", doc+"var limit = 3\nfunc f() { limit++ }"), []string{"var limit is changed"}},
		{"assigned in another file", files("client/doc.go", doc+"var limit = 3", "client/a.go", "package p\nfunc f() { limit = 4 }"), []string{"var limit is changed, or its address taken, at client/a.go:2"}},
		{"assigned in another package", files("client/doc.go", doc+"var Limit = 3", "minidfs/doc.go", doc+`import "m/client"`+"\nfunc f() { client.Limit = 4 }"), []string{"var Limit is changed, or its address taken, at minidfs/doc.go:4"}},
		{"an element", files("client/doc.go", doc+"var m = map[int]int{}\nfunc f() { m[1] = 2 }"), []string{"var m is changed"}},
		{"deleted", files("client/doc.go", doc+"var m = map[int]int{}\nfunc f() { delete(m, 1) }"), []string{"var m is changed"}},
		{"address", files("client/doc.go", doc+"var n = 3\nfunc f() *int { return &n }"), []string{"var n is changed"}},
		{"a field", files("client/doc.go", doc+"type T struct{ a int }\nvar v = T{1}\nfunc f() { v.a = 2 }"), []string{"var v is changed"}},

		{"what the go command does not see", files("client/testdata/a.go", "package p\nfunc init() {}", "nested/go.mod", "module n", "nested/a.go", "package p\nfunc init() {}", ".x/a.go", "not go"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := load(tt.tree)
			require.NoError(t, err)
			var got []string
			for _, v := range m.all() {
				got = append(got, v.String())
			}
			require.Len(t, got, len(tt.want), "%s", strings.Join(got, "\n"))
			for i := range tt.want {
				require.Contains(t, got[i], tt.want[i])
			}
		})
	}
}

func TestSourceThatDoesNotParse(t *testing.T) {
	_, err := load(files("client/a.go", "package"))
	require.ErrorContains(t, err, "client/a.go")
}
