package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// HiddenExhaustion reports RL109.
var HiddenExhaustion = &analysis.Analyzer{
	Name:       "hiddenexhaustion",
	Doc:        docOf("hiddenexhaustion", "RL109"),
	URL:        pageOf("RL109"),
	Requires:   []*analysis.Analyzer{ssaForm, retries, directiveIndex},
	ResultType: used,
	Run:        runHiddenExhaustion,
}

func runHiddenExhaustion(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !informs("RL109") {
		return r.used, nil
	}
	told := map[*ssa.Return]bool{} // several calls of one loop may be tried again
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		file := fileOf(pass, retry.Call.Pos())
		if file == nil || ast.IsGenerated(file) {
			continue
		}
		for _, ret := range retry.Hidden() {
			r.at(ret.Pos(), token.NoPos, Named, "RL109", "this returns nil although %s has not succeeded: return an error",
				retry.Name())
		}
		if e := retry.Exhausted(); e != nil && !told[e.Return] {
			told[e.Return] = true
			r.exhaustion(file, retry, e)
		}
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, poll := range retryloop.ExpiredPolls(fn) {
			if file := fileOf(pass, poll.Call.Pos()); file != nil && !ast.IsGenerated(file) && !told[poll.Expired] {
				told[poll.Expired] = true
				r.at(loopAround(file, poll.Call.Pos(), 0), token.NoPos, Named, "RL109",
					"when the poll of %s is exhausted, the function returns %s: return an error",
					retryloop.NameOf(poll.Call), r.expired(poll))
			}
		}
		for _, ret := range retryloop.Emptied(fn) {
			if file := fileOf(pass, ret.Pos()); file != nil && !ast.IsGenerated(file) && !told[ret] {
				r.at(ret.Pos(), token.NoPos, Named, "RL109",
					"this error is nil, so the caller sees success: return the error of the context")
			}
		}
	}
	return r.used, nil
}

// exhaustion reports how a retry of a file hides that it has given up.
func (r *report) exhaustion(file *ast.File, retry retryloop.Retry, e *retryloop.Exhaustion) {
	line := r.pass.Fset.Position(e.Return.Pos()).Line
	var text string
	switch e.How {
	case retryloop.Swallowed, retryloop.Unset:
		text = fmt.Sprintf("nil at line %d: return the last error", line)
		if variable := unsetError(file, e.Return.Pos()); variable != "" {
			text = fmt.Sprintf("%s at line %d, which is never set: assign the last error to it", variable, line)
		} else if e.How == retryloop.Unset {
			return
		}
	case retryloop.Replaced:
		text = fmt.Sprintf("the error of %s at line %d, which may be nil: return the error of the last attempt",
			retryloop.NameOf(e.By), line)
	case retryloop.Living:
		text = fmt.Sprintf("the context's error at line %d, which is nil until it ends: return the last error", line)
	}
	r.at(position(file, retry), token.NoPos, Named, "RL109",
		"when the retries of %s are exhausted, the function returns %s",
		retry.Name(), text)
}

// unsetError returns the name of the variable that a return at pos gives back as its error, or
// "" if it names none. A bare return names its result if another variable has the same name.
func unsetError(file *ast.File, pos token.Pos) string {
	path, _ := astutil.PathEnclosingInterval(file, pos, pos)
	i := slices.IndexFunc(path, func(n ast.Node) bool { _, ok := n.(*ast.ReturnStmt); return ok })
	if i < 0 {
		return ""
	}
	if results := path[i].(*ast.ReturnStmt).Results; len(results) > 0 {
		if last, ok := results[len(results)-1].(*ast.Ident); ok && last.Name != "nil" {
			return last.Name
		}
		return ""
	}
	for _, n := range path[i:] {
		var fn *ast.FuncType
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.FuncLit:
			fn, body = n.Type, n.Body
		case *ast.FuncDecl:
			fn, body = n.Type, n.Body
		default:
			continue
		}
		results := fn.Results.List[len(fn.Results.List)-1]
		if name := results.Names[len(results.Names)-1].Name; isShadowed(body, name) {
			return name
		}
		return ""
	}
	return ""
}

// isShadowed reports whether a statement declares another variable of a name.
func isShadowed(body ast.Node, name string) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if define, ok := n.(*ast.AssignStmt); ok && define.Tok == token.DEFINE {
			found = found || slices.ContainsFunc(define.Lhs, func(v ast.Expr) bool {
				ident, ok := v.(*ast.Ident)
				return ok && ident.Name == name
			})
		}
		return !found
	})
	return found
}

// expired says what the function of a poll returns when that has run out.
func (r *report) expired(poll retryloop.Poll) string {
	line := r.pass.Fset.Position(poll.Expired.Pos()).Line
	switch poll.How {
	case retryloop.Replaced:
		return fmt.Sprintf("the error of the last %s at line %d, which is nil after any answer", retryloop.NameOf(poll.Call),
			line)
	case retryloop.Living:
		return fmt.Sprintf("the context's error at line %d, which is nil until it ends", line)
	}
	return fmt.Sprintf("nil at line %d, as on success", line)
}

// position returns where the loop begins: at its for, or, where a goto makes
// it, at the call.
func position(file *ast.File, retry retryloop.Retry) token.Pos {
	pos := retry.Call.Pos()
	if retry.IsFor {
		inner := 0
		if retry.OfItems {
			inner = 1
		}
		if loop := loopAround(file, pos, inner); loop != pos {
			return loop
		}
	}
	return callStart(file, pos)
}
