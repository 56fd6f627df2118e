package lint

import (
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// LateRetry reports RL302 of libraries.
var LateRetry = newRule("lateretry", runLateRetry, []string{"RL302"}, ssaForm, attempts)

func runLateRetry(pass *analysis.Pass, r *report) {
	found := pass.ResultOf[attempts].(*attempt.Package)
	for _, fn := range pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs {
		for _, call := range callsOf(fn) {
			file, p := handwritten(pass, call.Pos()), planOf(&call.Call)
			if file == nil || p == nil || p.ctx == nil || p.firstDelay() == 0 {
				continue
			}
			if outer := found.Lifetime(p.ctx); outer.Limit > 0 && p.firstDelay() >= outer.Limit {
				r.at(callStart(file, call.Pos()), call.Pos(), Library, "RL302",
					"the first wait of these retries is at least %v, but the context from line %d ends after %v, so nothing is "+
						"retried: shorten the wait, or raise that timeout", p.firstDelay(), pass.Fset.Position(outer.At).Line,
					outer.Limit)
			}
		}
	}
}

// firstDelay returns the least time that a call waits after the first failure, or 0 if that is not
// known.
func (p *plan) firstDelay() time.Duration {
	delay, known := p.duration(vocab.Delay, p.first)
	greatest, bounded := p.duration(vocab.Longest, p.greatest)
	switch {
	case !known || !bounded || p.vague || p.perhaps || p.exported || p.random || p.attempts == 1,
		p.varied && p.lifted&vocab.Jittered == 0:
		return 0
	case greatest > 0:
		delay = min(delay, greatest)
	}
	if p.bounds&vocab.Halved != 0 {
		delay /= 2
	}
	return delay
}
