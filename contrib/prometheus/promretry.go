// Package promretry counts the events of groups (package job) and of durable
// engines (package durable) for Prometheus:
//
//	metrics := promretry.New(promretry.Options{})
//	prometheus.MustRegister(metrics)
//	group.Observe(metrics.Observe)
//
// The metrics of groups are:
//
//	retry_budget_consumed_total{group}            retries that were granted
//	retry_budget_exhausted_total{group}           retries that were refused
//	best_effort_completions_total{group,reason}   jobs that have completed
//	best_effort_completion_ratio{group}           successful share of the last job's units
//	best_effort_late_results_total{group,outcome} results after enough units had succeeded
//
// The label group is the name of the group's policy. [Options] adds job_id.
// [DurableMetrics] lists the metrics of durable engines.
package promretry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retrygen/retrygen/runtime/job"
)

// Options configures [Metrics].
type Options struct {
	// JobID adds the label job_id to the metrics of retries and of the ratio. Each
	// job then has time series of its own, until [Metrics.Forget]. The default is
	// false.
	JobID bool
}

// Metrics is a prometheus.Collector for any number of groups. Its methods may be
// called concurrently.
type Metrics struct {
	options             Options
	consumed, exhausted *prometheus.CounterVec
	completions, late   *prometheus.CounterVec
	ratio               *prometheus.GaugeVec
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns new metrics, which are all zero.
func New(o Options) *Metrics {
	perJob := []string{"group"}
	if o.JobID {
		perJob = append(perJob, "job_id")
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Metrics{
		options:     o,
		consumed:    counter("retry_budget_consumed_total", "Retries granted by the budget of a job.", perJob...),
		exhausted:   counter("retry_budget_exhausted_total", "Retries refused by the budget of a job.", perJob...),
		completions: counter("best_effort_completions_total", "Completed jobs, by reason.", "group", "reason"),
		late:        counter("best_effort_late_results_total", "Late results, by outcome.", "group", "outcome"),
		ratio: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "best_effort_completion_ratio", Help: "Share of a job's units that have succeeded.",
		}, perJob),
	}
}

// Observe counts one event. Pass it to [job.Group.Observe].
func (m *Metrics) Observe(_ context.Context, e job.Event) {
	perJob := []string{e.Group}
	if m.options.JobID {
		perJob = append(perJob, e.JobID)
	}
	switch e.Kind {
	case job.EventBudgetConsumed:
		m.consumed.WithLabelValues(perJob...).Inc()
	case job.EventBudgetExhausted:
		m.exhausted.WithLabelValues(perJob...).Inc()
	case job.EventCompletion: // once for each job: the final ratio is an event of its own
		m.completions.WithLabelValues(e.Group, e.Reason.String()).Inc()
		m.ratio.WithLabelValues(perJob...).Set(e.Decision.Ratio)
	case job.EventRatio:
		m.ratio.WithLabelValues(perJob...).Set(e.Decision.Ratio)
	case job.EventLateResult:
		m.late.WithLabelValues(e.Group, e.Reason.String()).Inc()
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

// Describe sends the descriptions of all metrics.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
}

// Collect sends the values of all metrics.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.consumed, m.exhausted, m.completions, m.ratio, m.late}
}
