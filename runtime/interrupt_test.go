package retry

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// A call that is interrupted decides as one that never stopped. Random calls are
// interrupted at each of their points, and at all of them: there, the state of
// the call and of the breaker is encoded, and another Call continues from what
// is decoded. The whole schedule must remain the same: attempts with their
// numbers and deadlines, states, verdicts, breaker and budget after each
// decision, and the error. Only the expiry of the delay budget applies to
// restored calls alone; the oracle of the uninterrupted run adds it.
func TestInterruptedCalls(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(400) {
		sc := newScenario(seed)
		points := 0
		for at := -1; at <= points; at++ { // -1: at all of them
			want, n := sc.run(t, driver{at: at})
			got, _ := sc.run(t, driver{at: at, interrupted: true})
			points = n
			if got != want {
				t.Fatalf("seed %d, interrupted at %d of %d:\n%s\nwithout an interruption:\n%s\npolicy %+v\nbreaker %+v",
					seed, at, n, got, want, sc.policy, sc.breaker)
			}
			seen[want[strings.LastIndex(want, "\n")+1:]]++
		}
		if sc.live() {
			want, _ := sc.run(t, driver{at: points + 1, brief: true})
			if got := sc.next(t); got != want {
				t.Fatalf("seed %d, by Next:\n%s\nby its parts:\n%s\npolicy %+v", seed, got, want, sc.policy)
			}
			seen["next"]++
		}
	}
	ends := []string{"next", "unchanged <nil>"}
	for _, reason := range []Reason{
		ErrPermanent, ErrAttempts, ErrDelayBudget, ErrElapsed, ErrDeadline, ErrCanceled, ErrRetryAfter, ErrBreakerOpen,
		ErrBudget,
		ErrEscalated, ErrNested, ErrLost,
	} {
		ends = append(ends, "["+reason.Error()+"]")
	}
	for _, end := range ends {
		n := 0
		for text, times := range seen {
			if strings.Contains(text, end) {
				n += times
			}
		}
		if n < 10 {
			t.Errorf("%d runs end with %q: the scenarios do not test it", n, end)
		}
	}
}

// A driver makes the calls of a scenario by the parts of a Call. Interrupted, it
// keeps the breaker as a record.
type driver struct {
	at          int // the number of the point, or -1
	interrupted bool
	brief       bool // as the trace of next
}

// A driven call is one under a driver.
type driven struct {
	driver
	*scenario
	t      *testing.T
	ctx    context.Context
	shared Shared
	call   Call

	record breaker.Snapshot
	permit breaker.Permit

	points    int
	restored  bool // a point at which the call is interrupted has passed
	decisions uint64
	first     time.Time // failure or refusal
	last      error
	trace     strings.Builder
}

// run returns the trace of the scenario, and the number of its points.
func (sc *scenario) run(t *testing.T, d driver) (trace string, points int) {
	sc.bubble(t, func(ctx context.Context, shared Shared) {
		x := &driven{driver: d, scenario: sc, t: t, ctx: ctx, shared: shared, record: sc.initial}
		x.call = sc.policy.BeginWith(Shared{Breaker: x.breakerOfProcess()})
		err := x.do()
		x.call.End()
		sc.end(&x.trace, shared, x.call.State(), err)
		trace, points = x.trace.String(), x.points
	})
	return trace, points
}

func (x *driven) breakerOfProcess() *breaker.Breaker {
	if x.interrupted {
		return nil
	}
	return x.shared.Breaker
}

// point is a point at which the process may be killed and another one continues.
func (x *driven) point() {
	here := x.at == -1 || x.points == x.at
	x.points++
	if !here {
		return
	}
	x.restored = true
	if !x.interrupted {
		return
	}
	x.call.End()
	x.call = x.policy.Resume(decoded(x.t, x.call.State()), Shared{})
	if x.last != nil {
		x.call.Inspect(x.ctx, x.last) // so that the caller gets it after a refusal
	}
	x.record, x.permit = decoded(x.t, x.record), decoded(x.t, x.permit)
}

// decoded returns what JSON preserves of v.
func decoded[T any](t *testing.T, v T) (again T) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &again)
	}
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// do makes the call and returns its error.
func (x *driven) do() error {
	for n := 0; ; {
		x.point()
		if v := x.mayContinue(); v.Reason != "" {
			return x.call.Stop(x.ctx, Failure{}, v)
		}
		f, in, ok := x.admit()
		if ok {
			o := x.attempt(x.call.Attempt(x.ctx), n, &x.trace)
			n++
			if o.err == nil {
				x.succeed()
				return nil
			}
			if o.lost {
				o.err = nil
			} else {
				x.last = o.err
			}
			f, in = x.call.Inspect(x.ctx, o.err)
		}
		if v, err := x.decide(f, in); err != nil {
			return err
		} else if !x.wait(&v) {
			return x.call.Stop(x.ctx, f, v)
		}
	}
}

// mayContinue checks whether a restored call may make another attempt.
func (x *driven) mayContinue() (v Verdict) {
	if !x.interrupted {
		if x.restored && x.expired(0) {
			v.Reason = ErrDelayBudget
		}
		return v
	}
	if x.restored {
		_, in := x.call.Inspect(x.ctx, nil)
		in.LostMax = x.lostMax
		_, v = x.policy.Decide(x.call.State(), Failure{}, in)
	}
	return v
}

// expired is the oracle of the expiry: whether a retry after a wait is later
// than the first failure and the delay budget.
func (x *driven) expired(wait time.Duration) bool {
	return x.policy.DelayBudget > 0 && !x.first.IsZero() && time.Now().Add(wait).After(x.first.Add(x.policy.DelayBudget))
}

// admit asks the breaker of the process or the record.
func (x *driven) admit() (f Failure, in Inputs, ok bool) {
	if x.breaker == nil {
		return f, in, true
	}
	if !x.interrupted {
		f, in, ok = x.call.TryAdmit(x.ctx)
	} else if x.permit, ok = x.breaker.Admit(&x.record, time.Now()); !ok {
		_, in = x.call.Inspect(x.ctx, nil)
		f = Failure{Err: ErrBreakerOpen, Refused: true}
	}
	if !ok && x.policy.retriesRefusal(ErrBreakerOpen) {
		x.call.start(x.ctx, time.Now()) // as Admit does
	}
	return f, in, ok
}

func (x *driven) succeed() {
	x.call.Succeed()
	if x.interrupted && x.breaker != nil && !x.breaker.Calm(x.record) {
		x.breaker.Record(&x.record, x.permit, breaker.Success, time.Now())
	}
	if x.shared.Budget != nil {
		x.shared.Budget.Deposit()
	}
}

// decide makes a decision, and returns the error of a call that it ends.
func (x *driven) decide(f Failure, in Inputs) (Verdict, error) {
	if x.first.IsZero() {
		x.first = time.Now()
	}
	if x.interrupted {
		in.Now = time.Now()
		if x.breaker != nil {
			x.breaker.Record(&x.record, x.permit, x.policy.Sample(x.breaker, f), in.Now)
			x.permit, in.Refusal = breaker.Permit{}, RefusalBy(x.breaker.Name, x.record)
		}
	}
	in.LostMax = x.lostMax
	in.Sample = rand.New(rand.NewPCG(x.seed, x.decisions)).Float64()
	x.decisions++
	x.point()
	in.Restored = x.interrupted && x.restored
	s, v := x.policy.Decide(x.call.State(), f, in)
	if again, other := x.policy.Decide(x.call.State(), f, in); again != s || other != v {
		x.t.Errorf("a repeated decision: %+v, %+v; want %+v, %+v", again, other, s, v)
	}
	if !x.interrupted && x.restored {
		x.expire(&s, &v, &f)
	}
	if p := &x.policy; p.DelayBudget > 0 && (!s.FailedAt.Equal(x.first) || s.Expires.Sub(x.first) != p.DelayBudget) {
		x.t.Errorf("the first failure was at %v: %+v", x.first, s)
	}
	x.call.Restore(s)
	x.describe(&f, &v)
	if v.Reason == "" && x.shared.Budget != nil && !f.Refused {
		if cause := x.shared.Budget.Withdraw(); cause != nil {
			v.Reason, v.Cause = reasonOf(cause), cause
		}
	}
	if v.Reason != "" {
		return v, x.call.Stop(x.ctx, f, v)
	}
	x.point()
	x.call.Retry(x.ctx, f, v)
	return v, nil
}

// expire is the oracle: it corrects what was decided as of a call that was not
// restored.
func (x *driven) expire(s *CallState, v *Verdict, f *Failure) {
	p := &x.policy
	fits := v.Reason == "" || v.Reason == ErrRetryAfter || v.Reason == ErrBreakerOpen && !f.Refused
	if v.Ended || !fits && v.Reason != ErrDelayBudget && v.Reason != ErrDeadline && v.Reason != ErrElapsed {
		return
	}
	if !x.expired(max(s.Previous, v.Granted)) {
		return
	}
	s.Waited -= v.Wait
	v.Wait, v.Cause, v.Escalate = 0, nil, p.schedule(f).Escalate
	if !f.Refused {
		v.Refusal = Refusal{}
	}
	v.Reason, v.Limit, v.Allowed = ErrDelayBudget, "", 0
	if fits && !x.expired(s.Previous) {
		v.Reason, v.Limit = ErrRetryAfter, ErrDelayBudget
		v.Allowed = max(min(p.DelayBudget-s.Waited, time.Until(s.Expires)), 0)
	}
}

// describe adds a decision to the trace.
func (x *driven) describe(f *Failure, v *Verdict) {
	if x.brief {
		return
	}
	b := x.record
	if !x.interrupted && x.breaker != nil {
		b = x.shared.Breaker.Save()
	}
	f.classify(&x.policy) // one that was not inspected has no class before
	text, _ := json.Marshal(x.call.State())
	fmt.Fprintf(&x.trace, "%v: %q %s: %+v, breaker %v %d %v", time.Since(synctestStart), f.Class(), text, *v,
		b.State, b.Failures, b.OpenUntil.Sub(synctestStart))
	if x.shared.Budget != nil {
		fmt.Fprintf(&x.trace, ", budget %v", x.shared.Budget.Left())
	}
	x.trace.WriteByte('\n')
}

// wait waits, and reports whether the context of the caller is still alive.
func (x *driven) wait(v *Verdict) bool {
	part := v.Wait / 3
	ok := sleep(x.ctx, part)
	if ok {
		x.point()
		ok = sleep(x.ctx, v.Wait-part)
	}
	if !ok {
		deadline, _ := x.ctx.Deadline()
		v.Reason, v.Cause = ended(x.ctx, deadline, time.Now())
	}
	return ok
}
