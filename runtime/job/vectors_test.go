package job

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// fromAD44 matches the sources of the vectors of AD-44. Package retry's test
// walks the others.
var fromAD44 = regexp.MustCompile(`(?i)ad-?44|hyper-light`)

// TestVectors walks the vectors of AD-44 in the file that package retry shares.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Source, Kind    string
		Input, Expected json.RawMessage
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for i, v := range vectors {
		if !fromAD44.MatchString(v.Source) {
			continue
		}
		check, ok := vectorKinds[v.Kind]
		if !ok {
			t.Errorf("vector %d: no test for kind %s", i, v.Kind)
			continue
		}
		t.Run(fmt.Sprintf("%s/%d", v.Kind, i), func(t *testing.T) {
			// Each kind is a function func(*testing.T, Input, Expected).
			f := reflect.ValueOf(check)
			args := []reflect.Value{reflect.ValueOf(t)}
			for n, raw := range []json.RawMessage{v.Input, v.Expected} {
				arg := reflect.New(f.Type().In(n + 1))
				if err := json.Unmarshal(raw, arg.Interface()); err != nil {
					t.Fatal(err)
				}
				args = append(args, arg.Elem())
			}
			f.Call(args)
		})
	}
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
		p := BudgetPolicy{Retries: in.Env.Default, MaxRetries: in.Env.Max, PerUnit: in.Env.UnitDefault, MaxPerUnit: in.Env.UnitMax}
		b, err := NewBudget(p, in.Total, in.PerUnit)
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
		b, err := NewBudget(BudgetPolicy{}, in.Total, in.PerUnit)
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
		jobs := map[string]*Budget{}
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
		b, err := NewBudget(BudgetPolicy{}, in.Total, in.PerUnit)
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
		p := newProgress(&BestEffort{MinSuccess: in.Min, Deadline: time.Duration(in.Deadline) * time.Second, Late: LateUpdate}, in.Target)
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
		var m Metrics
		for _, e := range in.Events {
			switch e[0] {
			case "completion":
				m.Observe(Event{Kind: BestEffortCompletion, JobID: e[1].(string), Reason: e[2].(string), Ratio: e[3].(float64)})
			case "ratio":
				m.Observe(Event{Kind: BestEffortRatio, JobID: e[1].(string), Reason: e[2].(string), Ratio: e[3].(float64)})
			case "late":
				m.Observe(Event{Kind: LateDatacenterResult, JobID: "job-1", Reason: e[1].(string)})
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
}
