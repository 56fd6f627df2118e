package lint

import (
	"time"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// LateRetry reports RL302 of libraries.
var LateRetry = newRule("lateretry", runLateRetry, []string{"RL302"}, ssaForm)

func runLateRetry(pass *analysis.Pass, r *report) {
	contexts := newTimeoutFlow(pass, nil)
	fns := pass.ResultOf[ssaForm].(*buildssa.SSA).SrcFuncs
	for _, fn := range fns {
		for _, call := range callsOf(fn) {
			file, p := handwritten(pass, call.Pos()), planOf(&call.Call)
			if file == nil || p == nil || p.ctx == nil || p.firstDelay() == 0 {
				continue
			}
			if contexts.callers == nil {
				contexts.callers = callersOf(fns) // few packages come here
			}
			if outer, ok := contexts.limit(p.ctx, map[ssa.Value]bool{}); ok && p.firstDelay() >= outer.d {
				r.at(callStart(file, call.Pos()), call.Pos(), Library, "RL302",
					"the first wait of these retries is at least %v, but the context from line %d ends after %v, so nothing is "+
						"retried: shorten the wait, or raise that timeout", p.firstDelay(), pass.Fset.Position(outer.at).Line, outer.d)
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
