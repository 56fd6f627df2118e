package lint

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// WrapperCall reports RL501 and RL504.
var WrapperCall = &analysis.Analyzer{
	Name:       "wrappercall",
	Doc:        docOf("wrappercall", "RL501", "RL504"),
	URL:        pageOf("RL501"),
	Requires:   []*analysis.Analyzer{ssaForm, retryingFunctions, directiveIndex},
	ResultType: used,
	Run:        runWrapperCall,
}

func runWrapperCall(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	n := pass.ResultOf[retryingFunctions].(*nesting)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, call := range callsOf(fn) {
			callee := call.Call.StaticCallee()
			if callee == nil {
				continue
			}
			if f := n.of(callee); f == nil || !f.Wrapper {
				continue
			}
			// Have: a call of a wrapper
			file := fileOf(pass, call.Pos())
			if file == nil || ast.IsGenerated(file) {
				continue
			}
			pos := callStart(file, call.Pos())
			live := retryloop.LiveContext(call)
			if given := retryloop.GivenContext(call); given != nil && live != nil && isUndecided(given) {
				r.at(pos, call.Pos(), Proven, "RL501", "%s continues after %s has ended: pass it that context", callee.Name(),
					nameOfContext(live))
			}
			if dropsError(file, call) && !inTest(pass, call.Pos()) {
				r.at(pos, call.Pos(), Proven, "RL504", "the error of %s is ignored: return or handle it", callee.Name())
			}
		}
	}
	return r.used, nil
}

// isUndecided reports whether a context never ends, and nobody has written that it is not
// to end with another.
func isUndecided(ctx ssa.Value) bool {
	return retryloop.IsBackground(ctx) && !isCallOf(ctx, "context", "WithoutCancel")
}

// dropsError reports whether a call that returns an error stands alone.
func dropsError(file *ast.File, call *ssa.Call) bool {
	results := call.Call.Signature().Results()
	if results.Len() == 0 || !retryloop.IsError(results.At(results.Len()-1).Type()) {
		return false
	}
	return standsAlone(file, call.Pos())
}
