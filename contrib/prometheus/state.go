package promretry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retrygen/retrygen/internal/measure"
	"github.com/retrygen/retrygen/runtime/durable"
)

// StateOptions limits what reading the state of a store costs. The zero value of
// each field means its default.
type StateOptions struct {
	// Limit is the number of records that are read for each of the groups of
	// gauges in [State]. The default is 10,000, which are 10 pages.
	Limit int
	// Every is the shortest time between two reads. A scrape within that time gets
	// the values of the last one. The default is 30 seconds.
	Every time.Duration
	// Timeout limits the time of one read. The default is 5 seconds.
	Timeout time.Duration
	// Runs adds the number of runs by status. No index of a store has the status,
	// which changes too often: all runs are read, those that have ended and are
	// kept among them. If there are more than Limit, their number is not reported.
	// The default is false.
	Runs bool
}

// State is a prometheus.Collector for what the store of an engine has recorded,
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
// A read selects its records by the indexes of the store: its cost depends on
// unfinished work, not on what has ended. It reads at most Limit records for the
// steps, for the paused runs, and for those that are due, in pages of 1000: with
// the defaults, at most 30 pages in 30 seconds. A number that reaches Limit is a
// lower bound.
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
	s := &State{state: measure.NewState(e, measure.StateOptions(o))}
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

// Collect reads the store, unless that was done a short time ago, and sends the
// values of all gauges. After an error of the store, it sends the last two only.
func (s *State) Collect(ch chan<- prometheus.Metric) {
	s.state.Each(func(id measure.StateID, value float64, label string) {
		var labels []string
		if len(measure.StateGauges[id].Labels) > 0 {
			labels = []string{label}
		}
		ch <- prometheus.MustNewConstMetric(s.descs[id], prometheus.GaugeValue, value, labels...)
	})
}
