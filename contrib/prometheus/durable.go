package promretry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/retrygen/retrygen/runtime/durable"
)

// durableMetrics are the metrics of engines.
type durableMetrics struct {
	runs, attempts, retries, failures, lost, inDoubt, exhausted, waits, storeErrors *prometheus.CounterVec
	success                                                                         *prometheus.HistogramVec
}

// newDurable adds the metrics of engines to c.
func newDurable(c *collectors) durableMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return c.counter("retry_durable_"+name, help, labels...)
	}
	m := durableMetrics{
		runs:        counter("run_events_total", "What happened to runs.", "event"),
		attempts:    counter("attempts_total", "Attempts whose start was recorded.", "step"),
		retries:     counter("retries_total", "Attempts that were not the first of their step.", "step"),
		failures:    counter("failures_total", "Attempts that failed, by class.", "step", "class"),
		lost:        counter("lost_total", "Attempts whose end is not known.", "step"),
		inDoubt:     counter("in_doubt_total", "Lost attempts that a person has to resolve.", "step"),
		exhausted:   counter("exhausted_total", "Steps that are not retried further, by reason.", "step", "reason"),
		waits:       counter("wait_seconds_total", "Waits before attempts, in seconds.", "step"),
		storeErrors: counter("store_errors_total", "Errors of the store."),
		success: add(c, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "retry_durable_success_seconds",
			Help:    "Time from the first attempt of a step to its success, downtime included.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 12), // 10ms to 11 hours
		}, []string{"step"})),
	}
	m.storeErrors.WithLabelValues() // zero from the start, so that a first error is an increase
	return m
}

// observe counts one event. step and class are the values of its labels.
func (m *durableMetrics) observe(e *durable.Event, step, class string) {
	switch e.Kind {
	case durable.EventStarted:
		m.attempts.WithLabelValues(step).Inc()
		if e.Attempt > 1 {
			m.retries.WithLabelValues(step).Inc()
		}
	case durable.EventFailed:
		m.failures.WithLabelValues(step, class).Inc()
		m.waits.WithLabelValues(step).Add(e.Wait.Seconds())
	case durable.EventExhausted, durable.EventDeadLetter:
		if e.Err != nil { // of the last attempt, which was not lost
			m.failures.WithLabelValues(step, class).Inc()
		}
		m.exhausted.WithLabelValues(step, string(e.Reason)).Inc()
	case durable.EventLost:
		m.lost.WithLabelValues(step).Inc()
		m.waits.WithLabelValues(step).Add(e.Wait.Seconds())
	case durable.EventInDoubt:
		m.lost.WithLabelValues(step).Inc()
		m.inDoubt.WithLabelValues(step).Inc()
	case durable.EventSucceeded:
		m.success.WithLabelValues(step).Observe(e.Total.Seconds())
	case durable.EventStoreError:
		m.storeErrors.WithLabelValues().Inc()
	default:
		if e.Step == "" { // an event of the run
			m.runs.WithLabelValues(e.Kind.String()).Inc()
		}
	}
}
