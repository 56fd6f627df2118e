package retry

import (
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
				Failures: max(in.Threshold, in.Failures), OpenFor: max(in.Recovery, in.Timeout),
				Successes: max(in.Successes, in.Most, 1), HalfOpenCalls: max(in.Most, 1),
			})
			if in.Start == "HalfOpen" {
				b.Restore(BreakerSnapshot{State: StateHalfOpen})
			}
			var isOpen []bool
			for _, op := range in.Ops {
				if op == "is_open" {
					isOpen = append(isOpen, b.State() == StateOpen)
				} else {
					operate(t, b, op)
				}
			}
			if !slices.Equal(isOpen, want.IsOpen) {
				t.Errorf("is_open %v, want %v", isOpen, want.IsOpen)
			}
			if s := b.Save(); want.State != "" && (!strings.EqualFold(s.State.String(), want.State) || s.State == StateClosed && s.Failures != want.Failures) {
				t.Errorf("got %+v, want %+v", s, want)
			}
		})
	},

	"breaker_escalate": func(t *testing.T, in struct{ Ops []string }, want struct{ Returns []any }) {
		synctest.Test(t, func(t *testing.T) {
			b := NewBreaker(BreakerPolicy{EscalateAfter: 5})
			for i, op := range in.Ops {
				var got any
				switch op {
				case "fail":
					operate(t, b, op)
					got = map[BreakerState]string{StateClosed: "RETRY", StateOpen: "PAUSE", StateEscalated: "ESCALATE"}[b.State()]
				case "can_proceed":
					got = b.State() == StateHalfOpen
				default:
					operate(t, b, op)
				}
				if got != want.Returns[i] {
					t.Errorf("%d, %s: got %v, want %v", i, op, got, want.Returns[i])
				}
			}
			time.Sleep(24 * time.Hour)
			if got := b.State(); got != StateEscalated {
				t.Errorf("a day later the breaker is %v", got)
			}
			if b.Reset(); b.State() != StateClosed {
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
		ctx := WithObserver(WithScopeTimeout(t.Context(), in.Scope, asked), func(e Event) { clamped = e.Timeout })
		got := p.timeout(ctx)
		if got != time.Duration(want.Effective)*time.Millisecond || (clamped > 0) != (asked > got) {
			t.Errorf("effective %v, want %d ms; clamped %v", got, want.Effective, clamped)
		}
	},
}
