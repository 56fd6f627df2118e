package lint

import (
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
)

// DeferInRetry reports defer statements inside retries (RL306).
var DeferInRetry = newRule("deferinretry", runDeferInRetry, []string{"RL306"}, attempts)

func runDeferInRetry(pass *analysis.Pass, r *report) {
	known := map[*ssa.Defer]bool{}
	for _, t := range pass.ResultOf[attempts].(*attempt.Package).Attempts {
		if t.IsDaemon() || t.Change != attempt.Same {
			continue // each iteration works, or may work, on something else
		}
		for _, d := range t.Defers() {
			if !known[d] && handwritten(pass, d.Pos()) != nil {
				known[d] = true
				r.at(d.Pos(), token.NoPos, Named, "RL306",
					"this defer runs when the function returns, once for each attempt of %s: call it before the next attempt",
					t.Name())
			}
		}
	}
}
