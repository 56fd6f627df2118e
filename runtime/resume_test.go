package retry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// What Decide adds to a live call: lost attempts, refusals by the breaker of a
// store, the expiry of a record, and the continuation after an interruption.
func TestDecideRestored(t *testing.T) {
	const s = time.Second
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	lost, refused := Failure{Lost: true}, Failure{Err: ErrBreakerOpen, Refused: true}
	failed := Failure{Err: errFailed}
	waits := []Class{ClassBreakerOpen, ClassAny}
	latched := Refusal{Breaker: "up", State: breaker.Escalated}
	open := Refusal{Breaker: "up", State: breaker.Open, AdmitsAt: now.Add(s)}
	openFor := open
	openFor.AdmitsIn = s
	for _, tt := range []struct {
		name    string
		policy  Policy
		state   CallState
		failure Failure
		in      Inputs
		want    Verdict
		after   CallState
	}{
		{"lost", Policy{}, CallState{Attempts: 2}, lost, Inputs{},
			Verdict{Wait: 4 * s}, CallState{Attempts: 2, Lost: 1, Waited: 4 * s, Previous: 4 * s}},
		{"lost, whatever is retried", Policy{RetryOn: []Class{ClassNetwork}}, CallState{}, lost, Inputs{},
			Verdict{Wait: s}, CallState{Lost: 1, Waited: s, Previous: s}},
		{"fails after a loss", Policy{}, CallState{Lost: 1}, failed, Inputs{LostMax: 3},
			Verdict{Wait: 2 * s}, CallState{Attempts: 1, Lost: 1, Waited: 2 * s, Previous: 2 * s}},
		{"lost too often", Policy{}, CallState{Lost: 2}, lost, Inputs{LostMax: 3},
			Verdict{Reason: ErrLost}, CallState{Lost: 3}},
		{"lost without a limit", Policy{}, CallState{Lost: 9}, lost, Inputs{},
			Verdict{Wait: 30 * s}, CallState{Lost: 10, Waited: 30 * s, Previous: 30 * s}},
		{"lost beyond a limit that was lowered", Policy{}, CallState{Attempts: 4}, lost, Inputs{},
			Verdict{Reason: ErrAttempts}, CallState{Attempts: 4, Lost: 1}},

		{"refused", Policy{}, CallState{Attempts: 1}, refused, Inputs{Now: now, Refusal: open},
			Verdict{Reason: ErrBreakerOpen, Refusal: openFor}, CallState{Attempts: 1}},
		{"refused, waits", Policy{RetryOn: waits}, CallState{Attempts: 1}, refused, Inputs{Now: now, Refusal: open},
			Verdict{Wait: 2 * s, Refusal: openFor}, CallState{Attempts: 1, Refusals: 1, Waited: 2 * s, Previous: 2 * s}},
		{"refused, escalated", Policy{RetryOn: waits}, CallState{}, refused, Inputs{Refusal: latched},
			Verdict{Reason: ErrBreakerOpen, Refusal: latched, Escalate: true}, CallState{}},

		{"first failure", Policy{DelayBudget: 3 * s}, CallState{}, failed, Inputs{Now: now},
			Verdict{Wait: s}, CallState{Attempts: 1, Waited: s, Previous: s, FailedAt: now, Expires: now.Add(3 * s)}},
		{"until it expires", Policy{DelayBudget: 3 * s}, CallState{FailedAt: now}, failed,
			Inputs{Now: now.Add(2 * s), Restored: true},
			Verdict{Wait: s}, CallState{Attempts: 1, Waited: s, Previous: s, FailedAt: now, Expires: now.Add(3 * s)}},
		{"expired", Policy{DelayBudget: 3 * s}, CallState{FailedAt: now}, failed,
			Inputs{Now: now.Add(2*s + 1), Restored: true},
			Verdict{Reason: ErrDelayBudget}, CallState{Attempts: 1, Previous: s, FailedAt: now, Expires: now.Add(3 * s)}},
		{"does not expire while it is live", Policy{DelayBudget: 3 * s}, CallState{FailedAt: now}, failed,
			Inputs{Now: now.Add(time.Hour)},
			Verdict{Wait: s}, CallState{Attempts: 1, Waited: s, Previous: s, FailedAt: now, Expires: now.Add(3 * s)}},
		{"expires by the budget of a changed policy", Policy{DelayBudget: time.Hour},
			CallState{FailedAt: now, Expires: now.Add(s)}, failed, Inputs{Now: now.Add(time.Minute), Restored: true},
			Verdict{Wait: s}, CallState{Attempts: 1, Waited: s, Previous: s, FailedAt: now, Expires: now.Add(time.Hour)}},

		{"continues", Policy{}, CallState{Attempts: 2, Waited: 3 * s}, Failure{}, Inputs{Once: ErrNested},
			Verdict{}, CallState{Attempts: 2, Waited: 3 * s}},
		{"continues too late", Policy{DelayBudget: 3 * s}, CallState{Attempts: 1, Waited: s, Expires: now}, Failure{},
			Inputs{Now: now.Add(1), Restored: true},
			Verdict{Reason: ErrDelayBudget}, CallState{Attempts: 1, Waited: s, Expires: now}},
		{"continues before anything failed", Policy{DelayBudget: s, MaxElapsed: s}, CallState{}, Failure{},
			Inputs{Now: now, Restored: true},
			Verdict{}, CallState{}},
		{"continues with all attempts made", Policy{}, CallState{Attempts: 3}, Failure{}, Inputs{},
			Verdict{Reason: ErrAttempts}, CallState{Attempts: 3}},
		{"continues under a greater limit of a class", Policy{PerError: []Override{{ClassAny, Schedule{MaxAttempts: 4}}}},
			CallState{Attempts: 3}, Failure{}, Inputs{},
			Verdict{}, CallState{Attempts: 3}},
		{"continues with too many lost", Policy{}, CallState{Lost: 3}, Failure{}, Inputs{LostMax: 3},
			Verdict{Reason: ErrLost}, CallState{Lost: 3}},
		{"does not continue", Policy{}, CallState{}, Failure{}, Inputs{Ended: ErrCanceled, Cause: io.EOF},
			Verdict{Reason: ErrCanceled, Cause: io.EOF, Ended: true}, CallState{}},
	} {
		after, v := tt.policy.Decide(tt.state, tt.failure, tt.in)
		if v != tt.want || after != tt.after {
			t.Errorf("%s:\ngot  %+v, %+v\nwant %+v, %+v", tt.name, v, after, tt.want, tt.after)
		}
	}
}

// A call whose decisions are made elsewhere reports what Next reports.
func TestResumedCallReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kinds []EventKind
		var attempts []int
		ctx := WithObserver(t.Context(), func(_ context.Context, e Event) {
			kinds, attempts = append(kinds, e.Kind), append(attempts, e.Attempt)
		})
		p := Policy{Name: "charge", Schedule: Schedule{MaxAttempts: 2}}
		call := p.Resume(CallState{Lost: 1}, Shared{})
		if n := AttemptNumber(call.Attempt(ctx)); n != 2 {
			t.Errorf("attempt %d after a lost one, want 2", n)
		}
		f, in := call.Inspect(ctx, status(503))
		s, v := p.Decide(call.State(), f, in)
		if f.Class() != ClassServerError || v.Wait != 2*time.Second {
			t.Fatalf("class %q, %+v", f.Class(), v)
		}
		call.Restore(s)
		call.Retry(ctx, f, v)
		if call.State().Waited != 2*time.Second {
			t.Errorf("the state is %+v", call.State())
		}

		f, in = call.Inspect(ctx, nil)
		in.LostMax = 2
		s, v = p.Decide(call.State(), f, in)
		call.Restore(s)
		err := call.Stop(ctx, f, v)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Reason != ErrLost || e.Attempts != 3 || e.Waited != 2*time.Second || !errors.Is(err, status(503)) {
			t.Errorf("got %#v, want %q after 3 attempts", err, ErrLost)
		}
		if !slices.Equal(kinds, []EventKind{EventRetry, EventStop}) || !slices.Equal(attempts, []int{2, 3}) {
			t.Errorf("events %v of attempts %v", kinds, attempts)
		}
	})
}

// A verdict that was refused elsewhere, by a budget for example, takes back its
// wait.
func TestStopTakesBackWait(t *testing.T) {
	p := Policy{Name: "charge"}
	call := p.Resume(CallState{Attempts: 1, Waited: time.Second}, Shared{})
	f, in := call.Inspect(t.Context(), errFailed)
	s, v := p.Decide(call.State(), f, in)
	call.Restore(s)
	v.Reason, v.Cause = ErrBudget, context.Cause(t.Context())
	err := call.Stop(t.Context(), f, v)
	if e, ok := errors.AsType[*Error](err); !ok || e.Waited != time.Second || call.State().Waited != time.Second {
		t.Errorf("got %#v, waited %v", err, call.State().Waited)
	}
}

// decode(encode(x)) is x for every state that can be decoded.
func FuzzCallState(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"attempts":2,"refusals":1,"lost":1,"waited":3000000000,"previous":2000000000}`))
	f.Add([]byte(
		`{"failed_at":"2026-01-02T03:04:05.678Z","expires":"2026-01-02T04:04:05.678+01:00","deadline":"0001-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s CallState
		if json.Unmarshal(data, &s) != nil {
			return
		}
		c := (&Policy{}).Resume(s, Shared{})
		s = c.State()
		text, err := json.Marshal(s)
		if err != nil {
			return // a time zone that moves the year out of the range of RFC 3339
		}
		var again CallState
		if err := json.Unmarshal(text, &again); err != nil || again != s {
			t.Errorf("%s: got %+v, %v; want %+v", text, again, err, s)
		}
	})
}

// resumeBudgetVector: a restored call makes no retry from the time on at which its
// delay budget has expired.
func resumeBudgetVector(t *testing.T, in struct {
	FailedAt string        `json:"first_failure_at"`
	Budget   time.Duration `json:"retry_budget_ns"`
	Now      string
}, want struct{ Allowed bool }) {
	at := func(text string) time.Time {
		d, err := time.ParseDuration(strings.TrimPrefix(text, "T+"))
		if err != nil {
			t.Fatal(err)
		}
		return time.Unix(0, 0).Add(d)
	}
	p := Policy{Name: "vector", DelayBudget: in.Budget}
	state, _ := p.Decide(CallState{}, Failure{Err: errors.New("timeout")}, Inputs{Now: at(in.FailedAt)})
	_, v := p.Decide(state, Failure{}, Inputs{Now: at(in.Now), Restored: true})
	if allowed := v.Reason == ""; allowed != want.Allowed {
		t.Errorf("allowed: %v (%s), want %v", allowed, v.Reason, want.Allowed)
	}
}
