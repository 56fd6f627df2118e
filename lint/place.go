package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// callAt returns the call whose left parenthesis is at paren, which is the position that the
// SSA form has, or nil. It also reports whether the call is a statement.
func callAt(file *ast.File, paren token.Pos) (call *ast.CallExpr, alone bool) {
	path, _ := astutil.PathEnclosingInterval(file, paren, paren)
	for i, n := range path {
		if call, ok := n.(*ast.CallExpr); ok && call.Lparen == paren {
			_, alone = path[i+1].(*ast.ExprStmt)
			return call, alone
		}
	}
	return nil, false
}

// callStart returns where the expression of a call begins.
func callStart(file *ast.File, paren token.Pos) token.Pos {
	if call, _ := callAt(file, paren); call != nil {
		return call.Pos()
	}
	return paren
}

// expressionStart returns where the expression begins whose operator, or left parenthesis, is at
// pos, which is the position that the SSA form has.
func expressionStart(file *ast.File, pos token.Pos) token.Pos {
	path, _ := astutil.PathEnclosingInterval(file, pos, pos)
	for _, n := range path {
		if x, ok := n.(*ast.BinaryExpr); ok && x.OpPos == pos {
			return x.Pos()
		}
	}
	return callStart(file, pos)
}

// loopStart returns where the statement of a loop begins, or, if a goto makes the loop, the
// call in it.
func loopStart(file *ast.File, loop *flow.Loop, call *ssa.Call) token.Pos {
	path, _ := astutil.PathEnclosingInterval(file, call.Pos(), call.Pos())
	for _, n := range path {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if encloses(n, loop) && (loop.Outer == nil || !encloses(n, loop.Outer)) {
				return n.Pos()
			}
		}
	}
	return callStart(file, call.Pos())
}

// encloses reports whether all code of a loop is part of a statement.
func encloses(n ast.Node, loop *flow.Loop) bool {
	for instr := range flow.Instructions(loop.List) {
		// Phis and variables have the positions of declarations.
		switch pos := instr.Pos(); instr.(type) {
		case *ssa.Phi, *ssa.Alloc:
		default:
			if pos.IsValid() && (pos < n.Pos() || n.End() < pos) {
				return false
			}
		}
	}
	return true
}

// fileAndLine names a place for messages about another one.
func fileAndLine(pass *analysis.Pass, pos token.Pos) string {
	at := pass.Fset.Position(pos)
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}

// inTest reports whether pos is in a file of tests, which wait and repeat as they like.
func inTest(pass *analysis.Pass, pos token.Pos) bool {
	f := pass.Fset.File(pos) // a call that the SSA form adds by itself has no position
	return f != nil && strings.HasSuffix(f.Name(), "_test.go")
}

// isGivenTest reports whether a function, or one around it, is given a test, or is a method of
// what holds one.
func isGivenTest(fn *ssa.Function) bool {
	return slices.ContainsFunc(declaredAround(fn).Params, func(p *ssa.Parameter) bool {
		if vocab.IsTest(p.Type()) {
			return true
		}
		t := p.Type().Underlying()
		if to, ok := t.(*types.Pointer); ok {
			t = to.Elem().Underlying()
		}
		s, ok := t.(*types.Struct)
		return ok && slices.ContainsFunc(slices.Collect(s.Fields()), func(f *types.Var) bool {
			return vocab.IsTest(f.Type())
		})
	})
}

// handwritten returns the file of the pass that pos is in, or nil if that is generated, or a
// file of tests.
func handwritten(pass *analysis.Pass, pos token.Pos) *ast.File {
	file := fileOf(pass, pos)
	if file == nil || ast.IsGenerated(file) || inTest(pass, pos) {
		return nil
	}
	return file
}

// fileOf returns the file of the pass that pos is in.
func fileOf(pass *analysis.Pass, pos token.Pos) *ast.File {
	if !pos.IsValid() {
		return nil
	}
	i := slices.IndexFunc(pass.Files, func(f *ast.File) bool { return f.FileStart <= pos && pos <= f.FileEnd })
	if i < 0 {
		return nil
	}
	return pass.Files[i]
}
