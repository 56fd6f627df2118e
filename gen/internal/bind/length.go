package bind

import (
	"go/ast"
	"go/token"
	"go/types"
)

// lengths returns the expressions of array lengths in the signatures of functions and interface
// methods, by the position of the name. Package types has only the values of these expressions,
// which may differ between builds.
func lengths(files []*ast.File) map[token.Pos][]ast.Expr {
	all := map[token.Pos][]ast.Expr{}
	add := func(name *ast.Ident, signature ast.Expr) {
		ast.Inspect(signature, func(n ast.Node) bool {
			if array, ok := n.(*ast.ArrayType); ok && array.Len != nil {
				all[name.Pos()] = append(all[name.Pos()], array.Len)
			}
			return true
		})
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				add(n.Name, n.Type)
				return false
			case *ast.InterfaceType:
				for _, m := range n.Methods.List {
					if len(m.Names) == 1 {
						add(m.Names[0], m.Type)
					}
				}
			}
			return true
		})
	}
	return all
}

// values returns the expressions of constants, by name.
func values(files []*ast.File) map[string]ast.Expr {
	all := map[string]ast.Expr{}
	for _, file := range files {
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.CONST {
				for _, spec := range decl.Specs {
					spec := spec.(*ast.ValueSpec)
					for i, name := range spec.Names {
						if i < len(spec.Values) {
							all[name.Name] = spec.Values[i]
						}
					}
				}
			}
		}
	}
	return all
}

// sizes returns the build constraints of the builds in which the constants in an
// expression of the package have the same values as in this build.
func (p *Package) sizes(expr ast.Expr, seen map[string]bool) (constraints []string) {
	ast.Inspect(expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, imported := range p.types.Imports() {
				constant, isConst := imported.Scope().Lookup(n.Sel.Name).(*types.Const)
				if from := p.declaring(imported); isConst && from != nil && imported.Name() == pkg.Name {
					constraints = append(constraints, from.constraint(valueOf+n.Sel.Name, constant.Pos()))
				}
			}
			return false
		case *ast.Ident:
			if constant, ok := p.types.Scope().Lookup(n.Name).(*types.Const); ok && !seen[n.Name] {
				seen[n.Name] = true
				constraints = append(constraints, p.constraint(valueOf+n.Name, constant.Pos()))
				if value := p.values[n.Name]; value != nil {
					constraints = append(constraints, p.sizes(value, seen)...)
				}
			}
		}
		return true
	})
	return constraints
}
