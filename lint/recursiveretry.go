package lint

import (
	"go/ast"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// RecursiveRetry reports recursive retries without a limit (RL113).
var RecursiveRetry = newRule("recursiveretry", runRecursiveRetry, []string{"RL113"}, attempts)

func runRecursiveRetry(pass *analysis.Pass, r *report) {
	reported := map[*ssa.Call]bool{} // several operations may be retried by one recursive call
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Recursions {
		file := fileOf(pass, t.Pos())
		if file == nil || ast.IsGenerated(file) || !t.IsEndlessRecursion() {
			continue
		}
		for _, call := range t.Recursion.Calls {
			if !reported[call] {
				reported[call] = true
				r.at(callStart(file, call.Pos()), call.Pos(), Named, "RL113",
					"%s calls itself after a failure without a limit: use a loop that counts the attempts", nameOfFunction(t.Fn))
			}
		}
	}
}
