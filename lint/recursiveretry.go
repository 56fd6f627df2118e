package lint

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// RecursiveRetry reports RL113.
var RecursiveRetry = &analysis.Analyzer{
	Name:       "recursiveretry",
	Doc:        docOf("recursiveretry", "RL113"),
	URL:        pageOf("RL113"),
	Requires:   []*analysis.Analyzer{ssaForm, directiveIndex},
	ResultType: used,
	Run:        runRecursiveRetry,
}

func runRecursiveRetry(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, call := range retryloop.Recursions(fn) {
			if file := fileOf(pass, call.Pos()); file != nil && !ast.IsGenerated(file) {
				r.at(callStart(file, call.Pos()), call.Pos(), Named, "RL113",
					"%s calls itself after a failure without a limit: use a loop that counts the attempts", nameOfFunction(fn))
			}
		}
	}
	return r.used, nil
}
