package lint

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// DeafWait reports RL102.
var DeafWait = &analysis.Analyzer{
	Name:       "deafwait",
	Doc:        docOf("deafwait", "RL102"),
	URL:        pageOf("RL102"),
	Requires:   []*analysis.Analyzer{ssaForm, directiveIndex},
	ResultType: used,
	Run:        runDeafWait,
}

func runDeafWait(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !imports(pass, "time") {
		return r.used, nil // most packages: who waits says for how long
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, wait := range retryloop.DeafWaits(fn) {
			pos := wait.Instr.Pos()
			file := fileOf(pass, pos)
			if file == nil || ast.IsGenerated(file) || inTest(pass, pos) {
				continue
			}
			if _, call := wait.Instr.(*ssa.Call); call {
				pos = callStart(file, pos)
			}
			r.finding(analysis.Diagnostic{
				Pos: pos, End: wait.Instr.Pos(),
				Message: fmt.Sprintf("this wait continues after %s has ended: use a select with its Done channel",
					nameOfContext(wait.Context)),
				SuggestedFixes: selectFix(pass, file, wait),
			}, Library, "RL102")
		}
	}
	return r.used, nil
}

// leavesAtOnce reports whether the function does nothing behind the loop around a
// statement, so that to return there only leaves it earlier. path leads from the
// statement outwards. A nil that is returned may be meant for the end of the
// context.
func leavesAtOnce(path []ast.Node, results bool) bool {
	loop := slices.IndexFunc(path, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit:
			return true
		}
		return false
	})
	if loop < 0 {
		return false
	}
	if _, own := path[loop].(*ast.FuncLit); own {
		return false
	}
	for i, n := range path[loop+1:] {
		switch n := n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return true
		case *ast.LabeledStmt:
		case *ast.BlockStmt:
			rest := n.List[slices.Index(n.List, path[loop+i].(ast.Stmt))+1:]
			if len(rest) == 0 {
				continue
			}
			last, ok := rest[0].(*ast.ReturnStmt)
			if !ok || results && (len(last.Results) == 0 || isNil(last.Results[0])) {
				return false
			}
		default:
			return false // inside of another statement, and who knows what follows
		}
	}
	return false
}

func isNil(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "nil"
}

// nameOfContext returns what the code calls a context.
func nameOfContext(v ssa.Value) string {
	switch p, ok := v.(*ssa.Parameter); {
	case ok && retryloop.IsContext(p.Type()):
		return p.Name()
	case ok:
		return p.Name() + ".Context()"
	}
	return "the context"
}

// selectFix returns the fix that waits in a select, where it is known what to
// return when the context ends: nothing, or its error alone.
func selectFix(pass *analysis.Pass, file *ast.File, wait retryloop.DeafWait) []analysis.SuggestedFix {
	call, ok := wait.Instr.(*ssa.Call)
	ctx, isParameter := wait.Context.(*ssa.Parameter)
	if !ok || !isParameter || ctx.Parent() != call.Parent() || !retryloop.IsContext(ctx.Type()) {
		return nil
	}
	if fn := call.Common().StaticCallee(); fn == nil || fn.Pkg == nil || fn.Pkg.Pkg.Path() != "time" {
		return nil // other clocks may know no select
	}
	path, _ := astutil.PathEnclosingInterval(file, call.Pos(), call.Pos())
	i := slices.IndexFunc(path, func(n ast.Node) bool { _, ok := n.(*ast.ExprStmt); return ok })
	if i < 0 {
		return nil
	}
	stmt := path[i].(*ast.ExprStmt)
	sleep, ok := stmt.X.(*ast.CallExpr)
	if !ok || sleep.Lparen != call.Pos() {
		return nil
	}
	// The name may stand for another context here.
	if _, obj := pass.Pkg.Scope().Innermost(stmt.Pos()).LookupParent(ctx.Name(), stmt.Pos()); obj != ctx.Object() {
		return nil
	}
	if !leavesAtOnce(path[i:], call.Parent().Signature.Results().Len() > 0) {
		return nil
	}
	leave := "return"
	switch results := call.Parent().Signature.Results(); {
	case results.Len() == 1 && types.Identical(results.At(0).Type(), types.Universe.Lookup("error").Type()):
		leave = "return " + ctx.Name() + ".Err()"
	case results.Len() > 0:
		return nil
	}
	var d strings.Builder
	if err := format.Node(&d, pass.Fset, sleep.Args[0]); err != nil {
		return nil
	}
	sel, ok := sleep.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return nil
	}
	indent := indentOf(pass.Fset, stmt)
	text := fmt.Sprintf("select {\n%[1]scase <-%[2]s.Done():\n%[1]s\t%[3]s\n%[1]scase <-%[4]s.After(%[5]s):\n%[1]s}",
		indent, ctx.Name(), leave, pkg.Name, &d)
	return []analysis.SuggestedFix{{
		Message:   "Wait in a select with " + ctx.Name() + ".Done()",
		TextEdits: []analysis.TextEdit{{Pos: stmt.Pos(), End: stmt.End(), NewText: []byte(text)}},
	}}
}
