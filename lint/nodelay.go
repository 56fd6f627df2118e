package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// NoDelay reports RL103.
var NoDelay = &analysis.Analyzer{
	Name: "nodelay",
	Doc: `nodelay: report remote calls that are tried again at once

A remote call that failed is seldom better a microsecond later, and many callers
that try again at once keep down what is about to recover.

WRONG:

	for range 5 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
	}

RIGHT:

	for attempt := range 5 {
		if _, err = c.Call(ctx, "k"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second << attempt):
		}
	}

Remote is what is given a context, a connection or a request, or returns one. It is
silent where anything between the attempts may wait or put something right, where
the next is made on another connection or server, about one or two retries,
about errors that alone ask for the same again, in loops over items, and in tests.`,
	URL:        pageOf("RL103"),
	Requires:   []*analysis.Analyzer{retries, directiveIndex},
	ResultType: used,
	Run:        runNoDelay,
}

func runNoDelay(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		// RL101 says it of what nothing ends.
		if retry.Bound == retryloop.Unbounded || !retry.AtOnce() {
			continue
		}
		file := fileOf(pass, retry.Call.Pos())
		if file == nil || ast.IsGenerated(file) || inTest(pass, retry.Call.Pos()) {
			continue
		}
		r.at(position(file, retry), token.NoPos, "RL103", "%s is tried again at once when it fails: wait between the attempts, longer each time", retry.Name())
	}
	return r.used, nil
}
