package promretry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/retrygen/retrygen/internal/measure"
	"github.com/retrygen/retrygen/runtime/durable"
)

// StateOptions limits the cost of reading the state of a store. By default, at most
// 10,000 records are read for each group of gauges (Limit), once every 30 seconds
// (Every), with a timeout of 5 seconds (Timeout). The number of runs by status (Runs) is
// off by default, because all runs have to be read for it.
type StateOptions = measure.StateOptions

// State is a prometheus.Collector for the state that the store of an engine has recorded,
// across all processes. It reads the store when it is scraped:
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
// A read uses the indexes of the store, so its cost depends on the amount of unfinished
// work, and not on the work that has ended. It reads at most Limit records for the steps,
// for the paused runs, and for those that are due, in pages of 1000: with the defaults,
// at most 30 pages in 30 seconds. A number that reaches Limit is a lower bound.
//
// Register one State for each store and namespace, in one process. With several
// namespaces, wrap the registerer: see [prometheus.WrapRegistererWith].
type State struct {
	state *measure.State
	descs [len(measure.StateGauges)]*prometheus.Desc
}

var _ prometheus.Collector = (*State)(nil)

// NewState returns a collector for the store of an engine, which need not execute
// runs.
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

// Collect sends the values of all gauges. It reads the store, unless this was done a
// short time ago. After an error of the store, it sends only the last two gauges.
func (s *State) Collect(ch chan<- prometheus.Metric) {
	s.state.Each(func(id measure.StateID, value float64, label string) {
		var labels []string
		if len(measure.StateGauges[id].Labels) > 0 {
			labels = []string{label}
		}
		ch <- prometheus.MustNewConstMetric(s.descs[id], prometheus.GaugeValue, value, labels...)
	})
}
