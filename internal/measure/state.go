package measure

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// The labels of the gauges of a store.
var (
	status = Label{"status", "retry.status"}
	of     = Label{"of", "retry.of"}
)

// A StateID is the index of a gauge in [StateGauges].
type StateID uint8

// The gauges of a store.
const (
	StateSteps StateID = iota
	StatePaused
	StateDue
	StateOldest
	StateRuns
	StateTruncated
	StateUp
	StateTook
)

// StateGauges are the gauges of what a store has recorded, by their ids.
var StateGauges = [...]Instrument{
	StateSteps: {Gauge, "retry_durable_steps", "retry.durable.steps", "{step}",
		"Steps that are unfinished, in doubt, paused, or dead letters, by status.", []Label{status}, false, nil},
	StatePaused: {Gauge, "retry_durable_paused_runs", "retry.durable.paused_runs", "{run}",
		"Runs that wait for a person.", nil, false, nil},
	StateDue: {Gauge, "retry_durable_due_runs", "retry.durable.due_runs", "{run}",
		"Runs that are due and that nobody executes.", nil, false, nil},
	StateOldest: {Gauge, "retry_durable_oldest_due_seconds", "retry.durable.oldest_due", "s",
		"How long the oldest run that nobody executes has been due.", nil, false, nil},
	StateRuns: {Gauge, "retry_durable_runs", "retry.durable.runs", "{run}",
		"Runs, by status.", []Label{status}, false, nil},
	StateTruncated: {Gauge, "retry_durable_state_truncated", "retry.durable.state.truncated", "",
		"Whether the limit of records was reached.", []Label{of}, false, nil},
	StateUp: {Gauge, "retry_durable_state_up", "retry.durable.state.up", "",
		"Whether the last read of the store has succeeded.", nil, false, nil},
	StateTook: {Gauge, "retry_durable_state_read_seconds", "retry.durable.state.read", "s",
		"How long the last read of the store took.", nil, false, nil},
}

// StateOptions limits what reading the state of a store costs. The zero value of
// each field means its default.
type StateOptions struct {
	// Limit is the number of records that are read for each group of gauges: the
	// steps, the paused runs, and the runs that are due. The default is 10,000, which
	// are 10 pages.
	Limit int
	// Every is the shortest time between two reads. A collection within that time
	// gets the values of the last one. The default is 30 seconds.
	Every time.Duration
	// Timeout limits the time of one read. The default is 5 seconds.
	Timeout time.Duration
	// Runs adds the number of runs by status. No index of a store has the status,
	// which changes too often: all runs are read, including those that have ended and
	// are kept. If there are more than Limit, their number is not reported. The
	// default is false.
	Runs bool
}

// A State reads what the store of an engine has recorded. Its method may be called
// concurrently.
type State struct {
	engine  *durable.Engine
	options StateOptions

	mu   sync.Mutex // held during a read: nobody starts a second one
	at   time.Time  // of the last read
	last reading
}

// NewState returns a State.
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
	runs, steps map[storage.Status]int
	paused, due int
	oldest      time.Duration
	truncated   map[string]bool // by the group of gauges
	took        time.Duration
	err         error
}

// Each reads the store, unless that was done a short time ago, and calls f with the
// value of each gauge and of its label, if it has one. After an error of the store,
// these are StateTook and StateUp only.
func (s *State) Each(f func(id StateID, value float64, label string)) {
	r := s.current()
	f(StateTook, r.took.Seconds(), "")
	if r.err != nil {
		f(StateUp, 0, "")
		return
	}
	f(StateUp, 1, "")
	f(StatePaused, float64(r.paused), "")
	f(StateDue, float64(r.due), "")
	f(StateOldest, r.oldest.Seconds(), "")
	for status, n := range r.steps {
		f(StateSteps, float64(n), status.String())
	}
	for status, n := range r.runs {
		f(StateRuns, float64(n), status.String())
	}
	for of, truncated := range r.truncated {
		value := 0.0
		if truncated {
			value = 1
		}
		f(StateTruncated, value, of)
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
		steps: map[storage.Status]int{
			storage.StatusWaiting: 0, storage.StatusExecuting: 0, storage.StatusInDoubt: 0, storage.StatusPaused: 0,
			storage.StatusDead: 0,
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
	steps := s.engine.Admin().Steps(ctx, admin.Filter{Attention: true})
	r.truncated["steps"], err = first(s.options.Limit, steps, func(step admin.StepInfo) { r.steps[step.Status]++ })
	if err != nil {
		return err
	}
	paused := s.engine.Admin().List(ctx, storage.Query{Attention: true, Status: []storage.Status{storage.StatusPaused}})
	r.truncated["paused_runs"], err = first(s.options.Limit, paused, func(admin.RunInfo) { r.paused++ })
	if err != nil {
		return err
	}
	due := s.engine.Admin().List(ctx, storage.Query{
		DueBy: now, Status: []storage.Status{storage.StatusOpen, storage.StatusParked},
	})
	r.truncated["due_runs"], err = first(s.options.Limit, due, func(run admin.RunInfo) {
		if run.Owner == "" {
			r.due++
			r.oldest = max(r.oldest, now.Sub(run.Due))
		}
	})
	if err != nil || !s.options.Runs {
		return err
	}
	r.runs = map[storage.Status]int{}
	all := s.engine.Admin().List(ctx, storage.Query{})
	r.truncated["runs"], err = first(s.options.Limit, all, func(run admin.RunInfo) { r.runs[run.Status]++ })
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
