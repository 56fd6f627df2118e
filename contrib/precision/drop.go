package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// drop removes from files what errors point at: an import, a declaration, or the
// body of a function. It returns how many it removed.
func drop(files []*ast.File, errs []types.Error) (n int) {
	for _, f := range files {
		for _, err := range errs {
			if f.FileStart <= err.Pos && err.Pos <= f.FileEnd && dropAt(f, err.Pos) {
				n++
			}
		}
	}
	return n
}

func dropAt(f *ast.File, pos token.Pos) bool {
	within := func(n ast.Node) bool { return n.Pos() <= pos && pos <= n.End() }
	i := slices.IndexFunc(f.Decls, func(d ast.Decl) bool { return within(d) })
	if i < 0 {
		return false
	}
	switch decl := f.Decls[i].(type) {
	case *ast.FuncDecl:
		if decl.Body != nil && within(decl.Body) && !isGone(decl.Body) {
			decl.Body.List = gone(pos)
			return true
		}
	case *ast.GenDecl:
		// Constants count from the first of their group on.
		if decl.Tok != token.CONST && len(decl.Specs) > 1 {
			decl.Specs = slices.DeleteFunc(decl.Specs, func(s ast.Spec) bool { return within(s) })
			f.Imports = importsOf(f)
			return true
		}
	}
	f.Decls = slices.Delete(f.Decls, i, i+1)
	f.Imports = importsOf(f)
	return true
}

// gone stands for the body of a function that does not compile: panic("gone").
func gone(pos token.Pos) []ast.Stmt {
	why := &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: `"gone"`}
	return []ast.Stmt{
		&ast.ExprStmt{X: &ast.CallExpr{Fun: &ast.Ident{NamePos: pos, Name: "panic"}, Lparen: pos, Args: []ast.Expr{why},
			Rparen: pos}}}
}

func isGone(body *ast.BlockStmt) bool {
	if len(body.List) != 1 {
		return false
	}
	stmt, ok := body.List[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := stmt.X.(*ast.CallExpr)
	return ok && call.Lparen == call.Rparen
}

func importsOf(f *ast.File) (specs []*ast.ImportSpec) {
	for _, decl := range f.Decls {
		if decl, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.ImportSpec); ok {
					specs = append(specs, spec)
				}
			}
		}
	}
	return specs
}
