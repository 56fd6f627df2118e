package lint

import (
	"fmt"
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// UnboundedLibrary reports RL201 and RL202.
var UnboundedLibrary = &analysis.Analyzer{
	Name: "unboundedlibrary",
	Doc: `unboundedlibrary: report libraries and helpers that retry for ever

A retry library that is told no limit, or a function that retries what it is
given in a loop that nothing ends, goes on for ever when the operation can never
succeed. Helpers are followed across packages.

WRONG:

	backoff.Retry(c.Ping, backoff.NewConstantBackOff(time.Second))

RIGHT:

	backoff.Retry(c.Ping, backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 10))

Where a context is at hand that could end it, the same line says so as RL202: of a
library, or of a helper that takes one or whose operation uses one.

It is silent where a context that somebody may end is given, where the operation
counts or asks a context itself, and about options that are not seen.`,
	URL:        pageOf("RL201"),
	Requires:   []*analysis.Analyzer{endlessRetries, directiveIndex},
	ResultType: used,
	Run:        runUnboundedLibrary,
}

func runUnboundedLibrary(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	for _, e := range pass.ResultOf[endlessRetries].([]endless) {
		file := fileOf(pass, e.call.Pos())
		if file == nil || ast.IsGenerated(file) {
			continue
		}
		text, codes := "give it a limit", []string{"RL201"}
		if ctx := retryloop.LiveContext(e.call); ctx != nil && e.able {
			text, codes = fmt.Sprintf("give it %s, or a limit", nameOfContext(ctx)), append(codes, "RL202")
		}
		if retryloop.Spins(e.call) {
			text, codes = text+"; the loop around it starts it again at once", append(codes, "RL103")
		}
		pos := callStart(file, e.call.Pos())
		r.finding(analysis.Diagnostic{
			Pos: pos, End: e.call.Pos(),
			Message: fmt.Sprintf("%s retries until it succeeds, for ever: %s", e.call.Call.StaticCallee().Name(), text),
		}, codes...)
	}
	return r.used, nil
}
