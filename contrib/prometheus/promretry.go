// Package promretry exports metrics about retry policies to Prometheus. One [Metrics]
// counts events from wrapped calls (package retry), groups (package job) and engines
// (package durable):
//
//	metrics := promretry.New(promretry.Options{})
//	prometheus.MustRegister(metrics)
//
//	ctx = retry.WithObserver(ctx, metrics.ObserveCall)
//	metrics.ObserveBreakers(shop.DefaultShared.Breakers()...)
//	metrics.ObserveCapacity(shop.DefaultShared.Capacity())
//	metrics.ObserveHedges(shop.DefaultShared.Hedges()...)
//	group.Observe(metrics.ObserveJob)
//	engine, err := durable.New(store, durable.OnEvent(metrics.ObserveDurable))
//
// The metrics of wrapped calls are:
//
//	retry_retries_total{policy,class}      attempts that failed and were followed by another one
//	retry_stops_total{policy,reason}       calls that failed, by the reason why no attempt followed
//	retry_wait_seconds_total{policy}       waits before retries, in seconds
//	retry_timeouts_clamped_total{policy}   timeouts that were above the hard limit
//	retry_timeouts_captured_total{policy,outcome}  timeouts whose state was captured, or not captured
//
// A call whose first attempt succeeds causes no events and costs nothing.
//
// The metrics of breakers are:
//
//	retry_breaker_changes_total{breaker,to}   changes of the state, by the new state
//	retry_breaker_state{breaker,state}        1 for the current state, 0 for the others
//
// An open breaker becomes half-open on the first call after its OpenFor has passed.
// Without calls, the metric continues to show the breaker as open.
//
// The metrics of limits, rates, throttles, hedges and overrides are read on each scrape:
//
//	retry_concurrency_limit{concurrency}    permits of a concurrency limit, which changes if it is adaptive
//	retry_concurrency_in_use{concurrency}   permits of the limit that attempts hold
//	retry_concurrency_queued{concurrency}   attempts that wait for a permit
//	retry_rate_queued{rate}                 attempts that wait for their turn at a rate
//	retry_throttle_share{throttle}          share of the attempts that a throttle refuses, from 0 to 1
//	retry_refused_total{reason,name}        attempts that were refused: limited, rate_limited or throttled
//	retry_hedge_delay_seconds{hedge}        time before a second request starts, once it is known
//	retry_hedges_total{hedge,outcome}       second requests: won, lost, refused or no_budget
//	retry_policy_changes_total{package,outcome}   versions of policy files that were loaded: accepted or refused
//	retry_overrides{action}                       overrides in force
//
// The label hedge is the name of the hedged function. A second request has the outcome
// refused if a limit, a rate, a throttle or an open breaker did not admit it, and the
// outcome no_budget if the share of extra requests is used up.
//
// The metrics of groups, and of runs with a budget, are:
//
//	retry_budget_consumed_total{group}            retries that were granted
//	retry_budget_exhausted_total{group}           retries that were refused
//	best_effort_completions_total{group,reason}   jobs that have completed
//	best_effort_completion_ratio{group}           share of the units of the last job that have succeeded
//	best_effort_late_results_total{group,outcome} results after enough units had succeeded
//	retry_unit_failures_total{group}              units that have failed
//
// The label group is the name of the group's policy. For a run with a budget, it is the
// name of the budget.
//
// The metrics of engines are:
//
//	retry_durable_run_events_total{event}       what happened to runs: created, recovered, completed, paused, …
//	retry_durable_attempts_total{step}          attempts whose start was recorded
//	retry_durable_retries_total{step}           of these, attempts after the first of a step
//	retry_durable_failures_total{step,class}    attempts that failed
//	retry_durable_lost_total{step}              attempts whose end is not known
//	retry_durable_in_doubt_total{step}          of these, attempts that a person has to resolve
//	retry_durable_exhausted_total{step,reason}  steps that have failed for good
//	retry_durable_wait_seconds_total{step}      planned waits before retries, in seconds
//	retry_durable_success_seconds{policy}       time from the first attempt to the success, with downtime
//	retry_durable_store_errors_total            errors of the store
//
// The label step is the name of a step, without the values that identify its calls. If a
// step records only failures, its starts are not counted. These metrics count the events
// of one process. [State] reads gauges from the store, which all processes share.
//
// A step's failures are also reported to the observer in its context. If the observer and
// the engine report to the same Metrics, a failure is counted in retry_retries_total by
// policy, and in retry_durable_failures_total by step.
//
// The number of time series is limited. No label contains the id of a call, a run, a step
// or a job, unless [Options] adds job_id. A label has at most 1000 values. Any further
// values are counted as "other".
package promretry

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retrygen/retrygen/internal/measure"
	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/job"
)

// Options configures a [Metrics].
type Options struct {
	// JobID adds the label job_id to the metrics for retries and the completion ratio. It
	// is the id of a job, or of a run with a budget. With JobID, each job has its own
	// time series, until [Metrics.Forget]. The default is false.
	JobID bool
}

// Metrics is a prometheus.Collector for any number of contexts, groups and
// engines. Its methods may be called concurrently.
type Metrics struct {
	sink        sink
	polled      measure.Polled
	polledDescs [len(measure.PolledInstruments)]*prometheus.Desc
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns a new Metrics in which all values are zero.
func New(o Options) *Metrics {
	m := &Metrics{sink: sink{jobID: o.JobID}, polledDescs: polledDescs()}
	for i := range measure.Instruments {
		m.sink.instruments[i] = newInstrument(&measure.Instruments[i], o.JobID)
	}
	// A first error is an increase.
	m.sink.Measure(context.Background(), measure.StoreErrors, 0, "")
	return m
}

// ObserveCall counts an event from a wrapped call. Pass it to [retry.WithObserver].
func (m *Metrics) ObserveCall(ctx context.Context, e retry.Event) { measure.Call(ctx, &m.sink, &e) }

// ObserveBreakers counts the state changes of breakers from now on and reports their
// states. Pass it the result of a generated Shared's Breakers method. If several breakers
// have the same name, the metrics show the state of the one that changed last.
func (m *Metrics) ObserveBreakers(breakers ...*breaker.Breaker) { measure.Breakers(&m.sink, breakers) }

// ObserveJob counts an event from a group. Pass it to [job.Group.Observe].
func (m *Metrics) ObserveJob(ctx context.Context, e job.Event) { measure.Job(ctx, &m.sink, &e) }

// ObserveDurable counts an event from an engine or from one of its groups or budgets.
// Pass it to [durable.OnEvent].
func (m *Metrics) ObserveDurable(ctx context.Context, e events.Event) {
	measure.Durable(ctx, &m.sink, &e)
}

// Forget removes the time series of a job. It does nothing unless Options.JobID is
// set.
func (m *Metrics) Forget(jobID string) {
	label := prometheus.Labels{measure.JobID.Prometheus: jobID}
	for i := range m.sink.instruments {
		if measure.Instruments[i].PerJob {
			m.sink.instruments[i].forget(label)
		}
	}
}

// Describe sends the descriptions of all metrics.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for i := range m.sink.instruments {
		m.sink.instruments[i].Describe(ch)
	}
	for _, d := range m.polledDescs {
		ch <- d
	}
}

// Collect sends the values of all metrics.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for i := range m.sink.instruments {
		m.sink.instruments[i].Collect(ch)
	}
	m.collectPolled(ch)
}

// An instrument is a metric of Prometheus.
type instrument struct {
	prometheus.Collector
	add    func(value float64, labels ...string)
	forget func(prometheus.Labels) int
}

func newInstrument(d *measure.Instrument, jobID bool) instrument {
	var labels []string
	for _, l := range d.Labels {
		labels = append(labels, l.Prometheus)
	}
	if d.PerJob && jobID {
		labels = append(labels, measure.JobID.Prometheus)
	}
	switch d.Kind {
	case measure.Gauge:
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Prometheus, Help: d.Help}, labels)
		add := func(value float64, labels ...string) { g.WithLabelValues(labels...).Set(value) }
		return instrument{g, add, g.DeletePartialMatch}
	case measure.Histogram:
		opts := prometheus.HistogramOpts{Name: d.Prometheus, Help: d.Help, Buckets: d.Buckets}
		h := prometheus.NewHistogramVec(opts, labels)
		add := func(value float64, labels ...string) { h.WithLabelValues(labels...).Observe(value) }
		return instrument{h, add, h.DeletePartialMatch}
	}
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Prometheus, Help: d.Help}, labels)
	add := func(value float64, labels ...string) { c.WithLabelValues(labels...).Add(value) }
	return instrument{c, add, c.DeletePartialMatch}
}

// maxValues is how many values a label may have.
const maxValues = 1000

// A sink adds measurements to the metrics.
type sink struct {
	jobID       bool
	instruments [len(measure.Instruments)]instrument

	mu     sync.RWMutex
	values map[measure.Label]map[string]bool
}

// Measure adds one measurement.
func (s *sink) Measure(_ context.Context, id measure.ID, value float64, jobID string, labels ...string) {
	d := &measure.Instruments[id]
	for i := range labels {
		labels[i] = s.bounded(d.Labels[i], labels[i])
	}
	if d.PerJob && s.jobID {
		labels = append(labels, jobID)
	}
	s.instruments[id].add(value, labels...)
}

// bounded returns the value of a label, or "other" if the label has too many.
func (s *sink) bounded(label measure.Label, value string) string {
	s.mu.RLock()
	known := s.values[label][value]
	s.mu.RUnlock()
	if known {
		return value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[measure.Label]map[string]bool{}
	}
	values := s.values[label]
	switch {
	case values == nil:
		values = map[string]bool{}
		s.values[label] = values
	case len(values) >= maxValues && !values[value]:
		return "other"
	}
	values[value] = true
	return value
}
