package lint

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// Overflow reports RL107.
var Overflow = &analysis.Analyzer{
	Name: "backoffoverflow",
	Doc: `backoffoverflow: report delays that overflow after many attempts

A delay that is shifted by the number of attempts, or multiplied with a power that
has it as its exponent, is negative or zero after some sixty of them, and a cap that
is applied afterwards does not see it: the loop then tries as fast as it can.

WRONG:

	for attempt := 0; ; attempt++ {
		if c.Ping() == nil {
			return
		}
		time.Sleep(min(time.Second<<attempt, time.Minute))
	}

RIGHT:

	for attempt := 0; ; attempt++ {
		if c.Ping() == nil {
			return
		}
		time.Sleep(time.Second << min(attempt, 6))
	}

The number may be a variable, a field that only this package counts, or what a function is
given, where one of its calls in the package gives it such a number.

It is silent where the number of attempts is compared with anything, or the delay with 0
or with its least; where a loop around goes over items, or ends after some time or number
of rounds; where the delay decides whether it goes on; and about delays without a cap,
which take centuries to overflow.`,
	URL:        pageOf("RL107"),
	Requires:   []*analysis.Analyzer{ssaForm, directiveIndex},
	ResultType: used,
	Run:        runOverflow,
}

func runOverflow(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	for _, power := range retryloop.Overflows(pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs) {
		if file := fileOf(pass, power.Pos()); file != nil && !ast.IsGenerated(file) {
			r.finding(analysis.Diagnostic{
				Pos:            power.Pos(),
				Message:        "this delay overflows when the attempts go on: cap the exponent, not the result",
				SuggestedFixes: clampFix(pass, file, power),
			}, "RL107")
		}
	}
	return r.used, nil
}
