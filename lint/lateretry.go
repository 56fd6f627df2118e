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
			file := handwritten(pass, call.Pos())
			if file == nil {
				continue
			}
			pos := callStart(file, call.Pos())
			if delay, timeout, ok := standardClient(call); ok && delay >= timeout {
				r.at(pos, call.Pos(), Library, "RL302",
					"the Timeout %v of this client is not above RetryWaitMin, which is %v, so nothing is retried: raise the "+
						"Timeout, or lower RetryWaitMin", timeout, delay)
			}
			delay, ctx := firstDelay(call)
			if ctx == nil || delay == 0 {
				continue
			}
			if contexts.callers == nil {
				contexts.callers = callersOf(fns) // few packages come here
			}
			if outer, ok := contexts.limit(ctx, map[ssa.Value]bool{}); ok && delay >= outer.d {
				r.at(pos, call.Pos(), Library, "RL302",
					"the first wait of these retries is at least %v, but the context from line %d ends after %v, so nothing is "+
						"retried: shorten the wait, or raise that timeout", delay, pass.Fset.Position(outer.at).Line, outer.d)
			}
		}
	}
}

// firstDelay returns how long a call of a library at least waits after the first failure, or 0 if
// that is not known, and the context that ends the wait.
func firstDelay(call *ssa.Call) (least time.Duration, ctx ssa.Value) {
	p := planOf(&call.Call)
	if p == nil || p.ctx == nil || p.vague || p.perhaps || p.most() == 1 {
		return 0, nil
	}
	return p.firstDelay(), p.ctx
}

// firstDelay returns the least first delay of a plan: the interval of a poll, or what the policy
// says. An exponential policy of cenkalti/backoff takes off as much as half.
func (p *plan) firstDelay() time.Duration {
	for _, arg := range p.args {
		if vocab.IsDuration(arg.Type()) {
			delay, _ := durationOf(arg)
			return delay
		}
	}
	switch {
	case p.fields != nil:
		if p.number("Steps") < 2 || maySetElsewhere(p.args[p.Policy]) {
			return 0
		}
		return time.Duration(p.number("Duration"))
	case p.varied && p.lifted&vocab.Jittered == 0:
		return 0
	case p.delay != nil:
		delay, _ := durationOf(p.delay)
		if p.longest != nil {
			longest, _ := durationOf(p.longest)
			delay = min(delay, longest)
		}
		return delay
	}
	for _, call := range p.made {
		if delay, written := madeDelay(call); delay > 0 && !written.sets("RandomizationFactor", "WithRandomizationFactor") {
			return delay / 2
		}
	}
	return 0
}

// madeDelay returns the first delay of what a call makes, or 0, and all of its settings.
func madeDelay(call *ssa.Call) (time.Duration, writtenSettings) {
	for _, s := range allDelaySettings {
		if first, most, w, ok := s.delays(call); ok {
			return min(first, most), w
		}
	}
	return 0, writtenSettings{}
}

// standardClient returns the first delay of a retryablehttp.Client of which a call makes an
// http.Client, and the Timeout of that, which all attempts share.
func standardClient(call *ssa.Call) (delay, timeout time.Duration, ok bool) {
	if !isCallOf(call, retryablehttp, "StandardClient") {
		return 0, 0, false
	}
	maker, isCall := origin(call.Call.Args[0]).(*ssa.Call)
	if !isCall {
		return 0, 0, false
	}
	delay, _ = madeDelay(maker)
	made := writtenSettings{paths: []string{"net/http"}, values: map[string][]ssa.Value{}}
	made.use(call)
	timeout, known := made.value(delaySetting{names: []string{"Timeout"}})
	return delay, timeout, known && delay > 0 && timeout > 0 && !made.changed
}
