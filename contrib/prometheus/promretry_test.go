package promretry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/retrygen/retrygen/internal/measure"
	"github.com/retrygen/retrygen/internal/vectors"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
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
		g.Observe(m.ObserveJob)
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

var jobMetrics = []string{
	"retry_budget_consumed_total", "retry_budget_exhausted_total", "best_effort_completions_total",
	"best_effort_completion_ratio", "best_effort_late_results_total",
}

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
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), jobMetrics...); err != nil {
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
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), jobMetrics...); err != nil {
		t.Error(err)
	}
}

// The calls of a wrapper, without any label that names one of them.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{})
		ctx := retry.WithObserver(t.Context(), m.ObserveCall)
		p := retry.Policy{
			Name: "fetch", Scope: "flow", Timeout: 2 * time.Hour, HardLimit: time.Hour, RetryUnknown: true,
			Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Second, Base: 2},
		}
		for _, text := range []string{"connection refused", "no class is like this"} {
			_, _ = retry.Do(ctx, &p, func(context.Context) (int, error) { return 0, errors.New(text) })
		}
		for _, err := range []error{nil, errors.New("disk full")} {
			m.ObserveCall(ctx, retry.Event{Kind: retry.EventCapture, Policy: "fetch", Err: err})
		}
		const want = `
# HELP retry_retries_total Attempts that failed and were followed by another one.
# TYPE retry_retries_total counter
retry_retries_total{class="network",policy="fetch"} 2
retry_retries_total{class="unknown",policy="fetch"} 2
# HELP retry_stops_total Calls that failed, by the reason why no attempt followed.
# TYPE retry_stops_total counter
retry_stops_total{policy="fetch",reason="attempts exhausted"} 2
# HELP retry_timeouts_captured_total Timeouts whose state was captured, or was not, by outcome.
# TYPE retry_timeouts_captured_total counter
retry_timeouts_captured_total{outcome="captured",policy="fetch"} 1
retry_timeouts_captured_total{outcome="not captured",policy="fetch"} 1
# HELP retry_timeouts_clamped_total Timeouts that were above the hard limit.
# TYPE retry_timeouts_clamped_total counter
retry_timeouts_clamped_total{policy="fetch"} 2
# HELP retry_wait_seconds_total Waits before retries, in seconds.
# TYPE retry_wait_seconds_total counter
retry_wait_seconds_total{policy="fetch"} 6
`
		names := []string{
			"retry_retries_total", "retry_stops_total", "retry_timeouts_clamped_total", "retry_wait_seconds_total",
			"retry_timeouts_captured_total",
		}
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	})
}

// Names that have values in them, by mistake, do not fill the memory of Prometheus.
func TestNamesAreBounded(t *testing.T) {
	m := New(Options{})
	stop := func(policy string) {
		m.ObserveCall(t.Context(), retry.Event{Kind: retry.EventStop, Policy: policy, Reason: retry.ErrAttempts})
	}
	for i := range maxValues + 100 {
		stop(fmt.Sprint("order ", i))
	}
	stop("order 0")
	if n := testutil.CollectAndCount(m, "retry_stops_total"); n != maxValues+1 {
		t.Errorf("%d time series, want %d", n, maxValues+1)
	}
	for policy, want := range map[string]float64{"order 0": 2, "other": 100} {
		if n := value(t, m, measure.Stops, policy, string(retry.ErrAttempts)); n != want {
			t.Errorf("%v calls of %s, want %v", n, policy, want)
		}
	}
}

// value returns the value of a counter or gauge with the values of its labels.
func value(t *testing.T, m *Metrics, id measure.ID, labels ...string) float64 {
	t.Helper()
	switch c := m.sink.instruments[id].Collector.(type) {
	case *prometheus.CounterVec:
		return testutil.ToFloat64(c.WithLabelValues(labels...))
	case *prometheus.GaugeVec:
		return testutil.ToFloat64(c.WithLabelValues(labels...))
	}
	t.Fatalf("%s has no value", measure.Instruments[id].Prometheus)
	return 0
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
					m.ObserveJob(t.Context(), job.Event{Kind: kind, JobID: e[1].(string), Reason: reason(t, e[2]),
						Decision: job.Decision{Ratio: e[3].(float64)}})
				case "late":
					m.ObserveJob(t.Context(), job.Event{Kind: job.EventLateResult, Reason: reason(t, e[1])})
				}
			}
			for word, n := range want.Completions {
				if got := value(t, m, measure.Completions, "", word); got != n {
					t.Errorf("%v completions by %s, want %v", got, word, n)
				}
			}
			for id, ratio := range want.Ratio {
				if got := value(t, m, measure.Ratio, "", id); got != ratio {
					t.Errorf("ratio %v of %s, want %v", got, id, ratio)
				}
			}
			for word, n := range want.Late {
				if got := value(t, m, measure.LateResults, "", word); got != n {
					t.Errorf("%v results are %s, want %v", got, word, n)
				}
			}
			if got := testutil.CollectAndCount(m, jobMetrics...); got != len(want.Completions)+len(want.Ratio)+len(want.Late) {
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

// TestBreakers: the states of breakers are there at once, and follow their changes.
func TestBreakers(t *testing.T) {
	m, b := New(Options{}), breaker.New(breaker.Policy{Name: "payments"})
	m.ObserveBreakers(b)
	state := func(name string, value int) string {
		return fmt.Sprintf("retry_breaker_state{breaker=\"payments\",state=%q} %d\n", name, value)
	}
	const help = "# HELP retry_breaker_state 1 for the state of a breaker, 0 for the other states.\n" +
		"# TYPE retry_breaker_state gauge\n"
	compare := func(want string, names ...string) {
		t.Helper()
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
	}
	compare(help+state("closed", 1)+state("escalated", 0)+state("forced-open", 0)+state("half-open", 0)+state("open", 0),
		"retry_breaker_state")
	b.ForceOpen()
	compare(help+state("closed", 0)+state("escalated", 0)+state("forced-open", 1)+state("half-open", 0)+state("open", 0),
		"retry_breaker_state")
	b.Reset()
	b.ForceOpen()
	compare(`
# HELP retry_breaker_changes_total Changes of the state of breakers, by the new state.
# TYPE retry_breaker_changes_total counter
retry_breaker_changes_total{breaker="payments",to="closed"} 1
retry_breaker_changes_total{breaker="payments",to="forced-open"} 2
`, "retry_breaker_changes_total")
}
