package lint

import (
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

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

Remote is what is given a context, a connection or a request, or returns one, what is
asked of the answer of such a call, what some clients do that are used without (of
databases, queues, the AWS SDK), interfaces and types of other repositories that are
called a client, or what reaches such a call, in other packages of the module as well.
Beside an error an answer may lead to the next attempt that is not right, or the status
of an HTTP response alone. A loop that waits, but not on the way that a failure takes, or
for some errors only, is reported too; so is a watch that begins again at once when it
fails, an Accept that is made again at once after an error which is only temporary, and a
call of a helper, or of a retry library, that retries what it is given without a delay.

It is silent where anything between the attempts, or in the call, may wait, as for an
answer until a deadline or a timeout, or put something right, where the next is made on
another connection or server, or with an ID that is made up anew, about one or two retries,
without a limit about errors that alone ask for the same again, in loops over items, and in
tests and functions that are given one.`,
	URL:        pageOf("RL103"),
	Requires:   []*analysis.Analyzer{ssaForm, retries, remoteFunctions, hurriedCalls, directiveIndex},
	ResultType: used,
	Run:        runNoDelay,
}

func runNoDelay(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	network := pass.ResultOf[remoteFunctions].(retryloop.Network)
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		// RL101 says it of what nothing ends.
		if retry.Bound == retryloop.Unbounded || !retry.AtOnce(network) {
			continue
		}
		file := fileOf(pass, retry.Call.Pos())
		if file == nil || ast.IsGenerated(file) || inTest(pass, retry.Call.Pos()) || isGivenTest(retry.Call.Parent()) {
			continue
		}
		r.at(position(file, retry), token.NoPos, "RL103", "%s is tried again at once when it fails: wait between the attempts, longer each time", retry.Name())
	}
	hurried := pass.ResultOf[hurriedCalls].([]*ssa.Call)
	calls := slices.Clone(hurried)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		calls = append(calls, retryloop.Skips(fn, network)...)
	}
	for _, call := range calls {
		file := fileOf(pass, call.Pos())
		if file == nil || ast.IsGenerated(file) || inTest(pass, call.Pos()) || isGivenTest(call.Parent()) {
			continue
		}
		said := "%s is tried again at once when it fails: wait between the attempts, longer each time"
		if slices.Contains(hurried, call) {
			said = "%s tries it again at once when it fails: give it a delay that grows"
		}
		r.at(callStart(file, call.Pos()), token.NoPos, "RL103", said, retryloop.NameOf(call))
	}
	return r.used, nil
}
