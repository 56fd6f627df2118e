package lint

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/retryloop"
)

// RecursiveRetry reports RL113.
var RecursiveRetry = &analysis.Analyzer{
	Name: "recursiveretry",
	Doc: `recursiveretry: report functions that call themselves after failures

A function that answers an error by calling itself with the same arguments
retries without a limit, and needs more stack each time.

WRONG:

	func load(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			time.Sleep(time.Second)
			return load(name)
		}
		return b
	}

RIGHT:

	func load(name string, attempts int) ([]byte, error) {
		b, err := os.ReadFile(name)
		if err != nil && attempts > 1 {
			time.Sleep(time.Second)
			return load(name, attempts-1)
		}
		return b, err
	}

A count of the attempts that is handed on, and never compared, ends nothing. Nor does a
context that is given to the attempt, and that nobody asks.

A function that only tells of the failure, waits, and calls the first again is part of it.
It is silent where any other argument differs, where anything else decides but settings
that only what makes the object assigns to, and where something may have been put right
in between. Behind the question which error it was, all counts as that but to tell of it
and to wait.`,
	URL:        pageOf("RL113"),
	Requires:   []*analysis.Analyzer{ssaForm, directiveIndex},
	ResultType: used,
	Run:        runRecursiveRetry,
}

func runRecursiveRetry(pass *analysis.Pass) (any, error) {
	r := newReport(pass)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, call := range retryloop.Recursions(fn) {
			if file := fileOf(pass, call.Pos()); file != nil && !ast.IsGenerated(file) {
				r.at(callStart(file, call.Pos()), call.Pos(), "RL113", "%s calls itself again after a failure, without a limit: count the attempts in a loop", nameOfFunction(fn))
			}
		}
	}
	return r.used, nil
}
