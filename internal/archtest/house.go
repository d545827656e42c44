package archtest

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// docs checks that every package says what it is, in its doc.go; a command may say it in its main.go.
func (m *module) docs() (all []violation) {
	for _, dir := range slices.Sorted(maps.Keys(m.packages)) {
		code, documented := false, false
		for _, s := range m.packages[dir] {
			if s.test {
				continue
			}
			code = true
			base := path.Base(s.path)
			if (base == "doc.go" || base == "main.go" && s.ast.Name.Name == "main") && s.ast.Doc != nil {
				documented = true
			}
		}
		if code && !documented {
			all = append(all, violation{dir, "no doc.go with a package comment", "every package has a doc.go: write down its 3-5 nouns, its layout on the wire or the disk, and the goroutines it starts and who stops them"})
		}
	}
	return all
}

// inits checks that no package does anything before main.
func (m *module) inits() (all []violation) {
	for _, s := range m.sources() {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				all = append(all, violation{m.at(f.Pos()), "func init", "nothing registers itself: make a table that the reader sees, or a constructor that the caller calls"})
			}
		}
	}
	return all
}

// sources lists the files that people wrote, in order.
func (m *module) sources() (all []*source) {
	for _, dir := range slices.Sorted(maps.Keys(m.packages)) {
		for _, s := range m.packages[dir] {
			if !s.generated {
				all = append(all, s)
			}
		}
	}
	return all
}

const stateRule = "no package has state, so that clusters run side by side: make it a const, a field of a server, or a table that nobody assigns to"

// globals checks that package-level variables outside tests are error sentinels, embedded files, interface assertions,
// or tables that nothing in the module assigns to.
func (m *module) globals() (all []violation) {
	assigned := m.assigned()
	for _, s := range m.sources() {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				if embedded(g, v) {
					continue
				}
				for i, name := range v.Names {
					if name.Name == "_" {
						continue
					}
					what := "var " + name.Name + " "
					if at, ok := assigned[global{s.dir, name.Name}]; ok {
						all = append(all, violation{m.at(name.Pos()), what + "is changed, or its address taken, at " + m.at(at), stateRule})
					} else if reason := changeable(v, i); reason != "" {
						all = append(all, violation{m.at(name.Pos()), what + reason, stateRule})
					}
				}
			}
		}
	}
	return all
}

// embedded says whether a variable is filled by //go:embed.
func embedded(g *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{g.Doc, v.Doc} {
		if doc == nil {
			continue
		}
		for _, c := range doc.List {
			if strings.HasPrefix(c.Text, "//go:embed ") {
				return true
			}
		}
	}
	return false
}

// pure are the calls whose results can be a table: they have no state, or none that shows.
const pure = " errors.New fmt.Errorf regexp.MustCompile strings.NewReplacer crc32.MakeTable big.NewInt time.Date time.Unix" +
	" netip.MustParseAddr netip.MustParsePrefix template.Must reflect.TypeFor len cap min max "

// changeable says why the value of a variable could change though nobody assigns to it; "" when it cannot.
func changeable(v *ast.ValueSpec, i int) string {
	if i >= len(v.Values) {
		return "has no value, so somebody must set it later"
	}
	reason := ""
	ast.Inspect(v.Values[i], func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // its body runs later
		case *ast.UnaryExpr:
			if n.Op == token.AND && !isSentinel(v.Names[i].Name) {
				reason = "is a pointer, and what it points to can be changed"
			}
		case *ast.ChanType:
			reason = "has a channel"
		case *ast.CallExpr:
			if !isConversion(n.Fun) && !strings.Contains(pure, " "+callee(n.Fun)+" ") {
				reason = "is the result of " + callee(n.Fun) + ", which may have state"
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && (x.Name == "sync" || x.Name == "atomic") {
				reason = "has a lock or an atomic"
			}
		}
		return reason == ""
	})
	return reason
}

// isSentinel says whether a variable is an error by its name; that may be a pointer.
func isSentinel(name string) bool {
	return strings.HasPrefix(name, "err") || strings.HasPrefix(name, "Err")
}

func isConversion(f ast.Expr) bool {
	switch f := f.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.InterfaceType, *ast.FuncType:
		return true
	case *ast.ParenExpr:
		return isConversion(f.X) || isPointer(f.X)
	case *ast.Ident:
		return f.Obj != nil && f.Obj.Kind == ast.Typ || strings.Contains(" string byte int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 float64 ", " "+f.Name+" ")
	}
	return false
}

func isPointer(x ast.Expr) bool {
	_, ok := x.(*ast.StarExpr)
	return ok
}

// callee names the function that is called, as far as it has a name.
func callee(f ast.Expr) string {
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return callee(f.X) + "." + f.Sel.Name
	case *ast.IndexExpr:
		return callee(f.X)
	}
	return "a function"
}
