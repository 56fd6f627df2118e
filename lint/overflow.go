package lint

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// Overflow reports RL107.
var Overflow = &analysis.Analyzer{
	Name:       "backoffoverflow",
	Doc:        docOf("backoffoverflow", "RL107"),
	URL:        pageOf("RL107"),
	Requires:   []*analysis.Analyzer{ssaForm, directiveIndex},
	ResultType: used,
	Run:        runOverflow,
}

func runOverflow(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	for _, power := range retryloop.Overflows(pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs) {
		if file := fileOf(pass, power.Pos()); file != nil && !ast.IsGenerated(file) {
			r.finding(analysis.Diagnostic{
				Pos:            power.Pos(),
				Message:        "this delay overflows after many attempts: limit the exponent, not the result",
				SuggestedFixes: clampFix(pass, file, power),
			}, Proven, "RL107")
		}
	}
	return r.used, nil
}
