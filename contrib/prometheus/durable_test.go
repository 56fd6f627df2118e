package promretry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/job"
)

const wantDurable = `
# HELP retry_budget_consumed_total Retries granted by the budget of a job.
# TYPE retry_budget_consumed_total counter
retry_budget_consumed_total{group="day"} 3
# HELP retry_durable_attempts_total Attempts whose start was recorded.
# TYPE retry_durable_attempts_total counter
retry_durable_attempts_total{step="ping"} 5
# HELP retry_durable_exhausted_total Steps that are not retried further, by reason.
# TYPE retry_durable_exhausted_total counter
retry_durable_exhausted_total{reason="attempts exhausted",step="ping"} 1
# HELP retry_durable_failures_total Attempts that failed, by class.
# TYPE retry_durable_failures_total counter
retry_durable_failures_total{class="network",step="ping"} 4
# HELP retry_durable_retries_total Attempts that were not the first of their step.
# TYPE retry_durable_retries_total counter
retry_durable_retries_total{step="ping"} 3
# HELP retry_durable_run_events_total What happened to runs.
# TYPE retry_durable_run_events_total counter
retry_durable_run_events_total{event="completed"} 1
retry_durable_run_events_total{event="created"} 1
# HELP retry_durable_store_errors_total Errors of the store.
# TYPE retry_durable_store_errors_total counter
retry_durable_store_errors_total 0
# HELP retry_durable_wait_seconds_total Waits before attempts, in seconds.
# TYPE retry_durable_wait_seconds_total counter
retry_durable_wait_seconds_total{step="ping"} 4
`

func TestDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{})
		engine, err := durable.New(memory.New(), durable.OnEvent(m.ObserveDurable))
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close(t.Context())
		s := genapi.StepPolicy{Name: "ping", OnExhausted: genapi.ExhaustedDeadLetter, Policy: &retry.Policy{
			Name: "ping", Schedule: retry.Schedule{MaxAttempts: 3, InitialDelay: time.Second},
		}}
		err = engine.Run(t.Context(), "one", func(ctx context.Context) error {
			for order, failures := range map[string]int{"a": 1, "b": 3} {
				attempts := 0
				_, _ = genapi.Call(ctx, &s, genapi.ID(order), genapi.Arguments(), func(context.Context) (int, error) {
					if attempts++; attempts <= failures {
						return 0, errors.New("connection refused")
					}
					return attempts, nil
				})
			}
			return nil
		}, durable.Budget(job.BudgetPolicy{Name: "day"}))
		if err != nil {
			t.Fatal(err)
		}
		names := []string{
			"retry_durable_attempts_total", "retry_durable_retries_total", "retry_durable_failures_total",
			"retry_durable_exhausted_total", "retry_durable_wait_seconds_total", "retry_durable_run_events_total",
			"retry_durable_store_errors_total", "retry_budget_consumed_total",
		}
		if err := testutil.CollectAndCompare(m, strings.NewReader(wantDurable), names...); err != nil {
			t.Error(err)
		}
		if n := testutil.CollectAndCount(m, "retry_durable_success_seconds"); n != 1 {
			t.Errorf("%d histograms of successes, want 1", n)
		}
	})
}

// TestUnitFailures: units that have failed are counted, a batch at a time.
func TestUnitFailures(t *testing.T) {
	m := New(Options{})
	for _, n := range []int{2, 3} {
		e := job.Event{Kind: job.EventFailures, JobID: "j1", Group: "copy", Failures: make([]job.Failure, n)}
		m.ObserveJob(t.Context(), e)
	}
	const want = `
# HELP retry_unit_failures_total Units of jobs that have failed.
# TYPE retry_unit_failures_total counter
retry_unit_failures_total{group="copy"} 5
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "retry_unit_failures_total"); err != nil {
		t.Error(err)
	}
}
