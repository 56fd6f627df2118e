package promretry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/retrygen/retrygen/internal/measure"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
	"github.com/retrygen/retrygen/runtime/override"
)

// ObserveCapacity adds metrics for concurrency limits, rates and throttles. Pass it the
// result of a generated Shared's Capacity method. The values are read when metrics are
// collected, so they cost nothing in a call. If several limits have the same name, the
// metrics contain the sum of their values or, for throttles, the largest share.
func (m *Metrics) ObserveCapacity(sets ...capacity.Set) { m.polled.Add(sets...) }

// ObserveHedges adds metrics for hedges, which are read like the metrics of
// [Metrics.ObserveCapacity]. Pass it the result of a generated Shared's Hedges method.
func (m *Metrics) ObserveHedges(hedges ...*hedge.Hedge) { m.polled.AddHedges(hedges) }

// ObserveChanges adds counters for the versions of policy files that were accepted and
// refused while the program was running. A live.Control counts them.
func (m *Metrics) ObserveChanges(controls ...interface {
	Counts() (pkg string, accepted, refused int)
}) {
	for _, c := range controls {
		m.polled.AddChanges(c)
	}
}

// ObserveOverrides adds a gauge for the active overrides.
func (m *Metrics) ObserveOverrides(sets ...*override.Set) { m.polled.AddOverrides(sets) }

// polledDescs are the descriptions of the metrics that are read when they are collected.
func polledDescs() (descs [len(measure.PolledInstruments)]*prometheus.Desc) {
	for i, d := range measure.PolledInstruments {
		var labels []string
		for _, l := range d.Labels {
			labels = append(labels, l.Prometheus)
		}
		descs[i] = prometheus.NewDesc(d.Prometheus, d.Help, labels, nil)
	}
	return descs
}

// collectPolled sends the present values of what limits calls.
func (m *Metrics) collectPolled(ch chan<- prometheus.Metric) {
	m.polled.Each(func(id measure.PolledID, value float64, labels []string) {
		kind := prometheus.GaugeValue
		if measure.PolledInstruments[id].Kind == measure.Count {
			kind = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(m.polledDescs[id], kind, value, labels...)
	})
}
