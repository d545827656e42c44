package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// row says what the code of some folders may import of this module, besides what lies below the folder itself.
// Tests may import more.
type row struct {
	who  string // a folder; with /... those below it too
	whom string // folders, separated by spaces, with /... likewise
}

// table is the import table of DESIGN.md. The first row that fits a folder counts.
var table = [...]row{
	{"cmd/...", "minidfs client datanode fixtures/workloads"},
	{"fixtures/workloads/...", "fixtures/... minidfs client namenode internal/dfs internal/transfer internal/hdfspb internal/faultfs"},
	{"fixtures/conformance", "fixtures/... minidfs client internal/dfs internal/rpc internal/hdfspb"}, // for calls that no client library has
	{"fixtures/...", "fixtures/... minidfs client internal/dfs"},
	{"examples/...", "minidfs client namenode datanode fixtures/..."},
	{"minidfs", "namenode datanode client internal/memnet internal/eager internal/faultfs internal/osfs internal/dfs"},
	{"namenode", "namenode/internal/... internal/rpc internal/hdfspb internal/dfs"},
	{"namenode/internal/namespace/...", "internal/dfs"},
	{"namenode/internal/blocks/...", "internal/dfs"},
	{"namenode/internal/editlog/...", "internal/dfs"},
	{"datanode", "datanode/internal/... internal/rpc internal/transfer internal/hdfspb internal/dfs"},
	{"datanode/internal/volume/...", "internal/dfs"},
	{"client/...", "client/internal/... internal/rpc internal/transfer internal/hdfspb internal/dfs"},
	{"internal/rpc", "internal/hdfspb internal/dfs"},
	{"internal/transfer", "internal/hdfspb internal/dfs"},
	{"internal/memnet", "internal/dfs"},
	{"internal/eager", ""},
	{"internal/faultfs", "internal/dfs"},
	{"internal/osfs", ""},
	{"internal/dfs", ""},
	{"internal/hdfspb/...", ""},
	{"internal/archtest", ""},
}

// vendor says where packages of other people may be imported.
type vendor struct {
	prefix string // of the import path
	where  string // folders, as in row
	tests  bool   // in all _test.go files too
	why    string
}

// vendors are the dependencies. The first row that fits an import counts.
var vendors = [...]vendor{
	{"github.com/hashicorp/", "namenode/internal/editlog/...", false, "raft and its stores stay behind editlog.Journal"},
	{"go.etcd.io/bbolt", "namenode/internal/editlog/...", false, "raft and its stores stay behind editlog.Journal"},
	{"github.com/spf13/afero", "namenode namenode/internal/editlog/... datanode datanode/internal/volume/... client/... internal/faultfs internal/osfs minidfs examples/...", true,
		"afero only where a disk is named"},
	{"github.com/stretchr/testify", "fixtures/...", true, "testify only in tests and fixtures"},
	{"google.golang.org/protobuf", "internal/hdfspb/... internal/rpc internal/transfer namenode datanode client/... fixtures/workloads/... fixtures/conformance", true,
		"protobuf stops at the handler: hand plain structs of internal/dfs to the packages behind it"},
	{"github.com/colinmarc/hdfs", "", true, "other people's HDFS clients only in _test.go files and nested modules"},
	{"github.com/tidwall/btree", "namenode/internal/...", true, "B-trees hold the namespace"},
	{"github.com/anishathalye/porcupine", "fixtures/...", true, "histories are checked in tests and fixtures"},
	{"golang.org/x/sys", "datanode datanode/internal/volume/... namenode/internal/editlog/... internal/faultfs internal/memnet minidfs", true,
		"system calls only where a disk or a socket is touched"},
	{"golang.org/x/net/nettest", "", true, "nettest checks connections in tests"},
	{"golang.org/x/perf", "cmd/... fixtures/workloads/...", true, "statistics only where benchmarks are compared"},
}

// imports checks all imports of the module.
func (m *module) imports() (all []violation) {
	for _, dir := range slices.Sorted(maps.Keys(m.packages)) {
		listed := slices.ContainsFunc(table[:], func(r row) bool { return fits(dir, r.who) })
		for _, s := range m.packages[dir] {
			if !listed && !s.test {
				all = append(all, violation{dir, "the package is not in the import table", "every package has a row in internal/archtest/imports.go and in DESIGN.md: add it, or put the code into a package that has one"})
				listed = true
			}
			for i, imported := range s.imports {
				if v, broken := m.check(s, imported); broken {
					v.where = m.at(s.ast.Imports[i].Pos())
					all = append(all, v)
				}
			}
		}
	}
	return all
}

func (m *module) check(s *source, imported string) (violation, bool) {
	if dir, ok := m.local(imported); ok {
		return checkLocal(s, dir)
	}
	if !strings.Contains(strings.Split(imported, "/")[0], ".") { // the standard library
		return violation{}, false
	}
	for _, v := range vendors {
		if !strings.HasPrefix(imported, v.prefix) {
			continue
		}
		if v.tests && s.test || fitsAny(s.dir, v.where) {
			return violation{}, false
		}
		return violation{what: s.dir + " imports " + imported, rule: v.why + ": move the code to " + orTests(v)}, true
	}
	return violation{what: s.dir + " imports " + imported, rule: "a new dependency needs a row in internal/archtest/imports.go that says where and why, or do without it"}, true
}

func orTests(v vendor) string {
	if v.where == "" {
		return "a _test.go file"
	}
	return v.where
}

func checkLocal(s *source, dir string) (violation, bool) {
	for _, r := range table {
		if !fits(s.dir, r.who) {
			continue
		}
		below := fits(dir, s.dir+"/...") || fits(s.dir, dir+"/...") && strings.HasSuffix(r.who, "/...") && fits(dir, r.who)
		if s.test || below || fitsAny(dir, r.whom) {
			return violation{}, false
		}
		whom := r.whom
		if whom == "" {
			whom = "nothing of this module"
		}
		return violation{what: fmt.Sprintf("%s imports %s", s.dir, dir), rule: fmt.Sprintf("%s may import %s: pass what you need as a parameter or an interface, or move the code", r.who, whom)}, true
	}
	return violation{}, false // reported as a package without a row
}

// fits says whether a folder is meant by a pattern.
func fits(dir, pattern string) bool {
	if top, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == top || strings.HasPrefix(dir, top+"/")
	}
	return dir == pattern
}

func fitsAny(dir, patterns string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool { return fits(dir, p) })
}
