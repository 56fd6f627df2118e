package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// HiddenExhaustion reports RL109.
var HiddenExhaustion = &analysis.Analyzer{
	Name: "hiddenexhaustion",
	Doc: `hiddenexhaustion: report retries that give up without an error

A function that returns nil when its context ended tells its caller that the
operation succeeded.

WRONG:

	for {
		select {
		case <-ctx.Done():
			return nil
		default:
		}
		if c.Ping() == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}

RIGHT:

	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if c.Ping() == nil {
			return nil
		}
		time.Sleep(time.Millisecond)
	}

It is silent about loops that serve until they are told to stop, and where the
function says anything before it returns. Attempts that are spent are not
reported: trying a few times and going on is often meant.`,
	URL:        pageOf("RL109"),
	Requires:   []*analysis.Analyzer{retries, directiveIndex},
	ResultType: used,
	Run:        runHiddenExhaustion,
}

func runHiddenExhaustion(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		file := fileOf(pass, retry.Call.Pos())
		if file == nil || ast.IsGenerated(file) {
			continue
		}
		for _, ret := range retry.Hidden() {
			r.at(ret.Pos(), token.NoPos, "RL109", "giving up reads as success of %s: return an error", retry.Name())
		}
	}
	return r.used, nil
}
