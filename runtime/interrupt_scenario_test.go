package retry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/budget"
)

// A scenario is a call under a random policy, and what happens to it.
type scenario struct {
	policy   Policy
	attempts []outcomeOf
	breaker  *breaker.Policy // or nil
	initial  breaker.Snapshot
	budget   float64       // retries, or 0 for no budget
	deadline time.Duration // of the caller, or 0
	cancel   time.Duration // by the caller, or 0
	override time.Duration // of the scope, or 0
	nested   bool
	lostMax  int
	seed     uint64
}

// An outcomeOf an attempt is its error or its loss, after a time.
type outcomeOf struct {
	err  error
	lost bool
	took time.Duration
}

func newScenario(seed uint64) *scenario {
	r := rand.New(rand.NewPCG(seed, 22))
	often := func(n int) bool { return r.IntN(n) == 0 }
	upTo := func(d time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(d))) }
	sc := &scenario{seed: seed, nested: often(8), lostMax: r.IntN(4)}
	p := &sc.policy
	p.Name, p.Schedule = "call", randomSchedule(r)
	for _, class := range []Class{ClassServerError, ClassRateLimit, ClassTimeout} {
		if often(5) {
			p.PerError = append(p.PerError, Override{class, randomSchedule(r)})
		}
	}
	for _, limit := range []*time.Duration{&p.DelayBudget, &p.MaxElapsed, &p.Timeout, &sc.deadline, &sc.cancel} {
		if often(4) {
			*limit = upTo(time.Minute)
		}
	}
	if often(4) {
		p.AttemptTimeout = upTo(5 * time.Second)
	}
	if often(8) {
		p.Scope, p.HardLimit, sc.override = "step", upTo(time.Minute), upTo(2*time.Minute)
	}
	p.Nested = often(2)
	if often(2) {
		sc.breaker = &breaker.Policy{
			Failures: 1 + r.IntN(3), OpenFor: upTo(10 * time.Second), Successes: 1 + r.IntN(2), EscalateAfter: r.IntN(6),
		}
		if often(2) {
			sc.breaker.MaxOpenFor = sc.breaker.OpenFor + upTo(20*time.Second)
		}
		if often(3) {
			sc.breaker.FailureRate, sc.breaker.MinCalls = 0.5, 2
			sc.breaker.SlowRate, sc.breaker.SlowCall = 0.5, time.Second
			if often(2) {
				sc.breaker.WindowCalls = 2 + r.IntN(4)
			}
		}
		states := []breaker.State{breaker.Closed, breaker.Closed, breaker.Open, breaker.HalfOpen, breaker.Escalated}
		sc.initial.State = states[r.IntN(len(states))]
		if sc.initial.State == breaker.Open {
			sc.initial.OpenUntil = synctestStart.Add(upTo(sc.breaker.OpenFor))
		}
		if often(2) {
			p.RetryOn = []Class{ClassAny, ClassBreakerOpen}
			p.InitialDelay = time.Second // without waits, no time would pass until the breaker admits the call
			for i := range p.PerError {
				p.PerError[i].InitialDelay = time.Second
			}
		}
	}
	if often(4) {
		sc.budget = float64(1 + r.IntN(4))
	}
	sc.attempts = randomAttempts(r)
	return sc
}

// randomAttempts returns the ends of attempts. Those after them succeed.
func randomAttempts(r *rand.Rand) (list []outcomeOf) {
	often := func(n int) bool { return r.IntN(n) == 0 }
	upTo := func(d time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(d))) }
	failures := []error{
		errFailed, errFailed, status(503), status(429), ErrTimeout, context.Canceled,
		After(status(429), upTo(20*time.Second)),
		After(errFailed, -1), errors.Join(errFailed, ErrBreakerOpen),
	}
	for range 3 + r.IntN(12) {
		o := outcomeOf{err: failures[r.IntN(len(failures))], took: time.Duration(r.IntN(3)) * upTo(3*time.Second)}
		switch {
		case often(12):
			o.lost = true
		case often(20):
			o.err = Permanent(errFailed)
		case often(20):
			o.err = status(401)
		}
		list = append(list, o)
	}
	return list
}

// synctestStart is the time at which every bubble begins.
var synctestStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func randomSchedule(r *rand.Rand) Schedule {
	s := Schedule{
		MaxAttempts: r.IntN(9), Backoff: Backoff(r.IntN(len(backoffNames))), Jitter: Jitter(r.IntN(len(jitterNames))),
		Increment: time.Duration(r.IntN(3000)) * time.Millisecond, Delays: []time.Duration{time.Second, 3 * time.Second},
		MaxDelay: time.Duration(1+r.IntN(20)) * time.Second, Escalate: r.IntN(6) == 0,
	}
	if r.IntN(3) == 0 {
		s.MaxAttempts = Unlimited
	}
	if r.IntN(2) == 0 {
		s.Jitter = JitterNone
	}
	if r.IntN(4) == 0 {
		s.InitialDelay = None
	}
	if r.IntN(3) == 0 {
		s.RetryAfter = RetryAfter{
			Max: time.Duration(r.IntN(15)) * time.Second, Default: time.Duration(r.IntN(5)) * time.Second,
		}
	}
	return s
}

// live reports whether [Call.Next] can drive the scenario: it has a sample of its
// own for jitter, and loses no attempt.
func (sc *scenario) live() bool {
	jitter := func(s Schedule) bool { return s.Jitter != JitterNone }
	return !jitter(sc.policy.Schedule) &&
		!slices.ContainsFunc(sc.policy.PerError, func(o Override) bool { return jitter(o.Schedule) }) &&
		!slices.ContainsFunc(sc.attempts, func(o outcomeOf) bool { return o.lost })
}

// bubble calls f at synctestStart with the context of the caller.
func (sc *scenario) bubble(t *testing.T, f func(ctx context.Context, shared Shared)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if sc.cancel > 0 {
			defer time.AfterFunc(sc.cancel, cancel).Stop()
		}
		if sc.deadline > 0 {
			limited, stop := context.WithTimeout(ctx, sc.deadline)
			defer stop()
			ctx = limited
		}
		if sc.override > 0 {
			ctx = WithScopeTimeout(ctx, sc.policy.Scope, sc.override)
		}
		if sc.nested {
			ctx = withAttemptNumber(ctx, 2)
		}
		var shared Shared
		if sc.breaker != nil {
			shared.Breaker = breaker.New(*sc.breaker)
			shared.Breaker.Restore(sc.initial)
		}
		if sc.budget > 0 {
			shared.Budget = budget.New(budget.Policy{Burst: sc.budget, MinPerSecond: budget.NoRefill})
		}
		f(ctx, shared)
	})
}

// attempt executes attempt n, which ends with its context at the latest.
func (sc *scenario) attempt(ctx context.Context, n int, trace *strings.Builder) outcomeOf {
	deadline, _ := ctx.Deadline()
	at, until := time.Since(synctestStart), deadline.Sub(synctestStart)
	fmt.Fprintf(trace, "%v: attempt %d until %v\n", at, AttemptNumber(ctx), until)
	if n >= len(sc.attempts) {
		return outcomeOf{}
	}
	o := sc.attempts[n]
	sleep(ctx, o.took)
	return o
}

// next is the trace of a call that Next drives. It has only the attempts, the
// state and the error.
func (sc *scenario) next(t *testing.T) string {
	var trace strings.Builder
	sc.bubble(t, func(ctx context.Context, shared Shared) {
		call := sc.policy.BeginWith(shared)
		defer call.End()
		err := call.Admit(ctx)
		for n := 0; err == nil; n++ {
			o := sc.attempt(call.Attempt(ctx), n, &trace)
			if err = o.err; err == nil {
				call.Succeed()
				break
			}
			err = call.Next(ctx, err)
		}
		sc.end(&trace, shared, call.State(), err)
	})
	return trace.String()
}

// end completes a trace.
func (sc *scenario) end(trace *strings.Builder, shared Shared, s CallState, err error) {
	text, _ := json.Marshal(s)
	fmt.Fprintf(trace, "%v: %s", time.Since(synctestStart), text)
	if shared.Budget != nil {
		fmt.Fprintf(trace, " budget %v", shared.Budget.Left())
	}
	if e, ok := errors.AsType[*Error](err); ok {
		fmt.Fprintf(trace, "\nended: %v [%v] %d %v %v %v cause %v",
			e, e.Reason, e.Attempts, e.Waited, e.RetryAfter, e.Escalated, e.Cause)
		return
	}
	fmt.Fprintf(trace, "\nended: unchanged %v", err)
}
