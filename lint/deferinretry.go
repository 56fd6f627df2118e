package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// DeferInRetry reports RL306.
var DeferInRetry = &analysis.Analyzer{
	Name:       "deferinretry",
	Doc:        docOf("deferinretry", "RL306"),
	URL:        pageOf("RL306"),
	Requires:   []*analysis.Analyzer{ssaForm, retries, directiveIndex},
	ResultType: used,
	Run:        runDeferInRetry,
}

func runDeferInRetry(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	said := map[*ssa.Defer]bool{}
	say := func(d *ssa.Defer, each, next string) {
		file := fileOf(pass, d.Pos())
		if said[d] || file == nil || ast.IsGenerated(file) || inTest(pass, d.Pos()) {
			return
		}
		said[d] = true
		r.at(d.Pos(), token.NoPos, Proven, "RL306",
			"this defer runs when the function returns, once for each %s: call it before the next %s", each, next)
	}
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		for _, d := range retry.Defers() {
			say(d, "attempt of "+retry.Name(), "attempt")
		}
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, d := range retryloop.Piles(fn) {
			say(d, "iteration", "iteration")
		}
	}
	return r.used, nil
}
