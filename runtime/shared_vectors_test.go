package retry

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// sharedKinds are the kinds of vectors about what calls share.
var sharedKinds = map[string]any{
	"breaker": func(t *testing.T, in struct {
		Impl      string
		Start     string
		Threshold int
		Failures  int           `json:"failure_threshold"`
		Recovery  time.Duration `json:"recovery_ns"`
		Timeout   time.Duration `json:"timeout_ns"`
		Successes int           `json:"success_threshold"`
		Most      int           `json:"half_open_max_calls"`
		Probes    int           `json:"half_open_requests"`
		Ops       []string
	}, want struct {
		IsOpen   []bool `json:"is_open"`
		State    string
		Failures int `json:"failure_count"`
	}) {
		synctest.Test(t, func(t *testing.T) {
			if in.Impl == "retry_state" && in.Most == 0 {
				in.Most = 3 // its default
			}
			b := breaker.New(breaker.Policy{
				Failures: max(in.Threshold, in.Failures), OpenFor: max(in.Recovery, in.Timeout),
				Successes: max(in.Successes, in.Most, 1), HalfOpenCalls: max(in.Most, in.Probes, 1),
			})
			if in.Start == "HalfOpen" {
				b.Restore(breaker.Snapshot{State: breaker.HalfOpen})
			}
			var isOpen []bool
			for _, op := range in.Ops {
				if op == "is_open" {
					isOpen = append(isOpen, b.State() == breaker.Open)
				} else {
					operate(t, b, op)
				}
			}
			if !slices.Equal(isOpen, want.IsOpen) {
				t.Errorf("is_open %v, want %v", isOpen, want.IsOpen)
			}
			if s := b.Save(); want.State != "" &&
				(!strings.EqualFold(s.State.String(), want.State) || s.State == breaker.Closed && s.Failures != want.Failures) {
				t.Errorf("got %+v, want %+v", s, want)
			}
		})
	},

	"breaker_escalate": func(t *testing.T, in struct{ Ops []string }, want struct{ Returns []any }) {
		synctest.Test(t, func(t *testing.T) {
			b := breaker.New(breaker.Policy{EscalateAfter: 5})
			for i, op := range in.Ops {
				var got any
				switch op {
				case "fail":
					operate(t, b, op)
					got = map[breaker.State]string{
						breaker.Closed: "RETRY", breaker.Open: "PAUSE", breaker.Escalated: "ESCALATE",
					}[b.State()]
				case "can_proceed":
					got = b.State() == breaker.HalfOpen
				default:
					operate(t, b, op)
				}
				if got != want.Returns[i] {
					t.Errorf("%d, %s: got %v, want %v", i, op, got, want.Returns[i])
				}
			}
			time.Sleep(24 * time.Hour)
			if got := b.State(); got != breaker.Escalated {
				t.Errorf("a day later the breaker is %v", got)
			}
			if b.Reset(); b.State() != breaker.Closed {
				t.Error("Reset does not close it")
			}
		})
	},

	"breaker_can_proceed": func(t *testing.T, in struct {
		Failures int
		Seconds  []float64 `json:"seconds_since_last_failure"`
	}, want struct {
		Can []bool `json:"can_proceed"`
	}) {
		for i, s := range in.Seconds {
			synctest.Test(t, func(t *testing.T) {
				b := breaker.New(breaker.Policy{})
				for range in.Failures {
					operate(t, b, "fail")
				}
				time.Sleep(time.Duration(s * float64(time.Second)))
				if _, got := b.Admit(); got != want.Can[i] {
					t.Errorf("after %vs: %v, want %v", s, got, want.Can[i])
				}
			})
		}
	},

	"timeout_override": func(t *testing.T, in struct {
		Scope    string
		Override int `json:"override_ms"`
	}, want struct {
		Effective int    `json:"effective_ms"`
		Lint      string // for package policy
	}) {
		limits := map[string][2]time.Duration{"llm_call": {2 * time.Minute, 3 * time.Minute},
			"step": {10 * time.Minute, 15 * time.Minute}}[in.Scope]
		p := Policy{Scope: in.Scope, Timeout: limits[0], HardLimit: limits[1]}
		asked := time.Duration(in.Override) * time.Millisecond
		var clamped time.Duration
		ctx := WithScopeTimeout(t.Context(), in.Scope, asked)
		ctx = WithObserver(ctx, func(_ context.Context, e Event) { clamped = e.Timeout })
		got := p.timeout(ctx)
		if got != time.Duration(want.Effective)*time.Millisecond || (clamped > 0) != (asked > got) {
			t.Errorf("effective %v, want %d ms; clamped %v", got, want.Effective, clamped)
		}
	},
}
