package job

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrygen/retrygen/internal/vectors"
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

// vectorKinds are the kinds of the vectors of AD-44.
var vectorKinds = map[string]any{
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
		env := map[string]int{
			"RETRY_BUDGET_DEFAULT": in.Env.Default, "RETRY_BUDGET_MAX": in.Env.Max,
			"RETRY_BUDGET_PER_WORKFLOW_DEFAULT": in.Env.UnitDefault, "RETRY_BUDGET_PER_WORKFLOW_MAX": in.Env.UnitMax,
		}
		p, err := BudgetPolicy{}.FromEnv(func(name string) (string, bool) { return fmt.Sprint(env[name]), true })
		if err != nil {
			t.Fatal(err)
		}
		if got := NewBudget(p.Request(in.Total, in.PerUnit)).Policy(); got.Retries != want.Total ||
			got.PerUnit != want.PerUnit {
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
