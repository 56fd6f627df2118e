package lint

import (
	"go/ast"
	"go/token"
	"regexp"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// SharedDeadline reports RL304.
var SharedDeadline = &analysis.Analyzer{
	Name:       "shareddeadline",
	Doc:        docOf("shareddeadline", "RL304"),
	URL:        pageOf("RL304"),
	Requires:   []*analysis.Analyzer{retries, directiveIndex},
	ResultType: used,
	Run:        runSharedDeadline,
}

func runSharedDeadline(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !imports(pass, "context") {
		return r.used, nil
	}
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		file := fileOf(pass, retry.Call.Pos())
		if file == nil || ast.IsGenerated(file) || inTest(pass, retry.Call.Pos()) {
			continue
		}
		if made := sharedTimeout(file, retry); made != nil {
			r.at(callStart(file, made.Pos()), token.NoPos, Named, "RL304",
				"all attempts of %s share this timeout, and the first may use it up: create a context for each attempt",
				retry.Name())
		}
	}
	return r.used, nil
}

// sharedTimeout returns the call that gives a context the timeout of one attempt, which all
// attempts share, or nil.
func sharedTimeout(file *ast.File, retry retryloop.Retry) *ssa.Call {
	ctx, ok := retryloop.GivenContext(retry.Attempt()).(*ssa.Extract)
	if !ok {
		return nil
	}
	made, ok := ctx.Tuple.(*ssa.Call)
	loop := retryloop.Around(retry.Call)
	if !ok || loop[made.Block()] {
		return nil
	}
	name := contextFunc(made)
	if name != "WithTimeout" && name != "WithTimeoutCause" || usedBeside(ctx, retry.Attempt(), loop) {
		return nil
	}
	if !outlives(loop, made.Call.Args[0]) && !isNamedForAttempt(file, made) {
		return nil
	}
	return made
}

// usedBeside reports whether a loop has a context for anything but one call.
func usedBeside(ctx ssa.Value, call *ssa.Call, loop map[*ssa.BasicBlock]bool) bool {
	for _, ref := range *ctx.Referrers() {
		if _, debug := ref.(*ssa.DebugRef); !debug && ref != ssa.Instruction(call) && loop[ref.Block()] {
			return true
		}
	}
	return false
}

// outlives reports whether a loop asks for the end of a context.
func outlives(loop map[*ssa.BasicBlock]bool, ctx ssa.Value) bool {
	for b := range loop {
		if branch, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If); ok && retryloop.ContextAsked(branch.Cond) == ctx {
			return true
		}
	}
	return false
}

var attemptName = regexp.MustCompile(`(?i)attempt|per_?(try|call|request)`)

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
		return attemptName.MatchString(expr.Name)
	case *ast.SelectorExpr:
		return attemptName.MatchString(expr.Sel.Name)
	}
	return false
}
