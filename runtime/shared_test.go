package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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
			b := NewBreaker(BreakerPolicy{
				Failures: max(in.Threshold, in.Failures), OpenFor: max(in.Recovery, in.Timeout), EscalateAfter: None,
				Successes: max(in.Successes, in.Most, 1), HalfOpenCalls: max(in.Most, 1),
			})
			if in.Start == "HalfOpen" {
				b.Restore(BreakerSnapshot{State: HalfOpen})
			}
			var isOpen []bool
			for _, op := range in.Ops {
				if op == "is_open" {
					isOpen = append(isOpen, b.State() == Open)
				} else {
					operate(t, b, op)
				}
			}
			if !slices.Equal(isOpen, want.IsOpen) {
				t.Errorf("is_open %v, want %v", isOpen, want.IsOpen)
			}
			if s := b.Save(); want.State != "" && (!strings.EqualFold(s.State.String(), want.State) || s.State == Closed && s.Failures != want.Failures) {
				t.Errorf("got %+v, want %+v", s, want)
			}
		})
	},

	"breaker_escalate": func(t *testing.T, in struct{ Ops []string }, want struct{ Returns []any }) {
		synctest.Test(t, func(t *testing.T) {
			b := NewBreaker(BreakerPolicy{})
			for i, op := range in.Ops {
				var got any
				switch op {
				case "fail":
					operate(t, b, op)
					got = map[BreakerState]string{Closed: "RETRY", Open: "PAUSE", Escalated: "ESCALATE"}[b.State()]
				case "can_proceed":
					got = b.State() == HalfOpen
				default:
					operate(t, b, op)
				}
				if got != want.Returns[i] {
					t.Errorf("%d, %s: got %v, want %v", i, op, got, want.Returns[i])
				}
			}
			time.Sleep(24 * time.Hour)
			if got := b.State(); got != Escalated {
				t.Errorf("a day later the breaker is %v", got)
			}
			if b.Reset(); b.State() != Closed {
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
				b := NewBreaker(BreakerPolicy{})
				for range in.Failures {
					operate(t, b, "fail")
				}
				time.Sleep(time.Duration(s * float64(time.Second)))
				if _, got := b.admit(time.Now()); got != want.Can[i] {
					t.Errorf("after %vs: %v, want %v", s, got, want.Can[i])
				}
			})
		}
	},

	"retry_budget_clamp": func(t *testing.T, in struct {
		Total   int `json:"retry_budget"`
		PerUnit int `json:"retry_budget_per_workflow"`
		Env     struct {
			Default, Max int
			UnitDefault  int `json:"per_workflow_default"`
			UnitMax      int `json:"per_workflow_max"`
		}
	}, want struct {
		Total   int `json:"total_budget"`
		PerUnit int `json:"per_workflow_max"`
	}) {
		p := JobBudgetPolicy{Retries: in.Env.Default, MaxRetries: in.Env.Max, PerUnit: in.Env.UnitDefault, MaxPerUnit: in.Env.UnitMax}
		b, err := NewJobBudget(p, in.Total, in.PerUnit)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Policy(); got.Retries != want.Total || got.PerUnit != want.PerUnit {
			t.Errorf("got %+v, want %+v", got, want)
		}
	},

	"retry_budget_sequence": func(t *testing.T, in struct {
		Total    int `json:"total_budget"`
		PerUnit  int `json:"per_workflow_max"`
		Requests []string
	}, want struct {
		Results  [][2]any
		Consumed int
		Units    map[string]int `json:"per_workflow"`
		Refused  int
	}) {
		b, err := NewJobBudget(JobBudgetPolicy{}, in.Total, in.PerUnit)
		if err != nil {
			t.Fatal(err)
		}
		for i, unit := range in.Requests {
			if ok, reason := b.Take(unit); ok != want.Results[i][0] || reason != want.Results[i][1] {
				t.Errorf("%d, %s: got %v, %q; want %v", i, unit, ok, reason, want.Results[i])
			}
		}
		if b.Consumed() != want.Consumed || b.Refused() != want.Refused {
			t.Errorf("%d consumed, %d refused; want %d, %d", b.Consumed(), b.Refused(), want.Consumed, want.Refused)
		}
	},

	"retry_budget_missing": func(t *testing.T, in struct{ Job string }, want struct {
		Allowed bool
		Reason  string
	}) {
		jobs := map[string]*JobBudget{}
		if ok, reason := jobs[in.Job].Take("unit"); ok != want.Allowed || reason != want.Reason {
			t.Errorf("got %v, %q; want %+v", ok, reason, want)
		}
	},

	"retry_storm": func(t *testing.T, in struct {
		Units   int `json:"workflow_count"`
		Losses  int
		Total   int `json:"total_budget"`
		PerUnit int `json:"per_workflow_max"`
	}, want struct {
		Granted int
		Failed  int `json:"failed_for_good"`
	}) {
		b, err := NewJobBudget(JobBudgetPolicy{}, in.Total, in.PerUnit)
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for i := range in.Units {
			wait.Go(func() {
				for range in.Losses {
					b.Take(string(rune('a' + i)))
				}
			})
		}
		wait.Wait()
		if b.Consumed() != want.Granted || b.Refused() != want.Failed {
			t.Errorf("%d granted, %d refused; want %+v", b.Consumed(), b.Refused(), want)
		}
	},

	"best_effort_completion": func(t *testing.T, in struct {
		Enabled                   bool
		Min                       int `json:"min_dcs"`
		Deadline                  float64
		Target, Completed, Failed []string
		Now                       float64
	}, want struct {
		Result [3]any
		Ratio  float64 `json:"completion_ratio"`
	}) {
		var effort *BestEffort
		if in.Enabled {
			effort = &BestEffort{MinSuccess: in.Min, Deadline: time.Duration(in.Deadline * 1e9)}
		}
		p, results := newProgress(effort, in.Target), map[string]bool{}
		for _, unit := range in.Completed {
			p.report(results, unit, true)
		}
		for _, unit := range in.Failed {
			p.report(results, unit, false)
		}
		p.report(results, "nobody", true)
		d := p.decide(time.Duration(in.Now * 1e9))
		if d.Complete != want.Result[0] || d.Reason != want.Result[1] || d.Success != want.Result[2] || d.Ratio-want.Ratio > 1e-6 || want.Ratio-d.Ratio > 1e-6 {
			t.Errorf("got %+v, want %+v", d, want)
		}
	},

	"best_effort_min_dcs": func(t *testing.T, in struct {
		Min     int `json:"min_dcs"`
		Targets int
	}, want int) {
		units := []string{"a", "b", "c"}[:in.Targets]
		if got := newProgress(&BestEffort{MinSuccess: in.Min}, units).effort.MinSuccess; got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	},

	"best_effort_deadline_seconds": func(t *testing.T, in, want int) {
		b := BestEffort{Deadline: time.Duration(in) * time.Second}
		if got := b.Effective().Deadline; got != time.Duration(want)*time.Second {
			t.Errorf("got %v, want %ds", got, want)
		}
	},

	"late_results": func(t *testing.T, in struct {
		Min      int `json:"min_dcs"`
		Deadline int
		Target   []string
		Events   [][3]any
	}, want struct {
		Decisions []struct {
			Complete, Provisional bool
			Reason                string
			Success               *bool
		}
		Ratio float64 `json:"ratio_between"`
	}) {
		p := newProgress(&BestEffort{MinSuccess: in.Min, Deadline: time.Duration(in.Deadline) * time.Second, Late: UpdateResult}, in.Target)
		results := map[string]bool{}
		for i, e := range in.Events {
			if e[0] != "check" {
				p.report(results, e[0].(string), e[1].(bool))
			}
			d, w := p.decide(time.Duration(e[2].(float64)*float64(time.Second))), want.Decisions[i]
			if d.Complete != w.Complete || d.Provisional != w.Provisional || d.Reason != w.Reason || w.Success != nil && d.Success != *w.Success {
				t.Errorf("%d: got %+v, want %+v", i, d, w)
			}
			if i == 0 && want.Ratio > 0 && d.Ratio != want.Ratio {
				t.Errorf("ratio %v, want %v", d.Ratio, want.Ratio)
			}
		}
	},

	"best_effort_metrics": func(t *testing.T, in struct{ Events [][]any }, want struct {
		Completions map[string]float64 `json:"completions_by_reason"`
		Ratio       map[string]float64
		Late        map[string]float64
	}) {
		var m GroupMetrics
		for _, e := range in.Events {
			switch e[0] {
			case "completion":
				m.Observe(GroupEvent{Kind: BestEffortCompletion, JobID: e[1].(string), Reason: e[2].(string), Ratio: e[3].(float64)})
			case "ratio":
				m.Observe(GroupEvent{Kind: BestEffortRatio, JobID: e[1].(string), Reason: e[2].(string), Ratio: e[3].(float64)})
			case "late":
				m.Observe(GroupEvent{Kind: LateDatacenterResult, JobID: "job-1", Reason: e[1].(string)})
			}
		}
		var got strings.Builder
		if err := m.Write(&got); err != nil {
			t.Fatal(err)
		}
		const text = `best_effort_completion_ratio{job_id="job-1"} 1
best_effort_completions_total{reason="min_dcs_reached"} 1
best_effort_late_results_total{outcome="logged"} 2
best_effort_late_results_total{outcome="updated"} 1
`
		if got.String() != text || want.Completions["min_dcs_reached"] != 1 || want.Ratio["job-1"] != 1 || want.Late["logged"] != 2 || want.Late["updated"] != 1 {
			t.Errorf("got\n%s, want %+v", got.String(), want)
		}
	},

	"timeout_override": func(t *testing.T, in struct {
		Scope    string
		Override int `json:"override_ms"`
	}, want struct {
		Effective int `json:"effective_ms"`
	}) {
		limits := map[string][2]time.Duration{"llm_call": {2 * time.Minute, 3 * time.Minute}, "step": {10 * time.Minute, 15 * time.Minute}}[in.Scope]
		p := Policy{Scope: in.Scope, Timeout: limits[0], HardLimit: limits[1]}
		asked := time.Duration(in.Override) * time.Millisecond
		var clamped time.Duration
		ctx := WithObserver(WithTimeout(t.Context(), in.Scope, asked), func(e Event) { clamped = e.Clamped })
		got := p.timeout(ctx)
		if got != time.Duration(want.Effective)*time.Millisecond || (clamped > 0) != (asked > got) {
			t.Errorf("effective %v, want %d ms; clamped %v", got, want.Effective, clamped)
		}
	},
}

// operate does what a vector says to a breaker.
func operate(t *testing.T, b *Breaker, op string) {
	t.Helper()
	if wait, ok := strings.CutPrefix(op, "wait "); ok {
		d, err := time.ParseDuration(wait)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(d)
		return
	}
	pass, ok := b.admit(time.Now())
	if !ok {
		t.Fatalf("%s: the breaker is %v", op, b.State())
	}
	if op == "fail" {
		b.record(pass, failed)
	} else {
		b.record(pass, succeeded)
	}
}

// opened returns a breaker that has just opened.
func opened(t *testing.T, p BreakerPolicy) *Breaker {
	t.Helper()
	b := NewBreaker(p)
	for range b.policy.Failures {
		operate(t, b, "fail")
	}
	return b
}

// protect makes one call of op under a breaker and a budget.
func protect(ctx context.Context, b *Breaker, budget RetryBudget, p Policy, op func(context.Context) error) error {
	_, err := DoWith(ctx, &p, b, budget, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) })
	return err
}

// A panic or Goexit in a probe gives the leave back: failsafe-go refuses an
// hour later.
func TestProbeThatNeverReturns(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("probe") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := opened(t, BreakerPolicy{})
				time.Sleep(31 * time.Second)
				var wait sync.WaitGroup
				wait.Add(1)
				go func() {
					defer wait.Done()
					defer func() { _ = recover() }()
					_ = protect(t.Context(), b, nil, Policy{MaxAttempts: 1}, func(context.Context) error { end(); return nil })
				}()
				wait.Wait()
				if err := protect(t.Context(), b, nil, Policy{}, func(context.Context) error { return nil }); err != nil || b.State() != Closed {
					t.Errorf("got %v, %v; want the next probe to close the breaker", err, b.State())
				}
			})
		})
	}
}

// A probe that hangs lapses: gobreaker blocks a day later.
func TestProbeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, BreakerPolicy{})
		time.Sleep(31 * time.Second)
		hung, ok := b.admit(time.Now())
		if _, second := b.admit(time.Now()); !ok || second {
			t.Fatalf("leave for one probe: %v, and for another: %v", ok, second)
		}
		time.Sleep(31 * time.Second)
		next, ok := b.admit(time.Now())
		if !ok {
			t.Fatal("a probe that hangs wedges the breaker")
		}
		if b.record(hung, succeeded); b.State() != HalfOpen {
			t.Error("a probe that has lapsed counts")
		}
		if b.record(next, succeeded); b.State() != Closed {
			t.Error("the next probe does not count")
		}
	})
}

// What was admitted before the breaker opened says nothing about it now.
func TestStaleResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(BreakerPolicy{})
		stale, _ := b.Ready()
		for range 3 {
			operate(t, b, "fail")
		}
		if b.Succeed(stale); b.State() != Open {
			t.Error("a stale success closes the breaker")
		}
		time.Sleep(31 * time.Second)
		if b.State(); b.record(permit{pass: stale}, failed) != HalfOpen {
			t.Error("a stale failure opens it again")
		}
	})
}

// The end of the caller's context neither opens the breaker nor closes it.
func TestCallersEndIsNeutral(t *testing.T) {
	b := NewBreaker(BreakerPolicy{Failures: 1})
	ctx, cancel := context.WithCancel(t.Context())
	err := protect(ctx, b, nil, Policy{}, func(ctx context.Context) error { cancel(); return ctx.Err() })
	if !errors.Is(err, context.Canceled) || b.State() != Closed || b.Save().Failures != 0 {
		t.Errorf("got %v, %+v", err, b.Save())
	}
}

func TestAttemptTimeoutCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(BreakerPolicy{Failures: 3, Count: []Class{Timeout}})
		p := Policy{AttemptTimeout: time.Second, InitialDelay: None}
		err := protect(t.Context(), b, nil, p, func(ctx context.Context) error { <-ctx.Done(); return errFailed })
		if !errors.Is(err, ErrAttempts) || b.State() != Open {
			t.Errorf("got %v, breaker %v", err, b.State())
		}
	})
}

func TestPermanentErrorsAreNeutral(t *testing.T) {
	b := NewBreaker(BreakerPolicy{Failures: 1})
	if err := protect(t.Context(), b, nil, Policy{}, func(context.Context) error { return status(404) }); err != status(404) || b.State() != Closed {
		t.Errorf("got %v, breaker %v", err, b.State())
	}
}

// An open breaker is not waited for, unless its class is retried.
func TestOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, BreakerPolicy{})
		start, calls := time.Now(), 0
		op := func(context.Context) error { calls++; return nil }
		err := protect(t.Context(), b, nil, Policy{Name: "read"}, op)
		e, ok := AsError(err)
		if !ok || e.Reason != ErrBreakerOpen || e.Attempts != 0 || calls != 0 || time.Since(start) != 0 || err.Error() != "read: breaker open" {
			t.Errorf("got %v after %d calls and %v", err, calls, time.Since(start))
		}
		p := Policy{MaxAttempts: 5, Backoff: Fixed, InitialDelay: 20 * time.Second, RetryOn: []Class{Network, BreakerOpen}}
		attempts := 0
		err = protect(t.Context(), b, nil, p, func(context.Context) error {
			if attempts++; attempts == 1 {
				return errors.New("connection refused")
			}
			return nil
		})
		if !errors.Is(err, ErrBreakerOpen) {
			t.Errorf("a call that is refused at first: %v", err)
		}
	})
}

// A call whose own failure opens the breaker stops, with its own error.
func TestBreakerOpensInside(t *testing.T) {
	b := NewBreaker(BreakerPolicy{Failures: 2})
	err := protect(t.Context(), b, nil, Policy{MaxAttempts: 5, InitialDelay: None}, func(context.Context) error { return errFailed })
	if e, ok := AsError(err); !ok || e.Reason != ErrBreakerOpen || e.Attempts != 2 || !errors.Is(err, errFailed) {
		t.Errorf("got %v", err)
	}
}

func TestBreakerOpenIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, calls := NewBreaker(BreakerPolicy{Failures: 1}), 0
		p := Policy{MaxAttempts: 5, Backoff: Fixed, InitialDelay: 20 * time.Second, RetryOn: []Class{Network, BreakerOpen}}
		err := protect(t.Context(), b, nil, p, func(context.Context) error {
			if calls++; calls == 1 {
				return errors.New("connection refused")
			}
			return nil
		})
		if err != nil || calls != 2 || b.State() != Closed {
			t.Errorf("got %v after %d calls, breaker %v", err, calls, b.State())
		}
	})
}

func TestRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, tt := range []struct {
			saved BreakerSnapshot
			want  BreakerState
			after time.Duration
		}{
			{BreakerSnapshot{State: Open, OpenUntil: now.Add(-time.Minute)}, HalfOpen, 0},
			{BreakerSnapshot{State: Open, OpenUntil: now.Add(10 * time.Second)}, Open, 0},
			{BreakerSnapshot{State: Open, OpenUntil: now.Add(time.Hour)}, HalfOpen, 31 * time.Second}, // a clock that was wrong
			{BreakerSnapshot{State: Escalated, Failures: 5}, Escalated, time.Hour},
			{BreakerSnapshot{State: Closed, Failures: 2}, Closed, 0},
		} {
			b := NewBreaker(BreakerPolicy{})
			b.Restore(tt.saved)
			time.Sleep(tt.after)
			if got := b.State(); got != tt.want {
				t.Errorf("%+v, %v later: %v, want %v", tt.saved, tt.after, got, tt.want)
			}
		}
		b := opened(t, BreakerPolicy{})
		other := NewBreaker(BreakerPolicy{})
		other.Restore(b.Save())
		if b.Save() != other.Save() {
			t.Errorf("saved %+v, restored %+v", b.Save(), other.Save())
		}
	})
}

// The last error of an attempt survives refusals that are retried.
func TestBreakerOpenKeepsTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBreaker(BreakerPolicy{Failures: 1, OpenFor: time.Hour})
		p := Policy{MaxAttempts: 4, RetryOn: []Class{Network, BreakerOpen}}
		refused := errors.New("connection refused")
		err := protect(t.Context(), b, nil, p, func(context.Context) error { return refused })
		if e, ok := AsError(err); !ok || e.Err != refused || e.Reason != ErrAttempts || e.Attempts != 4 {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzBreaker holds the breaker against a model that knows only its text.
func FuzzBreaker(f *testing.F) {
	f.Add([]byte("fffwsfffwfws"), uint8(3), uint8(5), uint8(1))
	f.Add([]byte("ffwawfr"), uint8(2), uint8(0), uint8(2))
	f.Fuzz(func(t *testing.T, ops []byte, failures, escalate, successes uint8) {
		p := BreakerPolicy{Failures: int(failures%5) + 1, EscalateAfter: int(escalate % 9), Successes: int(successes%3) + 1, OpenFor: time.Second}
		if p.EscalateAfter == 0 {
			p.EscalateAfter = None
		}
		b, now := NewBreaker(p), time.Now()
		state, row, good, openUntil := Closed, 0, 0, time.Time{}
		for i, op := range ops {
			if state == Open && now.After(openUntil) {
				state, good = HalfOpen, 0
			}
			switch op % 4 {
			case 0, 1:
				pass, ok := b.admit(now)
				if ok != (state == Closed || state == HalfOpen) {
					t.Fatalf("%d: leave %v in %v", i, ok, state)
				}
				if !ok {
					continue
				}
				if op%4 == 0 {
					b.record(pass, succeeded)
					if good++; state == HalfOpen && good < p.Successes {
						continue
					}
					state, row = Closed, 0
					continue
				}
				recordAt(b, pass, now)
				row++
				switch {
				case p.EscalateAfter > 0 && row >= p.EscalateAfter:
					state = Escalated
				case state == HalfOpen || row >= p.Failures:
					state, openUntil = Open, now.Add(p.OpenFor)
				}
			case 2:
				now = now.Add(time.Duration(op) * 10 * time.Millisecond)
			case 3:
				pass, ok := b.admit(now) // and never heard of again
				if ok && pass.probe != 0 {
					b.record(pass, neutral)
				}
			}
			if b.state != state && !(b.state == Open && now.After(b.openUntil)) && !(b.state == HalfOpen && state == Open) {
				t.Fatalf("%d: state %v, want %v", i, b.state, state)
			}
		}
	})
}

// recordAt records a failure at a time.
func recordAt(b *Breaker, pass permit, now time.Time) {
	b.record(pass, failed)
	if b.state == Open {
		b.openUntil = now.Add(b.policy.OpenFor)
	}
}

// TestBreakerRaces lets goroutines do everything at once.
func TestBreakerRaces(t *testing.T) {
	b, budget := NewBreaker(BreakerPolicy{OpenFor: time.Microsecond, EscalateAfter: None}), NewBudget(BudgetPolicy{Burst: 10})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 500 {
				_ = protect(t.Context(), b, budget, Policy{InitialDelay: None}, func(context.Context) error {
					if rand.IntN(3) == 0 {
						return errFailed
					}
					return nil
				})
				if left := budget.Left(); left < 0 || left > 10 {
					t.Errorf("%v retries are left of 10", left)
				}
			}
			b.Save()
		})
	}
	wait.Wait()
	for range 3 {
		b.Reset()
		operate(t, b, "success")
	}
	if got := b.State(); got != Closed {
		t.Errorf("the breaker is %v", got)
	}
}

// The budget limits sequential retries, and says so before the wait: in both
// failsafe-go does otherwise.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := NewBudget(BudgetPolicy{Name: "client", Ratio: 0.5, MinPerSecond: None, Burst: 2})
		p, calls := Policy{MaxAttempts: 10}, 0
		start := time.Now()
		err := protect(t.Context(), nil, budget, p, func(context.Context) error { calls++; return errFailed })
		if !errors.Is(err, ErrBudget) || !errors.Is(err, errFailed) || calls != 3 || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %d calls and %v", err, calls, time.Since(start))
		}
		for range 2 {
			_ = protect(t.Context(), nil, budget, p, func(context.Context) error { return nil })
		}
		if got := budget.Left(); got != 1 {
			t.Errorf("%v retries are left after two successes at 0.5", got)
		}
		// A permanent error and an exhausted call take nothing.
		_ = protect(t.Context(), nil, budget, Policy{MaxAttempts: 1}, func(context.Context) error { return errFailed })
		_ = protect(t.Context(), nil, budget, p, func(context.Context) error { return Permanent(errFailed) })
		if got := budget.Left(); got != 1 {
			t.Errorf("%v retries are left, want 1", got)
		}
	})
}

func TestBudgetRefills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetPolicy{MinPerSecond: 2, Burst: 3})
		for range 3 {
			if err := b.Withdraw(); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Withdraw(); err != ErrBudget {
			t.Errorf("got %v, want %v", err, ErrBudget)
		}
		time.Sleep(500 * time.Millisecond)
		if err := b.Withdraw(); err != nil {
			t.Errorf("half a second later: %v", err)
		}
		time.Sleep(time.Hour)
		if b.Withdraw(); b.Left() != 2 {
			t.Errorf("%v are left an hour later, want 2", b.Left())
		}
	})
}

func TestJobBudgetEnvironment(t *testing.T) {
	t.Setenv("RETRY_BUDGET_DEFAULT", "7")
	t.Setenv("RETRY_BUDGET_PER_WORKFLOW_MAX", "2")
	b, err := NewJobBudget(JobBudgetPolicy{}, 0, 9)
	if err != nil || b.Policy().Retries != 7 || b.Policy().PerUnit != 2 || b.Clamped() != "per_unit 9 is clamped to 2" {
		t.Errorf("got %+v, %q, %v", b.Policy(), b.Clamped(), err)
	}
	t.Setenv("RETRY_BUDGET_MAX", "many")
	if _, err := NewJobBudget(JobBudgetPolicy{}, 0, 0); err == nil || !strings.Contains(err.Error(), "RETRY_BUDGET_MAX") {
		t.Errorf("got %v", err)
	}
	t.Setenv("RETRY_BUDGET_MAX", "")
	if b, _ := NewJobBudget(JobBudgetPolicy{Retries: None}, 0, 0); b.Unit("a").Withdraw() == nil {
		t.Error("none allows a retry")
	}
}

// An inner wrapped call inside of a retry is tried once: three in three are
// five calls.
func TestNested(t *testing.T) {
	for nested, want := range map[bool]int{false: 5, true: 9} {
		calls := 0
		outer, inner := Policy{Name: "outer", InitialDelay: None}, Policy{Name: "inner", InitialDelay: None, Nested: nested}
		err := protect(t.Context(), nil, nil, outer, func(ctx context.Context) error {
			return protect(ctx, nil, nil, inner, func(context.Context) error { calls++; return errFailed })
		})
		if calls != want || !errors.Is(err, errFailed) {
			t.Errorf("nested %v: %d calls and %v, want %d", nested, calls, err, want)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	ctx := EnsureIdempotencyKey(t.Context())
	key := IdempotencyKey(ctx)
	if len(key) != 32 || IdempotencyKey(markAttempt(ctx, 2)) != key || IdempotencyKey(EnsureIdempotencyKey(ctx)) != key {
		t.Errorf("the key is %q at first, then %q", key, IdempotencyKey(markAttempt(ctx, 2)))
	}
	if other := IdempotencyKey(EnsureIdempotencyKey(t.Context())); other == key {
		t.Error("two calls have one key")
	}
	if got := IdempotencyKey(EnsureIdempotencyKey(WithIdempotencyKey(t.Context(), "mine"))); got != "mine" {
		t.Errorf("got %q, want mine", got)
	}
	if n := testing.AllocsPerRun(100, func() { EnsureIdempotencyKey(context.Background()) }); n != 1 {
		t.Errorf("a key costs %v allocations, want 1", n)
	}
}

func TestAttempts(t *testing.T) {
	p := Policy{MaxAttempts: 4, InitialDelay: None}
	for _, tt := range []struct{ failures, rounds int }{{0, 1}, {2, 3}, {9, 4}} {
		var err error
		rounds := 0
		for a := range p.Attempts(t.Context()) {
			if rounds++; a.Number() != rounds || AttemptNumber(a.Context()) != rounds {
				t.Errorf("round %d is number %d, in its context %d", rounds, a.Number(), AttemptNumber(a.Context()))
			}
			if rounds <= tt.failures {
				err = a.Done(errFailed)
			} else {
				err = a.Done(nil)
			}
		}
		if rounds != tt.rounds || (err == nil) != (tt.failures < 4) || err != nil && !errors.Is(err, ErrAttempts) {
			t.Errorf("%d failures: %d rounds, %v", tt.failures, rounds, err)
		}
	}
	rounds := 0
	for range p.Attempts(t.Context()) {
		rounds++
	}
	if rounds != 1 {
		t.Errorf("%d rounds without Done, want 1", rounds)
	}
}
