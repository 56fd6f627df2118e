package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// DeferInRetry reports RL306.
var DeferInRetry = &analysis.Analyzer{
	Name: "deferinretry",
	Doc: `deferinretry: report defers that pile up in a retry

A deferred call runs when the function ends, not when the attempt does: each
failure leaves one more body open, one more timer running.

WRONG:

	for range 5 {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err = c.Call(attempt); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}

RIGHT:

	for range 5 {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		err = c.Call(attempt)
		cancel()
		if err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}

It is silent about defers that only a success or the last failure reaches.`,
	URL:        pageOf("RL306"),
	Requires:   []*analysis.Analyzer{retries, directiveIndex},
	ResultType: used,
	Run:        runDeferInRetry,
}

func runDeferInRetry(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		file := fileOf(pass, retry.Call.Pos())
		if file == nil || ast.IsGenerated(file) || inTest(pass, retry.Call.Pos()) {
			continue
		}
		for _, d := range retry.Defers() {
			r.at(d.Pos(), token.NoPos, "RL306", "this runs when the function ends, once for each attempt of %s: call it before the next attempt", retry.Name())
		}
	}
	return r.used, nil
}
