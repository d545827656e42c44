package archtest

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// source is one parsed file.
type source struct {
	path      string // from the root of the module
	dir       string
	test      bool // _test.go
	generated bool // parsed as far as its imports only
	ast       *ast.File
	imports   []string
}

// module is the source of a tree, by folder.
type module struct {
	path     string
	fset     *token.FileSet
	packages map[string][]*source
}

// load parses all Go files of the module at the root of a tree. Like the go command it leaves out testdata, folders
// that begin with a dot or an underscore, and nested modules.
func load(tree fs.FS) (*module, error) {
	gomod, err := fs.ReadFile(tree, "go.mod")
	if err != nil {
		return nil, err
	}
	m := &module{path: modulePath(gomod), fset: token.NewFileSet(), packages: make(map[string][]*source)}
	err = fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && skipDir(tree, p) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		s, err := m.parse(tree, p)
		if err == nil {
			m.packages[s.dir] = append(m.packages[s.dir], s)
		}
		return err
	})
	return m, err
}

func modulePath(gomod []byte) string {
	for line := range strings.Lines(string(gomod)) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.TrimSpace(p)
		}
	}
	return ""
}

func skipDir(tree fs.FS, p string) bool {
	base := path.Base(p)
	if base == "testdata" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(tree, path.Join(p, "go.mod"))
	return err == nil
}

func (m *module) parse(tree fs.FS, p string) (*source, error) {
	text, err := fs.ReadFile(tree, p)
	if err != nil {
		return nil, err
	}
	s := &source{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), generated: isGenerated(text)}
	mode := parser.ParseComments
	if s.generated {
		mode = parser.ImportsOnly
	}
	if s.ast, err = parser.ParseFile(m.fset, p, text, mode); err != nil {
		return nil, err
	}
	for _, i := range s.ast.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: import %s: %w", s.path, i.Path.Value, err)
		}
		s.imports = append(s.imports, p)
	}
	return s, nil
}

// isGenerated looks for the line that Go prescribes, ahead of the package clause.
func isGenerated(text []byte) bool {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "package ") {
			return false
		}
		if strings.HasPrefix(line, "// Code generated ") && strings.HasSuffix(line, " DO NOT EDIT.") {
			return true
		}
	}
	return false
}

// local gives the folder of a package of this module.
func (m *module) local(imported string) (dir string, ok bool) {
	if imported == m.path {
		return ".", true
	}
	return strings.CutPrefix(imported, m.path+"/")
}

// violation is a broken rule.
type violation struct {
	where string // file:line or folder
	what  string
	rule  string // and what to do
}

func (v violation) String() string {
	return fmt.Sprintf("%s: %s\n\trule: %s", v.where, v.what, v.rule)
}

func (m *module) at(pos token.Pos) string {
	p := m.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}
