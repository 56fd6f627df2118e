package lint

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/flow"
)

// DirectCall reports calls that bypass their wrapper (RL507).
var DirectCall = newRule("directcall", runDirectCall, []string{"RL507"}, ssaForm, boundFunctions)

func runDirectCall(pass *analysis.Pass, r *report) {
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	wrappers := pass.ResultOf[boundFunctions].(wrappers)
	helps := calledByGenerated(pass, fns)
	for _, fn := range fns {
		outer := declaredAround(fn)
		if declared, ok := outer.Object().(*types.Func); helps[outer] || ok && wrappers.own.of(declared) != nil {
			continue // its own wrapper retries this call
		}
		for _, call := range callsOf(fn) {
			callee, _ := flow.StaticCallee(call.Common())
			file := handwritten(pass, call.Pos())
			if callee == nil || file == nil {
				continue
			}
			if wrapper := wrappers.of(callee); wrapper != "" {
				r.at(callStart(file, call.Pos()), call.Pos(), Proven, "RL507",
					"this call of %s bypasses its policy: call %s", callee.Name(), wrapper)
			}
		}
	}
}

// calledByGenerated returns the functions that generated code calls: bound functions, fallbacks
// and checks.
func calledByGenerated(pass *analysis.Pass, fns []*ssa.Function) map[*ssa.Function]bool {
	called := map[*ssa.Function]bool{}
	for _, fn := range fns {
		if file := fileOf(pass, fn.Pos()); file == nil || !ast.IsGenerated(file) {
			continue
		}
		for _, call := range callsOf(fn) {
			if callee := call.Call.StaticCallee(); callee != nil {
				called[callee] = true
			}
		}
	}
	return called
}
