package promretry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retrygen/retrygen/runtime/durable"
)

// DurableMetrics counts the events of engines (package durable):
//
//	metrics := promretry.NewDurable()
//	prometheus.MustRegister(metrics)
//	engine, err := durable.New(store, durable.OnEvent(metrics.Observe))
//
// It is a prometheus.Collector for these metrics:
//
//	retry_durable_attempts_total{step}          attempts whose start was recorded
//	retry_durable_retries_total{step}           of these, attempts after the first of a step
//	retry_durable_failures_total{step,class}    attempts that failed
//	retry_durable_lost_total{step}              attempts whose end is not known
//	retry_durable_in_doubt_total{step}          of these, attempts that a person has to resolve
//	retry_durable_exhausted_total{step,reason}  steps that are not retried further
//	retry_durable_wait_seconds_total{step}      planned waits before retries, in seconds
//	retry_durable_success_seconds{step}         time from the first attempt to the success, with downtime
//	retry_durable_recoveries_total              runs that were taken over from a dead engine
//	retry_durable_paused_total                  runs that wait for a person
//	retry_durable_store_errors_total            errors of the store
//
// The label step is the name of a step, without the values that identify its
// calls. Steps that record only failures have no starts. The metrics count the
// events of this process; [durable.Engine.Stats] reads the records of all
// processes. Its methods may be called concurrently.
type DurableMetrics struct {
	attempts, retries, failures, lost, inDoubt, exhausted, waits *prometheus.CounterVec
	success                                                      *prometheus.HistogramVec
	recoveries, paused, storeErrors                              prometheus.Counter
}

var _ prometheus.Collector = (*DurableMetrics)(nil)

// NewDurable returns new metrics, which are all zero.
func NewDurable() *DurableMetrics {
	opts := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "retry", Subsystem: "durable", Name: name, Help: help}
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(opts(name, help), append([]string{"step"}, labels...))
	}
	return &DurableMetrics{
		attempts:  vec("attempts_total", "Attempts whose start was recorded."),
		retries:   vec("retries_total", "Attempts that were not the first of their step."),
		failures:  vec("failures_total", "Attempts that failed, by class.", "class"),
		lost:      vec("lost_total", "Attempts whose end is not known."),
		inDoubt:   vec("in_doubt_total", "Lost attempts that a person has to resolve."),
		exhausted: vec("exhausted_total", "Steps that are not retried further, by reason.", "reason"),
		waits:     vec("wait_seconds_total", "Waits before attempts, in seconds."),
		success: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "retry", Subsystem: "durable", Name: "success_seconds",
			Help:    "Time from the first attempt of a step to its success, downtime included.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 12), // 10ms to 11 hours
		}, []string{"step"}),
		recoveries:  prometheus.NewCounter(opts("recoveries_total", "Runs that were taken over from a dead engine.")),
		paused:      prometheus.NewCounter(opts("paused_total", "Runs that wait for a person.")),
		storeErrors: prometheus.NewCounter(opts("store_errors_total", "Errors of the store.")),
	}
}

// Observe counts one event. Pass it to [durable.OnEvent].
func (m *DurableMetrics) Observe(_ context.Context, e durable.Event) {
	switch e.Kind {
	case durable.EventStarted:
		m.attempts.WithLabelValues(e.Name).Inc()
		if e.Attempt > 1 {
			m.retries.WithLabelValues(e.Name).Inc()
		}
	case durable.EventFailed:
		m.failures.WithLabelValues(e.Name, string(e.Class)).Inc()
		m.waits.WithLabelValues(e.Name).Add(e.Wait.Seconds())
	case durable.EventExhausted:
		if e.Err != nil { // of the last attempt, which was not lost
			m.failures.WithLabelValues(e.Name, string(e.Class)).Inc()
		}
		m.exhausted.WithLabelValues(e.Name, string(e.Reason)).Inc()
	case durable.EventLost:
		m.lost.WithLabelValues(e.Name).Inc()
		m.waits.WithLabelValues(e.Name).Add(e.Wait.Seconds())
	case durable.EventInDoubt:
		m.lost.WithLabelValues(e.Name).Inc()
		m.inDoubt.WithLabelValues(e.Name).Inc()
	case durable.EventSucceeded:
		m.success.WithLabelValues(e.Name).Observe(e.Total.Seconds())
	case durable.EventRecovered:
		m.recoveries.Inc()
	case durable.EventPaused:
		m.paused.Inc()
	case durable.EventStoreError:
		m.storeErrors.Inc()
	}
}

// Describe sends the descriptions of all metrics.
func (m *DurableMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
}

// Collect sends the values of all metrics.
func (m *DurableMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
}

func (m *DurableMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.attempts, m.retries, m.failures, m.lost, m.inDoubt, m.exhausted, m.waits, m.success, m.recoveries, m.paused,
		m.storeErrors,
	}
}
