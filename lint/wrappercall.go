package lint

import (
	"go/ast"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
)

// WrapperCall reports wrappers that are not given the caller's context (RL501), and
// wrapper errors that are not checked (RL504).
var WrapperCall = newRule("wrappercall", runWrapperCall,
	[]string{"RL501", "RL504"}, ssaForm, attempts, retryingFunctions)

func runWrapperCall(pass *analysis.Pass, r *report) {
	n := pass.ResultOf[retryingFunctions].(*nesting)
	found := pass.ResultOf[attempts].(*attempt.Package)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, call := range callsOf(fn) {
			callee := call.Call.StaticCallee()
			if callee == nil || !n.tries[call].Wrapper {
				continue
			}
			file := fileOf(pass, call.Pos())
			if file == nil || ast.IsGenerated(file) {
				continue
			}
			expr, alone := callAt(file, call.Pos())
			if expr == nil {
				continue
			}
			live := found.LiveContext(call)
			if live != nil && slices.ContainsFunc(call.Call.Args, isGivenRoot) {
				r.at(expr.Pos(), call.Pos(), Proven, "RL501", "%s continues after %s has ended: pass it that context",
					callee.Name(), nameOfContext(live))
			}
			if flow.ReturnsError(call.Call.Signature()) && alone && !inTest(pass, call.Pos()) {
				r.at(expr.Pos(), call.Pos(), Proven, "RL504", "the error of %s is ignored: return or handle it",
					callee.Name())
			}
		}
	}
}
