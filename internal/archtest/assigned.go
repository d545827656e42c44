package archtest

import (
	"go/ast"
	"go/token"
	"path"
)

// global is a package-level variable, by the folder of its package.
type global struct{ dir, name string }

// assigned finds the package-level variables that the code outside tests changes, and where: whole, an element, a
// field, by delete or clear, or by having their address taken.
func (m *module) assigned() map[global]token.Pos {
	found := make(map[global]token.Pos)
	for _, s := range m.sources() {
		if s.test {
			continue
		}
		note := func(x ast.Expr) {
			if g, ok := m.global(s, x); ok {
				found[g] = x.Pos()
			}
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					if n.Tok != token.DEFINE {
						for _, x := range n.Lhs {
							note(x)
						}
					}
				case *ast.IncDecStmt:
					note(n.X)
				case *ast.RangeStmt:
					if n.Tok == token.ASSIGN {
						note(n.Key)
						note(n.Value)
					}
				case *ast.UnaryExpr:
					if n.Op == token.AND {
						note(n.X)
					}
				case *ast.CallExpr:
					if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
						note(n.Args[0])
					}
				}
				return true
			})
		}
	}
	return found
}

// global finds the package-level variable that an expression is, or is a part of.
func (m *module) global(s *source, x ast.Expr) (global, bool) {
	switch x := x.(type) {
	case *ast.Ident:
		// The parser resolves what a file declares; a name without object is of another file, or predeclared.
		if x.Obj == nil {
			return global{s.dir, x.Name}, true
		}
		spec, ok := x.Obj.Decl.(*ast.ValueSpec)
		return global{s.dir, x.Name}, ok && s.ast.Scope != nil && s.ast.Scope.Lookup(x.Name) == x.Obj && spec != nil
	case *ast.SelectorExpr:
		if pkg, ok := x.X.(*ast.Ident); ok && pkg.Obj == nil {
			if dir, ok := m.imported(s, pkg.Name); ok {
				return global{dir, x.Sel.Name}, true
			}
		}
		return m.global(s, x.X)
	case *ast.IndexExpr:
		return m.global(s, x.X)
	case *ast.ParenExpr:
		return m.global(s, x.X)
	case *ast.StarExpr:
		return m.global(s, x.X)
	case *ast.SliceExpr:
		return m.global(s, x.X)
	}
	return global{}, false
}

// imported gives the folder of a package of this module by the name that a file uses for it.
func (m *module) imported(s *source, name string) (dir string, ok bool) {
	for i, p := range s.imports {
		dir, ok := m.local(p)
		used := path.Base(p)
		if n := s.ast.Imports[i].Name; n != nil {
			used = n.Name
		}
		if ok && used == name {
			return dir, true
		}
	}
	return "", false
}
