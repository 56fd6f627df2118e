package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// SharedDeadline reports RL304.
var SharedDeadline = newRule("shareddeadline", runSharedDeadline, []string{"RL304"}, attempts)

func runSharedDeadline(pass *analysis.Pass, r *report) {
	if !imports(pass, "context") {
		return
	}
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		file := handwritten(pass, t.Pos())
		if file == nil {
			continue
		}
		if made := sharedTimeout(file, t); made != nil {
			r.at(callStart(file, made.Pos()), token.NoPos, Named, "RL304",
				"all attempts of %s share this timeout, and the first may use it up: create a context for each attempt",
				t.Name())
		}
	}
}

// sharedTimeout returns the call that gives a context the timeout of one attempt, which all
// attempts share, or nil.
func sharedTimeout(file *ast.File, t *attempt.Attempt) *ssa.Call {
	ctx, ok := t.GivenContext().(*ssa.Extract)
	if !ok || !t.IsRetry() {
		return nil
	}
	made, ok := ctx.Tuple.(*ssa.Call)
	if !ok || t.Loop.Has(made.Block()) {
		return nil
	}
	if !isTimed(made) || !vocab.IsDuration(made.Call.Args[1].Type()) || isUsedTwice(ctx, t.Loop) {
		return nil
	}
	if !t.Asks(made.Call.Args[0]) && !isNamedForAttempt(file, made) {
		return nil
	}
	return made
}

// isUsedTwice reports whether a loop has a context for more than one call.
func isUsedTwice(ctx ssa.Value, loop *flow.Loop) bool {
	uses := 0
	for _, ref := range *ctx.Referrers() {
		if _, debug := ref.(*ssa.DebugRef); !debug && loop.Has(ref.Block()) {
			uses++
		}
	}
	return uses > 1
}

// isNamedForAttempt reports whether a timeout, or the context that it is given
// to, is named for one attempt.
func isNamedForAttempt(file *ast.File, made *ssa.Call) bool {
	path, _ := astutil.PathEnclosingInterval(file, made.Pos(), made.Pos())
	for _, n := range path {
		switch n := n.(type) {
		case *ast.CallExpr:
			if n.Lparen == made.Pos() && len(n.Args) > 1 && isNamedSo(n.Args[1]) {
				return true
			}
		case *ast.AssignStmt:
			return isNamedSo(n.Lhs[0])
		case *ast.FuncLit, *ast.FuncDecl:
			return false
		}
	}
	return false
}

func isNamedSo(expr ast.Expr) bool {
	switch expr := expr.(type) {
	case *ast.Ident:
		return vocab.IsForAttempt(expr.Name)
	case *ast.SelectorExpr:
		return vocab.IsForAttempt(expr.Sel.Name)
	}
	return false
}
