package promretry

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/retrygen/retrygen/internal/vectors"
	"github.com/retrygen/retrygen/runtime/job"
)

// run lets a job make retries and complete: a at once, b a second later, and c
// after the deadline.
func run(t *testing.T, m *Metrics, jobID string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := job.NewGroup(job.GroupPolicy{
			Name:       "import",
			Budget:     &job.BudgetPolicy{Retries: 2},
			BestEffort: &job.BestEffort{Late: job.LateUpdate, Deadline: time.Minute},
		}, jobID)
		g.Observe(m.Observe)
		took := map[string]time.Duration{"a": 0, "b": time.Second, "c": time.Hour}
		_, err := job.Run(t.Context(), g, []string{"a", "b", "c"}, func(_ context.Context, unit string) (int, error) {
			_ = g.Unit(unit).Withdraw()
			time.Sleep(took[unit])
			return 0, nil
		}, nil)
		if err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
	})
}

const shared = `
# HELP best_effort_completions_total Completed jobs, by reason.
# TYPE best_effort_completions_total counter
best_effort_completions_total{group="import",reason="min_dcs_reached"} 2
# HELP best_effort_late_results_total Late results, by outcome.
# TYPE best_effort_late_results_total counter
best_effort_late_results_total{group="import",outcome="logged"} 2
best_effort_late_results_total{group="import",outcome="updated"} 2
`

func TestMetrics(t *testing.T) {
	m := New(Options{})
	run(t, m, "job-1")
	run(t, m, "job-2")
	const want = shared + `
# HELP best_effort_completion_ratio Share of a job's units that have succeeded.
# TYPE best_effort_completion_ratio gauge
best_effort_completion_ratio{group="import"} 0.6666666666666666
# HELP retry_budget_consumed_total Retries granted by the budget of a job.
# TYPE retry_budget_consumed_total counter
retry_budget_consumed_total{group="import"} 4
# HELP retry_budget_exhausted_total Retries refused by the budget of a job.
# TYPE retry_budget_exhausted_total counter
retry_budget_exhausted_total{group="import"} 2
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

func TestMetricsByJob(t *testing.T) {
	m := New(Options{JobID: true})
	run(t, m, "job-1")
	run(t, m, "job\n\"2\"\\")
	m.Forget("job-1")
	const want = shared + `
# HELP best_effort_completion_ratio Share of a job's units that have succeeded.
# TYPE best_effort_completion_ratio gauge
best_effort_completion_ratio{group="import",job_id="job\n\"2\"\\"} 0.6666666666666666
# HELP retry_budget_consumed_total Retries granted by the budget of a job.
# TYPE retry_budget_consumed_total counter
retry_budget_consumed_total{group="import",job_id="job\n\"2\"\\"} 2
# HELP retry_budget_exhausted_total Retries refused by the budget of a job.
# TYPE retry_budget_exhausted_total counter
retry_budget_exhausted_total{group="import",job_id="job\n\"2\"\\"} 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// TestVectors counts the events of AD-44's vector, whose reasons are text.
func TestVectors(t *testing.T) {
	vectors.Walk(t, "contrib/prometheus", map[string]any{
		"best_effort_metrics": func(t *testing.T, in struct{ Events [][]any }, want struct {
			Completions map[string]float64 `json:"completions_by_reason"`
			Ratio, Late map[string]float64
		}) {
			m := New(Options{JobID: true})
			for _, e := range in.Events {
				switch e[0] {
				case "completion", "ratio":
					kind := map[any]job.EventKind{"completion": job.EventCompletion, "ratio": job.EventRatio}[e[0]]
					m.Observe(t.Context(), job.Event{Kind: kind, JobID: e[1].(string), Reason: reason(t, e[2]),
						Decision: job.Decision{Ratio: e[3].(float64)}})
				case "late":
					m.Observe(t.Context(), job.Event{Kind: job.EventLateResult, Reason: reason(t, e[1])})
				}
			}
			for word, n := range want.Completions {
				if got := testutil.ToFloat64(m.completions.WithLabelValues("", word)); got != n {
					t.Errorf("%v completions by %s, want %v", got, word, n)
				}
			}
			for id, ratio := range want.Ratio {
				if got := testutil.ToFloat64(m.ratio.WithLabelValues("", id)); got != ratio {
					t.Errorf("ratio %v of %s, want %v", got, id, ratio)
				}
			}
			for word, n := range want.Late {
				if got := testutil.ToFloat64(m.late.WithLabelValues("", word)); got != n {
					t.Errorf("%v results are %s, want %v", got, word, n)
				}
			}
			if got := testutil.CollectAndCount(m); got != len(want.Completions)+len(want.Ratio)+len(want.Late) {
				t.Errorf("%d time series", got)
			}
		},
	})
}

// reason returns the Reason whose word a text of AD-44 begins with.
func reason(t *testing.T, text any) job.Reason {
	t.Helper()
	word, _, _ := strings.Cut(strings.TrimPrefix(text.(string), "best_effort: "), " ")
	for r := range job.Reason(100) {
		if r.String() == word {
			return r
		}
	}
	t.Fatalf("no Reason is %q", word)
	return 0
}
