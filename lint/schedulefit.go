package lint

import (
	"go/ast"
	"go/token"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// ScheduleFit reports RL302.
var ScheduleFit = &analysis.Analyzer{
	Name:       "schedulefit",
	Doc:        docOf("schedulefit", "RL302"),
	URL:        pageOf("RL302"),
	Requires:   []*analysis.Analyzer{ssaForm, retries, directiveIndex},
	ResultType: used,
	Run:        runScheduleFit,
}

func runScheduleFit(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	if !imports(pass, "context") {
		return r.used, nil
	}
	flow := newTimeoutFlow(pass, nil)
	for _, retry := range pass.ResultOf[retries].([]retryloop.Retry) {
		attempts := retry.Attempts()
		ctx := retryloop.GivenContext(retry.Attempt())
		if attempts < 2 || ctx == nil {
			continue
		}
		if flow.callers == nil {
			flow.callers = callersOf(pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs) // few packages come here
		}
		delay, _ := retry.Delay()
		each := time.Duration(0)
		if made := timeoutIn(retry, ctx); made != nil {
			// Have: ctx, cancel := context.WithTimeout(outer, each), in the loop
			each, _ = timeoutOf(made)
			ctx = made.Call.Args[0]
		}
		outer, ok := flow.limit(ctx, map[ssa.Value]bool{})
		all := time.Duration(attempts)*each + time.Duration(attempts-1)*delay
		file := fileOf(pass, retry.Call.Pos())
		// RL301 says it of one attempt, RL304 of a timeout that is meant for one.
		if !ok || all <= outer.d || each >= outer.d || file == nil || ast.IsGenerated(file) ||
			inTest(pass, retry.Call.Pos()) || sharedTimeout(file, retry) != nil {
			continue
		}
		what := "the waits between"
		if each > 0 {
			what = "the timeouts of"
			if delay > 0 {
				what = "the timeouts and waits of"
			}
		}
		r.at(position(file, retry), token.NoPos, Proven, "RL302",
			"%s %d attempts of %s are %v, but the context from line %d ends after %v: make fewer attempts, or raise that "+
				"timeout",
			what, attempts, retry.Name(), all, pass.Fset.Position(outer.at).Line, outer.d)
	}
	return r.used, nil
}

// timeoutIn returns the call that gives the context of each attempt a constant
// timeout, if there is one in the loop.
func timeoutIn(retry retryloop.Retry, ctx ssa.Value) *ssa.Call {
	x, ok := ctx.(*ssa.Extract)
	if !ok || !retryloop.Around(retry.Call)[x.Block()] {
		return nil
	}
	call, ok := x.Tuple.(*ssa.Call)
	if !ok {
		return nil
	}
	if _, ok := timeoutOf(call); !ok {
		return nil
	}
	return call
}
