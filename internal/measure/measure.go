// Package measure says which metrics there are, and what an event adds to them:
// contrib/prometheus and contrib/otel count the same.
package measure

import (
	"cmp"
	"context"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/job"
)

// A Kind is how the measurements of an instrument are combined.
type Kind uint8

// The kinds of instruments.
const (
	Count     Kind = iota // the number of something, which only grows
	Sum                   // of seconds, which only grows
	Gauge                 // the last value
	Histogram             // of seconds
)

// A Label is a label of Prometheus, and the attribute of OpenTelemetry that is the
// same.
type Label struct{ Prometheus, OTel string }

// The labels. Those of AD-44 are the same everywhere.
var (
	policy   = Label{"policy", "retry.policy"}
	class    = Label{"class", "error.type"}
	stopped  = Label{"reason", "retry.reason"}
	step     = Label{"step", "retry.step.name"}
	captured = Label{"outcome", "retry.outcome"}
	circuit  = Label{"breaker", "retry.breaker"}
	state    = Label{"state", "retry.breaker.state"}
	to       = Label{"to", "retry.breaker.to"}
	event    = Label{"event", "retry.event"}
	group    = Label{"group", "group"}
	reason   = Label{"reason", "reason"}
	outcome  = Label{"outcome", "outcome"}

	// JobID is the last label of instruments that have PerJob, if the user wants it.
	JobID = Label{"job_id", "job_id"}
)

// An Instrument is a metric.
type Instrument struct {
	Kind       Kind
	Prometheus string // its name there
	OTel       string // its name there, which exporters translate to that of Prometheus
	Unit       string // of OTel
	Help       string
	Labels     []Label
	PerJob     bool
	Buckets    []float64 // of a histogram
}

// An ID is the index of an instrument in [Instruments].
type ID uint8

// The instruments.
const (
	Retries ID = iota
	Stops
	Waits
	Clamped
	Captures
	BreakerChanges
	BreakerStates

	BudgetConsumed
	BudgetExhausted
	Completions
	Ratio
	LateResults
	UnitFailures

	RunEvents
	Attempts
	StepRetries
	Failures
	Lost
	InDoubt
	Exhausted
	StepWaits
	Successes
	StoreErrors
)

// Instruments are all instruments, by their ids.
var Instruments = [...]Instrument{
	Retries: {Count, "retry_retries_total", "retry.retries", "{retry}",
		"Attempts that failed and were followed by another one.", []Label{policy, class}, false, nil},
	Stops: {Count, "retry_stops_total", "retry.stops", "{call}",
		"Calls that failed, by the reason why no attempt followed.", []Label{policy, stopped}, false, nil},
	Waits: {Sum, "retry_wait_seconds_total", "retry.wait", "s",
		"Waits before retries, in seconds.", []Label{policy}, false, nil},
	Clamped: {Count, "retry_timeouts_clamped_total", "retry.timeouts_clamped", "{timeout}",
		"Timeouts that were above the hard limit.", []Label{policy}, false, nil},

	Captures: {Count, "retry_timeouts_captured_total", "retry.timeouts_captured", "{timeout}",
		"Timeouts whose state was captured, or was not, by outcome.", []Label{policy, captured}, false, nil},
	BreakerChanges: {Count, "retry_breaker_changes_total", "retry.breaker.changes", "{change}",
		"Changes of the state of breakers, by the new state.", []Label{circuit, to}, false, nil},
	BreakerStates: {Gauge, "retry_breaker_state", "retry.breaker.state", "{breaker}",
		"1 for the state of a breaker, 0 for the other states.", []Label{circuit, state}, false, nil},

	BudgetConsumed: {Count, "retry_budget_consumed_total", "retry.budget.consumed", "{retry}",
		"Retries granted by the budget of a job.", []Label{group}, true, nil},
	BudgetExhausted: {Count, "retry_budget_exhausted_total", "retry.budget.exhausted", "{retry}",
		"Retries refused by the budget of a job.", []Label{group}, true, nil},
	Completions: {Count, "best_effort_completions_total", "best_effort.completions", "{job}",
		"Completed jobs, by reason.", []Label{group, reason}, false, nil},
	Ratio: {Gauge, "best_effort_completion_ratio", "best_effort.completion.ratio", "1",
		"Share of a job's units that have succeeded.", []Label{group}, true, nil},
	LateResults: {Count, "best_effort_late_results_total", "best_effort.late_results", "{unit}",
		"Late results, by outcome.", []Label{group, outcome}, false, nil},
	UnitFailures: {Count, "retry_unit_failures_total", "retry.unit.failures", "{unit}",
		"Units of jobs that have failed.", []Label{group}, false, nil},

	RunEvents: {Count, "retry_durable_run_events_total", "retry.durable.run.events", "{event}",
		"What happened to runs.", []Label{event}, false, nil},
	Attempts: {Count, "retry_durable_attempts_total", "retry.durable.attempts", "{attempt}",
		"Attempts whose start was recorded.", []Label{step}, false, nil},
	StepRetries: {Count, "retry_durable_retries_total", "retry.durable.retries", "{attempt}",
		"Attempts that were not the first of their step.", []Label{step}, false, nil},
	Failures: {Count, "retry_durable_failures_total", "retry.durable.failures", "{attempt}",
		"Attempts that failed, by class.", []Label{step, class}, false, nil},
	Lost: {Count, "retry_durable_lost_total", "retry.durable.lost", "{attempt}",
		"Attempts whose end is not known.", []Label{step}, false, nil},
	InDoubt: {Count, "retry_durable_in_doubt_total", "retry.durable.in_doubt", "{attempt}",
		"Lost attempts that a person has to resolve.", []Label{step}, false, nil},
	Exhausted: {Count, "retry_durable_exhausted_total", "retry.durable.exhausted", "{step}",
		"Steps that are not retried further, by reason.", []Label{step, stopped}, false, nil},
	StepWaits: {Sum, "retry_durable_wait_seconds_total", "retry.durable.wait", "s",
		"Waits before attempts, in seconds.", []Label{step}, false, nil},
	Successes: {Histogram, "retry_durable_success_seconds", "retry.durable.success", "s",
		"Time from the first attempt of a step to its success, downtime included.", []Label{policy}, false,
		[]float64{0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84, 655.36, 2621.44, 10485.76, 41943.04}}, // to 11 hours
	StoreErrors: {Count, "retry_durable_store_errors_total", "retry.durable.store.errors", "{error}",
		"Errors of the store.", nil, false, nil},
}

// A Sink takes measurements. labels are the values of the labels of the
// instrument, which it may change. jobID is the id of the job, for instruments that
// have PerJob.
type Sink interface {
	Measure(ctx context.Context, id ID, value float64, jobID string, labels ...string)
}

// Call measures an event of a wrapped call.
func Call(ctx context.Context, s Sink, e *retry.Event) {
	switch e.Kind {
	case retry.EventRetry:
		s.Measure(ctx, Retries, 1, "", e.Policy, Class(e.Class))
		s.Measure(ctx, Waits, e.Wait.Seconds(), "", e.Policy)
	case retry.EventStop:
		s.Measure(ctx, Stops, 1, "", e.Policy, string(e.Reason))
	case retry.EventTimeoutClamped:
		s.Measure(ctx, Clamped, 1, "", e.Policy)
	case retry.EventCapture:
		outcome := "captured"
		if e.Err != nil {
			outcome = "not captured"
		}
		s.Measure(ctx, Captures, 1, "", e.Policy, outcome)
	}
}

// Breakers measures the states of breakers, and their changes from now on.
func Breakers(s Sink, breakers []*breaker.Breaker) {
	ctx := context.Background()
	measure := func(name string, is breaker.State) {
		for state := breaker.Closed; state <= breaker.ForcedOpen; state++ {
			value := 0.0
			if state == is {
				value = 1
			}
			s.Measure(ctx, BreakerStates, value, "", name, state.String())
		}
	}
	for _, b := range breakers {
		measure(b.Policy().Name, b.State())
		b.Observe(func(c breaker.Change) {
			s.Measure(ctx, BreakerChanges, 1, "", c.Breaker, c.To.String())
			measure(c.Breaker, c.To)
		})
	}
}

// Class returns the value of a label for a class of errors, which is never empty.
func Class(c retry.Class) string { return string(cmp.Or(c, "none")) }

// Job measures an event of a group.
func Job(ctx context.Context, s Sink, e *job.Event) {
	switch e.Kind {
	case job.EventBudgetConsumed:
		s.Measure(ctx, BudgetConsumed, 1, e.JobID, e.Group)
	case job.EventBudgetExhausted:
		s.Measure(ctx, BudgetExhausted, 1, e.JobID, e.Group)
	case job.EventCompletion: // once for each job: the final ratio is an event of its own
		s.Measure(ctx, Completions, 1, e.JobID, e.Group, e.Reason.String())
		s.Measure(ctx, Ratio, e.Decision.Ratio, e.JobID, e.Group)
	case job.EventRatio:
		s.Measure(ctx, Ratio, e.Decision.Ratio, e.JobID, e.Group)
	case job.EventLateResult:
		s.Measure(ctx, LateResults, 1, e.JobID, e.Group, e.Reason.String())
	case job.EventFailures:
		s.Measure(ctx, UnitFailures, float64(len(e.Failures)), e.JobID, e.Group)
	}
}

// Durable measures an event of an engine.
func Durable(ctx context.Context, s Sink, e *events.Event) {
	measure := func(id ID, value float64, more ...string) {
		s.Measure(ctx, id, value, "", append([]string{e.Name}, more...)...)
	}
	switch e.Kind {
	case events.EventJob:
		Job(ctx, s, &e.Job)
	case events.EventStarted:
		measure(Attempts, 1)
		if e.Attempt > 1 {
			measure(StepRetries, 1)
		}
	case events.EventFailed:
		measure(Failures, 1, Class(e.Class))
		measure(StepWaits, e.Wait.Seconds())
	case events.EventExhausted, events.EventDeadLetter:
		if e.Err != nil { // of the last attempt, which was not lost
			measure(Failures, 1, Class(e.Class))
		}
		measure(Exhausted, 1, string(e.Reason))
	case events.EventLost:
		measure(Lost, 1)
		measure(StepWaits, e.Wait.Seconds())
	case events.EventInterrupted:
		measure(StepWaits, e.Wait.Seconds())
	case events.EventInDoubt:
		measure(Lost, 1)
		measure(InDoubt, 1)
	case events.EventSucceeded:
		s.Measure(ctx, Successes, e.Total.Seconds(), "", e.Policy) // a histogram for each step is too many series
	case events.EventStoreError:
		s.Measure(ctx, StoreErrors, 1, "")
	case events.EventReset, events.EventForcedOpen: // of a budget or a breaker
	default:
		if e.Step == "" { // an event of the run
			s.Measure(ctx, RunEvents, 1, "", e.Kind.String())
		}
	}
}
