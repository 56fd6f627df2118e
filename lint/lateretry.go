package lint

import (
	"go/constant"
	"slices"
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
					"the Timeout %v of this client is not above RetryWaitMin, which is %v, so nothing is retried: raise that, or "+
						"lower this", timeout, delay)
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

// firstDelays return how long calls of libraries at least wait after the first failure, or 0 if
// that is not known.
var firstDelays = []struct {
	paths []string
	least func(args []ssa.Value) time.Duration
}{
	{cenkaltiPaths, func(args []ssa.Value) time.Duration { return backOffDelay(args[1]) }},
	{cenkaltiNewPaths, func(args []ssa.Value) (delay time.Duration) {
		option(args[2], "WithBackOff", func(v ssa.Value) bool { delay = backOffDelay(v); return true })
		return delay
	}},
	{slices.Concat(avastPaths, []string{avastv5}), avastDelay},
	{[]string{sethvargo}, func(args []ssa.Value) time.Duration { return backOffDelay(args[1]) }},
	{[]string{k8sWait}, waitDelay},
}

// firstDelay returns how long a call of a library at least waits after the first failure, and the
// context that ends the wait.
func firstDelay(call *ssa.Call) (least time.Duration, ctx ssa.Value) {
	l := libraryOf(&call.Call)
	if l == nil {
		return 0, nil
	}
	args := call.Call.Args
	if l.ctx >= 0 {
		ctx = args[l.ctx]
	} else if l.stops != nil {
		ctx = l.stops(args)
	}
	if ctx == nil || l.attempts != nil && l.attempts(args) == 1 {
		return 0, nil
	}
	for _, row := range firstDelays {
		if slices.Contains(row.paths, l.paths[0]) {
			return row.least(args), ctx
		}
	}
	return 0, nil
}

// backOffDelay returns the least first delay of a BackOff of cenkalti/backoff or sethvargo/go-retry
// that is made here. An exponential one of cenkalti/backoff takes off as much as half.
func backOffDelay(v ssa.Value) time.Duration {
	b := origin(v)
	for {
		i := 0 // the BackOff that it limits
		if isCallOf(b, sethvargo, "WithMaxRetries", "WithMaxDuration") {
			i = 1
		} else if !isCenkaltiCall(b, "WithContext", "WithMaxRetries") {
			break
		}
		b = origin(b.(*ssa.Call).Call.Args[i])
	}
	call, ok := b.(*ssa.Call)
	if !ok {
		return 0
	}
	fixed := isCallOf(b, sethvargo, "NewConstant", "NewExponential", "NewFibonacci")
	for _, path := range slices.Concat(cenkaltiPaths, cenkaltiNewPaths) {
		fixed = fixed || isCallOf(b, path, "NewConstantBackOff")
	}
	if fixed {
		delay, _ := durationOf(call.Call.Args[0])
		return delay
	}
	delay, written := madeDelay(call)
	if written.sets("RandomizationFactor", "WithRandomizationFactor") {
		return 0
	}
	return delay / 2
}

// madeDelay returns the first delay of what a call makes, or 0, and all of its settings.
func madeDelay(call *ssa.Call) (time.Duration, writtenSettings) {
	for _, s := range allDelaySettings {
		w, ok := s.writtenFor(call)
		if !ok {
			continue
		}
		first, known := w.value(s.first)
		most, bounded := w.value(s.most)
		if known && bounded && !w.sets(s.custom) {
			return min(first, most), w
		}
	}
	return 0, writtenSettings{}
}

// avastDelay returns the least first delay of a call of avast/retry-go. By default a random delay
// is added to that of the option.
func avastDelay(args []ssa.Value) (delay time.Duration) {
	options := avastOptions(args)
	if options == nil || !seen(options) ||
		option(options, "DelayType", func(v ssa.Value) bool { return !isFixedDelay(v) }) {
		return 0
	}
	most := time.Duration(0)
	option(options, "Delay", func(v ssa.Value) bool { delay, _ = durationOf(v); return true })
	if option(options, "MaxDelay", func(v ssa.Value) bool { most, _ = durationOf(v); return true }) {
		return min(delay, most)
	}
	return delay
}

// waitDelay returns the interval of a poll, or the least first delay of a wait.Backoff.
func waitDelay(args []ssa.Value) time.Duration {
	for _, arg := range args {
		if vocab.IsDuration(arg.Type()) {
			delay, _ := durationOf(arg)
			return delay
		}
		if isNamedType(arg.Type(), k8sWait, "Backoff") && !maySetElsewhere(arg) {
			steps, fields := stepsOf(arg)
			if steps < 2 || fields["Duration"] == nil {
				return 0
			}
			delay, _ := constant.Int64Val(constant.ToInt(fields["Duration"]))
			return time.Duration(delay)
		}
	}
	return 0
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
