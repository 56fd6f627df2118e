// Package promretry counts what policies do for Prometheus: the calls of
// wrappers (package retry), groups (package job) and engines (package durable).
// One [Metrics] counts all of them:
//
//	metrics := promretry.New(promretry.Options{})
//	prometheus.MustRegister(metrics)
//
//	ctx = retry.WithObserver(ctx, metrics.ObserveCall)
//	group.Observe(metrics.ObserveJob)
//	engine, err := durable.New(store, durable.OnEvent(metrics.ObserveDurable))
//
// The metrics of wrapped calls are:
//
//	retry_retries_total{policy,class}      attempts that failed and were followed by another one
//	retry_stops_total{policy,reason}       calls that failed, by the reason why no attempt followed
//	retry_wait_seconds_total{policy}       waits before retries, in seconds
//	retry_timeouts_clamped_total{policy}   timeouts that were above the hard limit
//
// A call that succeeds at the first attempt is not observed, and costs nothing.
//
// The metrics of groups, and of runs with a budget, are:
//
//	retry_budget_consumed_total{group}            retries that were granted
//	retry_budget_exhausted_total{group}           retries that were refused
//	best_effort_completions_total{group,reason}   jobs that have completed
//	best_effort_completion_ratio{group}           successful share of the last job's units
//	best_effort_late_results_total{group,outcome} results after enough units had succeeded
//
// The label group is the name of the group's policy; of a run, that of its budget.
//
// The metrics of engines are:
//
//	retry_durable_run_events_total{event}       what happened to runs: created, recovered, completed, paused, …
//	retry_durable_attempts_total{step}          attempts whose start was recorded
//	retry_durable_retries_total{step}           of these, attempts after the first of a step
//	retry_durable_failures_total{step,class}    attempts that failed
//	retry_durable_lost_total{step}              attempts whose end is not known
//	retry_durable_in_doubt_total{step}          of these, attempts that a person has to resolve
//	retry_durable_exhausted_total{step,reason}  steps that are not retried further
//	retry_durable_wait_seconds_total{step}      planned waits before retries, in seconds
//	retry_durable_success_seconds{step}         time from the first attempt to the success, with downtime
//	retry_durable_store_errors_total            errors of the store
//
// The label step is the name of a step, without the values that identify its
// calls. Steps that record only failures have no starts. These metrics count the
// events of one process; [State] reads gauges from the store, which all processes
// share. The failures of a step are also events of the observer of its context: a
// process that gives both to a Metrics has them in retry_retries_total, by policy,
// and in retry_durable_failures_total, by step.
//
// The number of time series is limited: no label has the id of a call, a run, a
// step or a job, unless [Options] adds job_id, and a label has at most 1000
// values. Further ones are counted as "other".
package promretry

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/job"
)

// Options configures [Metrics].
type Options struct {
	// JobID adds the label job_id to the metrics of retries and of the ratio: the
	// id of a job, or of a run with a budget. Each job then has time series of its
	// own, until [Metrics.Forget]. The default is false.
	JobID bool
}

// Metrics is a prometheus.Collector for any number of contexts, groups and
// engines. Its methods may be called concurrently.
type Metrics struct {
	collectors
	options Options

	retries, stops, waits, clamped *prometheus.CounterVec // of calls

	consumed, exhausted *prometheus.CounterVec // of jobs
	completions, late   *prometheus.CounterVec
	ratio               *prometheus.GaugeVec

	durable durableMetrics
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns new metrics, which are all zero.
func New(o Options) *Metrics {
	perJob := []string{"group"}
	if o.JobID {
		perJob = append(perJob, "job_id")
	}
	m := &Metrics{options: o}
	c := &m.collectors
	m.retries = c.counter(
		"retry_retries_total", "Attempts that failed and were followed by another one.", "policy", "class",
	)
	m.stops = c.counter(
		"retry_stops_total", "Calls that failed, by the reason why no attempt followed.", "policy", "reason",
	)
	m.waits = c.counter("retry_wait_seconds_total", "Waits before retries, in seconds.", "policy")
	m.clamped = c.counter("retry_timeouts_clamped_total", "Timeouts that were above the hard limit.", "policy")
	m.consumed = c.counter("retry_budget_consumed_total", "Retries granted by the budget of a job.", perJob...)
	m.exhausted = c.counter("retry_budget_exhausted_total", "Retries refused by the budget of a job.", perJob...)
	m.completions = c.counter("best_effort_completions_total", "Completed jobs, by reason.", "group", "reason")
	m.late = c.counter("best_effort_late_results_total", "Late results, by outcome.", "group", "outcome")
	m.ratio = add(c, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "best_effort_completion_ratio", Help: "Share of a job's units that have succeeded.",
	}, perJob))
	m.durable = newDurable(c)
	return m
}

// ObserveCall counts an event of a wrapped call. Pass it to [retry.WithObserver].
func (m *Metrics) ObserveCall(_ context.Context, e retry.Event) {
	policy := m.value("policy", e.Policy)
	switch e.Kind {
	case retry.EventRetry:
		m.retries.WithLabelValues(policy, m.class(e.Class)).Inc()
		m.waits.WithLabelValues(policy).Add(e.Delay.Seconds())
	case retry.EventStop:
		m.stops.WithLabelValues(policy, m.value("reason", string(e.Reason))).Inc()
	case retry.EventTimeoutClamped:
		m.clamped.WithLabelValues(policy).Inc()
	}
}

// ObserveJob counts an event of a group. Pass it to [job.Group.Observe].
func (m *Metrics) ObserveJob(_ context.Context, e job.Event) {
	group := m.value("group", e.Group)
	perJob := []string{group}
	if m.options.JobID {
		perJob = append(perJob, e.JobID)
	}
	switch e.Kind {
	case job.EventBudgetConsumed:
		m.consumed.WithLabelValues(perJob...).Inc()
	case job.EventBudgetExhausted:
		m.exhausted.WithLabelValues(perJob...).Inc()
	case job.EventCompletion: // once for each job: the final ratio is an event of its own
		m.completions.WithLabelValues(group, e.Reason.String()).Inc()
		m.ratio.WithLabelValues(perJob...).Set(e.Decision.Ratio)
	case job.EventRatio:
		m.ratio.WithLabelValues(perJob...).Set(e.Decision.Ratio)
	case job.EventLateResult:
		m.late.WithLabelValues(group, e.Reason.String()).Inc()
	}
}

// Forget removes the time series of a job. It does nothing unless Options.JobID is
// set.
func (m *Metrics) Forget(jobID string) {
	label := prometheus.Labels{"job_id": jobID}
	m.consumed.DeletePartialMatch(label)
	m.exhausted.DeletePartialMatch(label)
	m.ratio.DeletePartialMatch(label)
}

// class returns the value of the label class, which is never empty.
func (m *Metrics) class(c retry.Class) string {
	if c == "" {
		return "none"
	}
	return m.value("class", string(c))
}

// ObserveDurable counts an event of an engine, and of its groups and budgets. Pass
// it to [durable.OnEvent].
func (m *Metrics) ObserveDurable(ctx context.Context, e durable.Event) {
	if e.Kind == durable.EventJob {
		m.ObserveJob(ctx, e.Job)
		return
	}
	m.durable.observe(&e, m.value("step", e.Name), m.class(e.Class))
}

// maxValues is how many values a label may have.
const maxValues = 1000

// collectors are the collectors of a type that embeds them, which makes it a
// prometheus.Collector, and the values of their labels.
type collectors struct {
	all []prometheus.Collector

	mu     sync.RWMutex
	values map[string]map[string]bool // of each label
}

// add appends a collector, and returns it.
func add[C prometheus.Collector](c *collectors, collector C) C {
	c.all = append(c.all, collector)
	return collector
}

// counter adds a counter.
func (c *collectors) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return add(c, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels))
}

// value returns the value of a label, or "other" if the label has too many.
func (c *collectors) value(label, value string) string {
	c.mu.RLock()
	known := c.values[label][value]
	c.mu.RUnlock()
	if known {
		return value
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values == nil {
		c.values = map[string]map[string]bool{}
	}
	values := c.values[label]
	switch {
	case values == nil:
		values = map[string]bool{}
		c.values[label] = values
	case len(values) >= maxValues && !values[value]:
		return "other"
	}
	values[value] = true
	return value
}

// Describe sends the descriptions of all metrics.
func (c *collectors) Describe(ch chan<- *prometheus.Desc) {
	for _, collector := range c.all {
		collector.Describe(ch)
	}
}

// Collect sends the values of all metrics.
func (c *collectors) Collect(ch chan<- prometheus.Metric) {
	for _, collector := range c.all {
		collector.Collect(ch)
	}
}
