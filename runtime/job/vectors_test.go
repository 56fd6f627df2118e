package job

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrygen/retrygen/internal/vectors"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// TestVectors walks the vectors of AD-44.
func TestVectors(t *testing.T) { vectors.Walk(t, "runtime/job", vectorKinds) }

// take asks for a retry, and returns the answer in AD-44's form.
func take(b *Budget, unit string) (allowed bool, reason string) {
	err := b.Withdraw(unit)
	if err == nil {
		return true, ReasonAllowed.String()
	}
	return false, err.Error()
}

// A prodigyPolicy is the error policy of a MapReduce job of Prodigy.
type prodigyPolicy struct {
	OnItemFailure string   `json:"on_item_failure"`
	Continue      *bool    `json:"continue_on_failure"`
	MaxFailures   int      `json:"max_failures"`
	Threshold     float64  `json:"failure_threshold"`
	Collection    string   `json:"error_collection"`
	Retry         struct{} `json:"retry_config"`
	Breaker       *struct {
		Failures  int    `json:"failure_threshold"`
		Successes int    `json:"success_threshold"`
		Timeout   string `json:"timeout"`
		HalfOpen  int    `json:"half_open_requests"`
	} `json:"circuit_breaker"`
}

// group returns the policy that the table in docs/migrate/prodigy.md gives.
func (p prodigyPolicy) group() GroupPolicy {
	g := GroupPolicy{
		OnUnitFailure: map[string]FailureAction{
			"": FailureDeadLetter, "dlq": FailureDeadLetter, "skip": FailureSkip, "stop": FailureStop,
		}[p.OnItemFailure],
		MaxFailures: p.MaxFailures, FailureRate: p.Threshold,
	}
	if p.Continue != nil && !*p.Continue {
		g.OnUnitFailure = FailureStop
	}
	switch size, ok := strings.CutPrefix(p.Collection, "batched:"); {
	case ok:
		n, _ := strconv.Atoi(size)
		g.Collect = Collect(n)
	case p.Collection == "immediate":
		g.Collect = 1
	}
	if b := p.Breaker; b != nil {
		open, _ := time.ParseDuration(b.Timeout)
		g.Breaker = &breaker.Policy{Failures: b.Failures, Successes: b.Successes, OpenFor: open}
	}
	return g
}

// vectorKinds are the kinds of the vectors of AD-44, and of Prodigy's error policy.
var vectorKinds = map[string]any{
	"error_policy": func(t *testing.T, in struct {
		prodigyPolicy
		Outcomes []string
	}, want struct {
		Actions   []string
		OnFailure []string `json:"actions_on_failures"`
		Reason    string   `json:"last_reason"`
	}) {
		policy := in.group()
		p := NewProgress(len(in.Outcomes) + 1) // Prodigy does not know when it has ended
		var actions, onFailure []string
		var d Decision
		for _, outcome := range in.Outcomes {
			status := map[string]UnitStatus{"s": UnitSucceeded, "f": UnitFailed}[outcome]
			p, d = p.Report(&policy, UnitPending, status, 0)
			action := "continue"
			if d.Final() {
				action = "stop"
			}
			actions = append(actions, action)
			if status == UnitFailed {
				onFailure = append(onFailure, action)
			}
		}
		if want.OnFailure != nil {
			want.Actions, actions = want.OnFailure, onFailure
		}
		if !slices.Equal(actions, want.Actions) {
			t.Errorf("got %q, want %q", actions, want.Actions)
		}
		if reason := map[string]Reason{"Circuit breaker open": ReasonBreakerOpen}[want.Reason]; want.Reason != "" &&
			d.Reason != reason {
			t.Errorf("stopped for %v, want %v", d.Reason, reason)
		}
	},

	// Written out, Prodigy's defaults are those of a group, but for dead letters.
	"error_policy_defaults": func(t *testing.T, in, want prodigyPolicy) {
		defaults := GroupPolicy{OnUnitFailure: FailureDeadLetter}
		for _, p := range []prodigyPolicy{in, want} {
			if got := p.group(); got != defaults {
				t.Errorf("%+v: got %+v, want %+v", p, got, defaults)
			}
		}
	},

	"error_collection": func(t *testing.T, in struct {
		Strategy string
		Errors   []string
	}, want struct {
		Flushed [][]string
		Pending []string
	}) {
		policy := prodigyPolicy{Collection: in.Strategy}.group()
		policy.Workers = 1
		g := NewGroup(policy, "")
		var flushed [][]string
		g.Observe(func(_ context.Context, e Event) {
			if e.Kind == EventFailures {
				flushed = append(flushed, strings.Fields(units(e.Failures)))
			}
		})
		out, err := Run(t.Context(), g, in.Errors, func(_ context.Context, unit string) (int, error) {
			return 0, errors.New(unit)
		}, nil)
		pending := slices.Sorted(maps.Keys(out.Errors))
		if err != nil || !reflect.DeepEqual(flushed, want.Flushed) || !slices.Equal(pending, want.Pending) {
			t.Errorf("got %q and %q, %v; want %+v", flushed, pending, err, want)
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
		b := NewBudget(BudgetPolicy{Retries: in.Total, PerUnit: in.PerUnit})
		for i, unit := range in.Requests {
			if ok, reason := take(b, unit); ok != want.Results[i][0] || reason != want.Results[i][1] {
				t.Errorf("%d, %s: got %v, %q; want %v", i, unit, ok, reason, want.Results[i])
			}
		}
		if b.Consumed() != want.Consumed || b.Refused() != want.Refused || !reflect.DeepEqual(b.units, want.Units) {
			t.Errorf("%d consumed, %v by unit, %d refused; want %+v", b.Consumed(), b.units, b.Refused(), want)
		}
	},

	"retry_budget_missing": func(t *testing.T, in struct{ Job string }, want struct {
		Allowed bool
		Reason  string
		Logged  bool
	}) {
		jobs := map[string]*Budget{}
		if ok, reason := take(jobs[in.Job], "unit"); ok != want.Allowed || reason != want.Reason {
			t.Errorf("got %v, %q; want %+v", ok, reason, want)
		}
		var logged strings.Builder
		g := NewGroup(GroupPolicy{}, in.Job)
		g.Observe(Log(slog.New(slog.NewTextHandler(&logged, nil))))
		_ = (&unit{budget: jobs[in.Job], id: "unit", group: g}).Withdraw()
		if got := logged.Len() > 0; got != want.Logged {
			t.Errorf("logged %q", logged.String())
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
		b := NewBudget(BudgetPolicy{Retries: in.Total, PerUnit: in.PerUnit})
		var wait sync.WaitGroup
		for i := range in.Units {
			wait.Go(func() {
				for range in.Losses {
					if err := b.Withdraw(string(rune('a' + i))); err != nil && !errors.Is(err, ErrBudget) {
						t.Errorf("%v is no ErrBudget", err)
					}
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
		var policy GroupPolicy
		if in.Enabled {
			policy.BestEffort = &BestEffort{MinSuccess: in.Min, Deadline: seconds(in.Deadline)}
		}
		_, d := Progress{
			Pending:   len(in.Target) - len(in.Completed) - len(in.Failed),
			Succeeded: len(in.Completed), Failed: len(in.Failed),
		}.Decide(&policy, seconds(in.Now))
		if d.Complete != want.Result[0] || d.String() != want.Result[1] || d.Success != want.Result[2] ||
			math.Abs(d.Ratio-want.Ratio) > 1e-6 {
			t.Errorf("got %q, %+v; want %+v", d, d, want)
		}
	},

	"best_effort_min_dcs": func(t *testing.T, in struct {
		Min     int `json:"min_dcs"`
		Targets int
	}, want int) {
		policy := GroupPolicy{BestEffort: &BestEffort{MinSuccess: in.Min}}
		if _, d := NewProgress(in.Targets).Decide(&policy, 0); d.MinSuccess != want {
			t.Errorf("got %d, want %d", d.MinSuccess, want)
		}
	},

	"best_effort_deadline_seconds": func(t *testing.T, in, want float64) {
		if got := (BestEffort{Deadline: seconds(in)}).Effective().Deadline; got != seconds(want) {
			t.Errorf("got %v, want %vs", got, want)
		}
	},

	"late_results": func(t *testing.T, in struct {
		Policy   string
		Min      int `json:"min_dcs"`
		Deadline float64
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
		late, ok := map[string]Late{"log": LateLog, "update": LateUpdate}[in.Policy]
		if !ok || len(in.Events) != len(want.Decisions) {
			t.Fatalf("policy %q, %d events for %d decisions", in.Policy, len(in.Events), len(want.Decisions))
		}
		policy := GroupPolicy{BestEffort: &BestEffort{MinSuccess: in.Min, Deadline: seconds(in.Deadline), Late: late}}
		p, known := NewProgress(len(in.Target)), map[string]UnitStatus{}
		for i, e := range in.Events {
			var unit string
			is := known[unit]
			if e[0] != "check" {
				unit, is = e[0].(string), UnitFailed
				if e[1].(bool) {
					is = UnitSucceeded
				}
			}
			var d Decision
			p, d = p.Report(&policy, known[unit], is, seconds(e[2].(float64)))
			known[unit] = is
			w := want.Decisions[i]
			if d.Complete != w.Complete || d.Provisional != w.Provisional || d.String() != w.Reason ||
				w.Success != nil && d.Success != *w.Success {
				t.Errorf("%d: got %q, %+v; want %+v", i, d, d, w)
			}
			if i == 0 && want.Ratio > 0 && d.Ratio != want.Ratio {
				t.Errorf("ratio %v, want %v", d.Ratio, want.Ratio)
			}
		}
	},
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
