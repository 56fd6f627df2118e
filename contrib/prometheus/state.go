package promretry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/retrygen/retrygen/internal/measure"
	"github.com/retrygen/retrygen/runtime/durable"
)

// StateOptions limits the cost of reading the state of a store. By default, at most
// 10,000 records are read for each group of gauges (Limit), once every 30 seconds
// (Every), with a timeout of 5 seconds (Timeout). Counting runs by status (Runs) is off
// by default, because it has to read all runs.
type StateOptions = measure.StateOptions

// State is a prometheus.Collector for the state in an engine's store, across all
// processes. On each scrape, it reads the store and reports these metrics:
//
//	retry_durable_steps{status}        steps that are unfinished, in doubt, paused, or dead letters
//	retry_durable_paused_runs          runs that wait for a person
//	retry_durable_due_runs             runs that are due and that nobody executes
//	retry_durable_oldest_due_seconds   how long the oldest of these has been due
//	retry_durable_runs{status}         all runs, with StateOptions.Runs
//	retry_durable_state_truncated{of}  1 if Limit was reached, else 0; of is steps, paused_runs, due_runs or runs
//	retry_durable_state_up             1 if the last read has succeeded, else 0
//	retry_durable_state_read_seconds   how long the last read took
//
// A read uses the store's indexes, so its cost depends on the amount of unfinished work,
// not on work that has ended. It reads at most Limit records each for the steps, the
// paused runs and the due runs, in pages of 1000. With the defaults, this is at most 30
// pages every 30 seconds. A number that reaches Limit is a lower bound.
//
// For each store and namespace, register a State in only one process. With several
// namespaces, wrap the registerer: see [prometheus.WrapRegistererWith].
type State struct {
	state *measure.State
	descs [len(measure.StateGauges)]*prometheus.Desc
}

var _ prometheus.Collector = (*State)(nil)

// NewState returns a collector for an engine's store. The engine need not execute runs.
func NewState(e *durable.Engine, o StateOptions) *State {
	s := &State{state: measure.NewState(e, o)}
	for i, g := range measure.StateGauges {
		var labels []string
		for _, l := range g.Labels {
			labels = append(labels, l.Prometheus)
		}
		s.descs[i] = prometheus.NewDesc(g.Prometheus, g.Help, labels, nil)
	}
	return s
}

// Describe sends the descriptions of all gauges.
func (s *State) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

// Collect sends the values of all gauges. It reads the store, unless the last read is
// more recent than StateOptions.Every. After a store error, it sends only
// retry_durable_state_up and retry_durable_state_read_seconds.
func (s *State) Collect(ch chan<- prometheus.Metric) {
	s.state.Each(func(id measure.StateID, value float64, label string) {
		var labels []string
		if len(measure.StateGauges[id].Labels) > 0 {
			labels = []string{label}
		}
		ch <- prometheus.MustNewConstMetric(s.descs[id], prometheus.GaugeValue, value, labels...)
	})
}
