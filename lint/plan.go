package lint

import (
	"go/types"
	"slices"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/retrygen/retrygen/lint/internal/attempt"
	"github.com/retrygen/retrygen/lint/internal/flow"
	"github.com/retrygen/retrygen/lint/internal/vocab"
)

// A plan describes how a call retries: the call of a library, as far as the construction of its
// policy is visible, or the call of a helper.
type plan struct {
	*vocab.Retrier
	settings
	args   []ssa.Value // the arguments of the call, beginning with the receiver
	helper *helper     // the fact that describes the helper; nil for a library in the table
}

// planOf returns how a library call retries, or nil if the call does not retry.
func planOf(call *ssa.CallCommon) *plan {
	obj, _ := flow.StaticCallee(call)
	if obj == nil {
		return nil
	}
	l := vocab.RetrierOf(obj)
	if l == nil {
		return nil
	}
	p := &plan{l, newSettings(), argumentsOf(call), nil}
	if l.Op >= len(p.args) || l.Policy >= len(p.args) {
		return nil // another version of the library
	}
	p.bounds = l.Bounds
	if l.Context >= 0 {
		p.ctx = p.args[l.Context]
	}
	if l.Policy >= 0 {
		p.read(p.args[l.Policy])
	}
	p.intervals()
	return p
}

// intervals adds the durations that are arguments of the call: first the wait, then the time
// for which to retry.
func (p *plan) intervals() {
	says := vocab.Delay
	for _, arg := range p.args {
		if vocab.IsDuration(arg.Type()) {
			p.set(says, arg)
			says = vocab.Elapsed
		}
	}
}

// planOfHelper returns how the call of a helper retries.
func planOfHelper(call *ssa.CallCommon, h *helper) *plan {
	p := &plan{&vocab.Retrier{Op: h.Op, Context: h.Context, Policy: -1}, newSettings(), call.Args, h}
	p.limited, p.attempts = !h.Endless, h.Attempts
	if h.Context >= 0 {
		p.ctx = call.Args[h.Context]
	}
	if h.Twin != "" {
		p.Twins = []string{h.Twin}
	}
	if h.Limit >= 0 {
		if given, isConst := flow.IntOf(call.Args[h.Limit]); isConst {
			p.attempts += int(min(max(given, 0), most))
		} else {
			p.attempts = 0
		}
	}
	return p
}

// firstDelay returns the minimum wait after the first failure, or 0 if it is unknown.
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

// until returns which result of the operation counts as success.
func (p *plan) until() attempt.Success {
	if p.helper == nil {
		return attempt.NoError
	}
	return p.helper.Until
}

// evidence returns how certain it is that the retries of a call take some time.
func (p *plan) evidence() Evidence {
	if p.helper != nil && p.isDeaf() && p.wait() == attempt.NoLimit {
		return Named
	}
	return Library
}

// isDeaf reports whether neither the call, nor a variant of it, can take a context.
func (p *plan) isDeaf() bool { return p.Context < 0 && p.With == "" && len(p.Twins) == 0 }

// argumentsOf returns the arguments of a call, beginning with the receiver.
func argumentsOf(call *ssa.CallCommon) []ssa.Value {
	if call.IsInvoke() {
		return append([]ssa.Value{call.Value}, call.Args...)
	}
	return call.Args
}

// op returns the function value that is retried.
func (p *plan) op() ssa.Value { return origin(p.args[p.Op]) }

// isEndless reports whether only the operation or the end of the context can end the retries.
func (p *plan) isEndless() bool {
	return !p.vague && !p.perhaps && !p.limited && !p.decided &&
		p.bounds&(vocab.ByAttempts|vocab.ByTime)&^p.lifted == 0
}

// most returns the maximum number of attempts, or 0 if it is unknown. It is unknown if the
// operation may mark its errors as final.
func (p *plan) most() int {
	switch {
	case p.helper == nil && givesUp(p.op()), p.decided || p.perhaps || p.ErrorEnds && mayFail(operation(p.op())):
		return 0
	case p.attempts > 0:
		return p.attempts
	case p.vague || p.limited || p.lifted&vocab.ByAttempts != 0:
		return 0
	}
	return p.Attempts
}

// mayFail reports whether a condition function may return an error, or is unknown.
func mayFail(condition *ssa.Function) bool {
	if condition == nil {
		return true
	}
	for ret := range flow.Returns(condition) {
		if len(ret.Results) != 2 || !flow.IsNil(ret.Results[1]) {
			return true
		}
	}
	return false
}

// isAtOnce reports whether the operation is retried without a wait, and more often than is
// acceptable without one.
func (p *plan) isAtOnce() bool {
	return p.Bounds&vocab.Delayed != 0 && p.bounds&(vocab.Delayed|vocab.Jittered)&^p.lifted == 0 &&
		!p.vague && !p.perhaps && !p.decided && !p.paused && (p.attempts == 0 || p.attempts > 3)
}

// isAble reports whether the call could take a context that ends, but does not.
func (p *plan) isAble() bool {
	switch {
	case p.Instead != "" || len(p.Twins) > 0:
		return true
	case p.Context >= 0:
		return isGivenRoot(p.ctx)
	}
	return p.helper != nil || p.With != "" && p.ctx == nil && !p.vague
}

// isBrief reports whether all waits together are known to take less than a second. For a
// helper, it reports whether the helper takes no context and its waits are short. If the call
// would need to be replaced by another function to take a context, unknown waits count as
// brief.
func (p *plan) isBrief() bool {
	sum := p.wait()
	if p.helper != nil {
		return p.isDeaf() && sum < shortestDelay
	}
	return sum < time.Second || sum == attempt.NoLimit && p.Instead != ""
}

// wait returns the maximum time for which a helper waits. For a wait.Backoff, it returns the
// sum of the waits in the first thousand steps, at most an hour. It returns attempt.NoLimit if
// the time is unknown.
func (p *plan) wait() time.Duration {
	if h := p.helper; h != nil && h.Delay >= 0 {
		return max(h.Wait, attempt.Longest(p.args[h.Delay]))
	} else if h != nil {
		return h.Wait
	}
	delay, limit, all := p.number(vocab.Delay), p.number(vocab.Last), 0.0
	if p.Policy < 0 || delay == 0 {
		return attempt.NoLimit
	}
	if _, isStruct := p.args[p.Policy].Type().Underlying().(*types.Struct); !isStruct {
		return attempt.NoLimit // an implementation of an interface may wait in another way
	}
	// There is no wait after the last step.
	for range int(min(p.number(vocab.Attempts)-1, 1000)) {
		all += delay * (1 + max(p.number(vocab.Spread), 0))
		if factor := p.number(vocab.Factor); factor > 0 {
			delay *= factor
		}
		if limit > 0 && delay > limit {
			break // the backoff then has no Steps left
		}
	}
	return time.Duration(min(all, float64(time.Hour)))
}

// twin returns the name of the function that does the same and takes a context. From the
// candidates of the package it chooses the first that exists in this version. It returns "" if
// there is none.
func (p *plan) twin(call *ssa.CallCommon) string {
	obj, _ := flow.StaticCallee(call)
	i := slices.IndexFunc(p.Twins, func(name string) bool { return obj.Pkg().Scope().Lookup(name) != nil })
	if i < 0 {
		return p.Instead
	}
	return p.Twins[i]
}
