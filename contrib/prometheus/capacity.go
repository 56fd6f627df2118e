package promretry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/retrygen/retrygen/internal/measure"
	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/hedge"
)

// ObserveCapacity has the values of concurrency limits, rates and throttles, from now on.
// The method Capacity of a generated Shared returns a set to pass. They are read when
// the metrics are collected, so that calls pay nothing. Those of one name have the sum
// of their values in the metrics, and throttles the greatest share.
func (m *Metrics) ObserveCapacity(sets ...capacity.Set) { m.capacity.Add(sets...) }

// ObserveHedges has the values of hedges, from now on, as [Metrics.ObserveCapacity] has
// those of limits. The method Hedges of a generated Shared returns hedges to pass.
func (m *Metrics) ObserveHedges(hedges ...*hedge.Hedge) { m.capacity.AddHedges(hedges) }

// capacityDescs are the descriptions of the metrics of what limits calls.
func capacityDescs() (descs [len(measure.CapacityInstruments)]*prometheus.Desc) {
	for i, d := range measure.CapacityInstruments {
		var labels []string
		for _, l := range d.Labels {
			labels = append(labels, l.Prometheus)
		}
		descs[i] = prometheus.NewDesc(d.Prometheus, d.Help, labels, nil)
	}
	return descs
}

// collectCapacity sends the present values of what limits calls.
func (m *Metrics) collectCapacity(ch chan<- prometheus.Metric) {
	m.capacity.Each(func(id measure.CapacityID, value float64, labels []string) {
		kind := prometheus.GaugeValue
		if measure.CapacityInstruments[id].Kind == measure.Count {
			kind = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(m.capacityDescs[id], kind, value, labels...)
	})
}
