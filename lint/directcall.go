package lint

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// DirectCall reports RL507.
var DirectCall = &analysis.Analyzer{
	Name:       "directcall",
	Doc:        docOf("directcall", "RL507"),
	URL:        pageOf("RL507"),
	Requires:   []*analysis.Analyzer{ssaForm, retryingFunctions, directiveIndex},
	ResultType: used,
	Run:        runDirectCall,
}

func runDirectCall(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !imports(pass, runtimePath) {
		return r.used, nil
	}
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	n := pass.ResultOf[retryingFunctions].(*nesting)
	wrapper := map[*ssa.Function]*ssa.Function{} // of a bound function
	helps := map[*ssa.Function]bool{}            // what wrappers call
	for _, fn := range fns {
		file := fileOf(pass, fn.Pos())
		if f := n.of(fn); f == nil || !f.Wrapper || file == nil || !ast.IsGenerated(file) {
			continue
		}
		for _, call := range callsOf(fn) {
			if callee := call.Call.StaticCallee(); callee != nil {
				helps[callee] = true
			}
		}
		if bound := boundBy(fn); bound != nil {
			wrapper[bound] = fn
		}
	}
	for _, fn := range fns {
		if outer := declaredAround(fn); helps[outer] || wrapper[outer] != nil {
			continue
		}
		for _, call := range callsOf(fn) {
			callee := call.Call.StaticCallee()
			file := fileOf(pass, call.Pos())
			if callee == nil || wrapper[callee] == nil || file == nil || ast.IsGenerated(file) || inTest(pass, call.Pos()) {
				continue
			}
			r.at(callStart(file, call.Pos()), call.Pos(), Proven, "RL507",
				"this call of %s bypasses its policy: call %s", callee.Name(),
				wrapper[callee].Name())
		}
	}
	return r.used, nil
}

// boundBy returns the function that a wrapper tries: the one whose error its
// loop asks for, besides those of the runtime. A method must be one of the
// wrapper's own type.
func boundBy(fn *ssa.Function) (bound *ssa.Function) {
	for _, call := range callsOf(fn) {
		callee := call.Call.StaticCallee()
		if callee == nil || callee.Object() == nil || retryloop.Around(call) == nil {
			continue
		}
		results := callee.Signature.Results()
		if pkg := callee.Object().Pkg(); pkg == nil || pkg.Path() == runtimePath || results.Len() == 0 ||
			!retryloop.IsError(results.At(results.Len()-1).Type()) {
			continue
		}
		if bound != nil && bound != callee {
			return nil
		}
		bound = callee
	}
	if bound == nil {
		return nil
	}
	if recv := fn.Signature.Recv(); recv != nil &&
		(bound.Signature.Recv() == nil || !types.Identical(recv.Type(), bound.Signature.Recv().Type())) {
		return nil
	}
	return bound
}
