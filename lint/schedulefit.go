package lint

import (
	"go/token"
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
)

// ScheduleFit reports RL302.
var ScheduleFit = newRule("schedulefit", runScheduleFit, []string{"RL302"}, attempts)

func runScheduleFit(pass *analysis.Pass, r *report) {
	if !imports(pass, "context") {
		return
	}
	found := pass.ResultOf[attempts].(*attempt.Package)
	for _, t := range found.Attempts {
		n, ctx, file := t.Limit(), t.GivenContext(), handwritten(pass, t.Pos())
		if n < 2 || ctx == nil || file == nil || !t.IsRetry() || t.Change != attempt.Same {
			continue
		}
		waits, each := t.Pauses(n), time.Duration(0)
		if made := timeoutIn(t.Loop, ctx); made != nil {
			// Have: ctx, cancel := context.WithTimeout(outer, each), in the loop
			each, _ = attempt.Timeout(made)
			ctx = made.Call.Args[0]
		}
		outer := found.Lifetime(ctx)
		all := time.Duration(n)*each + waits
		if outer.Limit == 0 || all <= outer.Limit || each >= outer.Limit {
			continue
		}
		what := "the waits between"
		if each > 0 {
			what = "the timeouts of"
			if waits > 0 {
				what = "the timeouts and waits of"
			}
		}
		r.at(loopStart(file, t.Loop, t.Op), token.NoPos, t.Evidence, "RL302",
			"%s %d attempts of %s are %v, but the context from line %d ends after %v: make fewer attempts, or raise that "+
				"timeout",
			what, n, t.Name(), all, pass.Fset.Position(outer.At).Line, outer.Limit)
	}
}

// timeoutIn returns the call that gives the context of each attempt a constant
// timeout, if there is one in the loop.
func timeoutIn(loop *flow.Loop, ctx ssa.Value) *ssa.Call {
	call, ok := flow.Source(ctx, flow.Unpacked).(*ssa.Call)
	if !ok || !loop.Has(call.Block()) {
		return nil
	}
	if _, ok := attempt.Timeout(call); !ok {
		return nil
	}
	return call
}
