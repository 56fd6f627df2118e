package lint

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

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

Attempts that are spent read as success, too, where the function returns nil behind
the last of them, although it returns the errors that it does not retry. A log of it is no
answer: the caller does not hear of it.

An error that is nil where the context has ended, because the call before has
succeeded, is no answer either; nor is that of a call which the last failure was followed
by, as a rollback.

So does a poll that a counter, a clock or a context ends where it would return after the
right answer, if what it asks may fail and the function returns that.

It is silent about loops that serve until they are told to stop, or stand before what
does, where the function returns a false or another value beside the error, where it
does more than to log before it returns or the next attempt begins, and where it asks, or
gives back, how the attempts have ended. Trying a few times and going on is often
meant: a function that returns none of the errors is not reported.`,
	URL:        pageOf("RL109"),
	Requires:   []*analysis.Analyzer{ssaForm, retries, directiveIndex},
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
		if ret := retry.Spent(); ret != nil {
			r.at(position(file, retry), token.NoPos, "RL109", "when the attempts of %s are spent, the function returns nil at line %d: return the last error", retry.Name(), pass.Fset.Position(ret.Pos()).Line)
		}
		if ret, by := retry.Replaced(); ret != nil {
			r.at(position(file, retry), token.NoPos, "RL109", "when the attempts of %s are spent, the function returns the error of %s at line %d, which may be nil: return that of the last attempt", retry.Name(), retryloop.NameOf(by), pass.Fset.Position(ret.Pos()).Line)
		}
	}
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, poll := range retryloop.ExpiredPolls(fn) {
			if file := fileOf(pass, poll.Call.Pos()); file != nil && !ast.IsGenerated(file) {
				r.at(loopAround(file, poll.Call.Pos()), token.NoPos, "RL109", "when the poll of %s has run out of time or attempts, the function returns nil at line %d, as after the answer that it waits for: return an error",
					retryloop.NameOf(poll.Call), pass.Fset.Position(poll.Expired.Pos()).Line)
			}
		}
		for _, ret := range retryloop.Emptied(fn) {
			if file := fileOf(pass, ret.Pos()); file != nil && !ast.IsGenerated(file) {
				r.at(ret.Pos(), token.NoPos, "RL109", "the error is nil here, so that giving up reads as success: return that of the context")
			}
		}
	}
	return r.used, nil
}
