package promretry

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	engine  *durable.Engine
	options StateOptions

	mu   sync.Mutex // held during a read: a scrape does not start a second one
	at   time.Time  // of the last read
	last reading
}

var _ prometheus.Collector = (*State)(nil)

// NewState returns a collector for the store of an engine, which need not execute
// runs.
func NewState(e *durable.Engine, o StateOptions) *State {
	if o.Limit <= 0 {
		o.Limit = 10_000
	}
	if o.Every <= 0 {
		o.Every = 30 * time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	return &State{engine: e, options: o}
}

// A reading is what was read.
type reading struct {
	runs, steps map[durable.Status]int
	paused, due int
	oldest      time.Duration
	truncated   map[string]bool // by the group of gauges
	took        time.Duration
	err         error
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("retry_durable_"+name, help, labels, nil)
}

var (
	stepsDesc     = desc("steps", "Steps that are unfinished, in doubt, paused, or dead letters, by status.", "status")
	pausedDesc    = desc("paused_runs", "Runs that wait for a person.")
	dueDesc       = desc("due_runs", "Runs that are due and that nobody executes.")
	oldestDesc    = desc("oldest_due_seconds", "How long the oldest run that nobody executes has been due.")
	runsDesc      = desc("runs", "Runs, by status.", "status")
	truncatedDesc = desc("state_truncated", "Whether the limit of records was reached.", "of")
	upDesc        = desc("state_up", "Whether the last read of the store has succeeded.")
	tookDesc      = desc("state_read_seconds", "How long the last read of the store took.")
)

// Describe sends the descriptions of all gauges.
func (s *State) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		stepsDesc, pausedDesc, dueDesc, oldestDesc, runsDesc, truncatedDesc, upDesc, tookDesc,
	} {
		ch <- d
	}
}

// Collect reads the store, unless that was done a short time ago, and sends the
// values of all gauges. After an error of the store, it sends the last two only.
func (s *State) Collect(ch chan<- prometheus.Metric) {
	r := s.current()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(tookDesc, r.took.Seconds())
	if r.err != nil {
		gauge(upDesc, 0)
		return
	}
	gauge(upDesc, 1)
	gauge(pausedDesc, float64(r.paused))
	gauge(dueDesc, float64(r.due))
	gauge(oldestDesc, r.oldest.Seconds())
	for status, n := range r.steps {
		gauge(stepsDesc, float64(n), status.String())
	}
	for status, n := range r.runs {
		gauge(runsDesc, float64(n), status.String())
	}
	for of, truncated := range r.truncated {
		value := 0.0
		if truncated {
			value = 1
		}
		gauge(truncatedDesc, value, of)
	}
}

// current returns the last reading, or a new one if that is too old.
func (s *State) current() reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := time.Now()
	if !s.at.IsZero() && begun.Sub(s.at) < s.options.Every {
		return s.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
	defer cancel()
	r := reading{
		// Zero is a value: a dead letter that is the first one is an increase.
		steps: map[durable.Status]int{
			durable.StatusWaiting: 0, durable.StatusExecuting: 0, durable.StatusInDoubt: 0, durable.StatusPaused: 0,
			durable.StatusDead: 0,
		},
		truncated: map[string]bool{},
	}
	r.err = s.fill(ctx, &r, begun)
	s.at = time.Now()
	r.took = s.at.Sub(begun)
	s.last = r
	return r
}

// fill reads the records. now is by the clock of this process.
func (s *State) fill(ctx context.Context, r *reading, now time.Time) (err error) {
	steps := s.engine.Steps(ctx, durable.Filter{Attention: true})
	r.truncated["steps"], err = first(s.options.Limit, steps, func(step durable.StepInfo) { r.steps[step.Status]++ })
	if err != nil {
		return err
	}
	paused := s.engine.List(ctx, durable.Query{Attention: true, Status: []durable.Status{durable.StatusPaused}})
	r.truncated["paused_runs"], err = first(s.options.Limit, paused, func(durable.RunInfo) { r.paused++ })
	if err != nil {
		return err
	}
	due := s.engine.List(ctx, durable.Query{
		DueBy: now, Status: []durable.Status{durable.StatusOpen, durable.StatusParked},
	})
	r.truncated["due_runs"], err = first(s.options.Limit, due, func(run durable.RunInfo) {
		if run.Owner == "" {
			r.due++
			r.oldest = max(r.oldest, now.Sub(run.Due))
		}
	})
	if err != nil || !s.options.Runs {
		return err
	}
	r.runs = map[durable.Status]int{}
	all := s.engine.List(ctx, durable.Query{})
	r.truncated["runs"], err = first(s.options.Limit, all, func(run durable.RunInfo) { r.runs[run.Status]++ })
	if r.truncated["runs"] {
		r.runs = nil
	}
	return err
}

// first calls f for the first elements of a sequence, and reports whether there
// are more than limit.
func first[T any](limit int, seq iter.Seq2[T, error], f func(T)) (truncated bool, err error) {
	n := 0
	for v, err := range seq {
		if err != nil || n == limit {
			return err == nil, err
		}
		f(v)
		n++
	}
	return false, nil
}
