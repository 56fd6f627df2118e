package hyperscale

import (
	"fmt"
	"testing"
	"time"

	"github.com/retrygen/retrygen/internal/vectors"
	"github.com/retrygen/retrygen/runtime/job"
)

// lookup returns the lookup of an environment.
func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		text, ok := env[name]
		return text, ok
	}
}

func TestBudget(t *testing.T) {
	none := job.BudgetPolicy{Retries: job.NoRetries, PerUnit: job.NoRetries}
	for name, tt := range map[string]struct {
		policy job.BudgetPolicy
		env    map[string]string
		want   job.BudgetPolicy
		err    string
	}{
		"nothing": {job.BudgetPolicy{Name: "job", Retries: 4}, nil, job.BudgetPolicy{Name: "job", Retries: 4}, ""},
		"empty": {job.BudgetPolicy{Retries: 4}, map[string]string{"RETRY_BUDGET_DEFAULT": ""},
			job.BudgetPolicy{Retries: 4}, ""},
		"all": {job.BudgetPolicy{Retries: 4}, map[string]string{
			"RETRY_BUDGET_DEFAULT": "7", "RETRY_BUDGET_MAX": "70", "RETRY_BUDGET_PER_WORKFLOW_DEFAULT": "2",
			"RETRY_BUDGET_PER_WORKFLOW_MAX": "1",
		}, job.BudgetPolicy{Retries: 7, MaxRetries: 70, PerUnit: 2, MaxPerUnit: 1}, ""},
		"none stays none": {none,
			map[string]string{"RETRY_BUDGET_DEFAULT": "7", "RETRY_BUDGET_PER_WORKFLOW_DEFAULT": "2"}, none, ""},
		"no numbers": {job.BudgetPolicy{Retries: 4}, map[string]string{
			"RETRY_BUDGET_DEFAULT": "0", "RETRY_BUDGET_MAX": "many", "RETRY_BUDGET_PER_WORKFLOW_DEFAULT": "2",
		}, job.BudgetPolicy{Retries: 4},
			"RETRY_BUDGET_DEFAULT: \"0\" is not a whole number from 1\n" +
				"RETRY_BUDGET_MAX: \"many\" is not a whole number from 1"},
		"too great": {job.BudgetPolicy{Retries: 4}, map[string]string{"RETRY_BUDGET_DEFAULT": "9999999999999999999"},
			job.BudgetPolicy{Retries: 4}, "RETRY_BUDGET_DEFAULT: \"9999999999999999999\" is not a whole number from 1"},
	} {
		got, err := Budget(tt.policy, lookup(tt.env))
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, tt)
		}
	}
}

func TestBestEffort(t *testing.T) {
	own := job.BestEffort{MinSuccess: 4, Deadline: time.Minute}
	for name, tt := range map[string]struct {
		env  map[string]string
		want job.BestEffort
		err  string
	}{
		"nothing": {nil, own, ""},
		"empty":   {map[string]string{"BEST_EFFORT_DEFAULT_MIN_DCS": ""}, own, ""},
		"defaults of AD-44": {map[string]string{
			"BEST_EFFORT_DEFAULT_MIN_DCS": "1", "BEST_EFFORT_DEFAULT_DEADLINE_SECONDS": "300.0",
			"BEST_EFFORT_LATE_RESULT_POLICY": "log_only", "BEST_EFFORT_CHECK_INTERVAL_SECONDS": "5.0",
		}, job.BestEffort{MinSuccess: 1, Deadline: 5 * time.Minute, CheckEvery: 5 * time.Second}, ""},
		"fractions": {map[string]string{
			"BEST_EFFORT_LATE_RESULT_POLICY": "update_result", "BEST_EFFORT_CHECK_INTERVAL_SECONDS": "0.25",
		}, job.BestEffort{
			MinSuccess: 4, Deadline: time.Minute, Late: job.LateUpdate, CheckEvery: 250 * time.Millisecond,
		}, ""},
		"wrong": {map[string]string{
			"BEST_EFFORT_DEFAULT_MIN_DCS": "0", "BEST_EFFORT_DEFAULT_DEADLINE_SECONDS": "NaN",
			"BEST_EFFORT_LATE_RESULT_POLICY": "drop", "BEST_EFFORT_CHECK_INTERVAL_SECONDS": "5s",
		}, own, "BEST_EFFORT_DEFAULT_MIN_DCS: \"0\" is not a whole number from 1\n" +
			"BEST_EFFORT_DEFAULT_DEADLINE_SECONDS: \"NaN\" is not a number of seconds above 0\n" +
			"BEST_EFFORT_LATE_RESULT_POLICY: \"drop\" is not log_only or update_result\n" +
			"BEST_EFFORT_CHECK_INTERVAL_SECONDS: \"5s\" is not a number of seconds above 0"},
		"too long": {map[string]string{"BEST_EFFORT_DEFAULT_DEADLINE_SECONDS": "1e300"}, own,
			"BEST_EFFORT_DEFAULT_DEADLINE_SECONDS: \"1e300\" is not a number of seconds above 0"},
	} {
		got, err := BestEffort(own, lookup(tt.env))
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, tt)
		}
	}
}

// TestVectors clamps what the environment and a job ask for, as AD-44 says.
func TestVectors(t *testing.T) {
	vectors.Walk(t, "contrib/hyperscale", map[string]any{"retry_budget_clamp": clampVector})
}

func clampVector(t *testing.T, in struct {
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
	p, err := Budget(job.BudgetPolicy{}, func(name string) (string, bool) { return fmt.Sprint(env[name]), true })
	if err != nil {
		t.Fatal(err)
	}
	if got := job.NewBudget(p.Request(in.Total, in.PerUnit)).Policy(); got.Retries != want.Total ||
		got.PerUnit != want.PerUnit {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
