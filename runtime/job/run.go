package job

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// A run is the state of a call of [Run].
type run[T any] struct {
	group *Group
	op    func(ctx context.Context, unit string) (T, error)
	begun time.Time

	mu       sync.Mutex
	waiting  []string // units that have not started
	progress Progress
	failures []Failure  // that are not passed on
	outcome  Outcome[T] // of the units so far; Errors is set when the run ends
	closed   bool       // further reports are late
	notes    []note[T]
	changed  chan struct{} // holds a token after a report
}

// A note is what the goroutine of Run has to pass on.
type note[T any] struct {
	event   Event
	outcome *Outcome[T] // of EventCompletion and EventRatio
}

// newRun returns the state before any unit has started.
func newRun[T any](g *Group, units []string, op func(context.Context, string) (T, error)) *run[T] {
	r := &run[T]{group: g, op: op, begun: time.Now(), changed: make(chan struct{}, 1)}
	known := map[string]bool{}
	for _, unit := range units {
		if !known[unit] {
			known[unit] = true
			r.waiting = append(r.waiting, unit)
		}
	}
	r.progress = NewProgress(len(r.waiting))
	r.outcome.Results = map[string]T{}
	return r
}

// ErrGoexit is the error of a unit that ended its goroutine with runtime.Goexit.
var ErrGoexit = errors.New("the unit called runtime.Goexit")

// start starts the next unit, if there is one. Its goroutine starts another one at
// its end.
func (r *run[T]) start(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.waiting) == 0 || ended(ctx) {
		return
	}
	unit := r.waiting[0]
	r.waiting = r.waiting[1:]
	go func() {
		var value T
		err := ErrGoexit
		defer func() {
			r.report(ctx, unit, value, err)
			r.start(ctx)
		}()
		value, err = r.op(ctx, unit)
	}()
}

// ended reports whether ctx has ended, or is about to: an operation that copied
// its deadline to a connection fails a moment earlier.
func ended(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// report records the result of a unit, and decides on it. It reports a late result
// to the observers.
func (r *run[T]) report(ctx context.Context, unit string, value T, err error) {
	late := Event{Kind: EventLateResult, Unit: unit, Reason: ReasonLogged, Err: err}
	if !r.record(unit, value, err, err != nil && ended(ctx), late) {
		r.group.Notify(ctx, late)
	}
	select {
	case r.changed <- struct{}{}:
	default: // one token is enough
	}
}

// record records the result of a unit, unless the run is closed or the unit was
// canceled.
func (r *run[T]) record(unit string, value T, err error, canceled bool, late Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || canceled {
		return false
	}
	if r.progress.Released > 0 {
		late.Reason = ReasonUpdated
		r.notes = append(r.notes, note[T]{event: late})
	}
	status := UnitFailed
	if err == nil {
		status = UnitSucceeded
		r.outcome.Results[unit] = value
	} else {
		r.fail(Failure{unit, err})
	}
	var d Decision
	r.progress, d = r.progress.Report(&r.group.policy, UnitPending, status, time.Since(r.begun))
	r.decided(d)
	return true
}

// fail collects the error of a unit.
func (r *run[T]) fail(f Failure) {
	p := &r.group.policy
	if p.OnUnitFailure == FailureDeadLetter {
		r.outcome.DeadLetters = append(r.outcome.DeadLetters, f)
	}
	if p.Collect >= CollectAll || len(r.failures) == 0 {
		r.failures = append(r.failures, f)
	}
	if p.Collect > CollectAll && len(r.failures) == int(p.Collect) {
		r.notes = append(r.notes, note[T]{event: Event{Kind: EventFailures, Failures: r.failures}})
		r.failures = nil
	}
}

// decided passes on a decision that completes the group, and closes the run if it
// is final.
func (r *run[T]) decided(d Decision) {
	r.outcome.Decision = d
	if !d.Complete {
		return
	}
	kind := EventCompletion
	if !d.Provisional && r.progress.Released > 0 {
		kind = EventRatio
	}
	r.closed = d.Final()
	r.notes = append(r.notes, note[T]{Event{Kind: kind, Reason: d.Reason, Decision: d}, r.snapshot()})
}

// snapshot returns the outcome so far, which further reports do not change.
func (r *run[T]) snapshot() *Outcome[T] {
	o := r.outcome
	o.Errors = make(map[string]error, len(r.failures))
	for _, f := range r.failures {
		o.Errors[f.Unit] = f.Err
	}
	if !r.closed {
		o.Results, o.DeadLetters = maps.Clone(o.Results), slices.Clone(o.DeadLetters)
	}
	return &o
}

// check decides on the time that has passed. If ctx has ended, it closes the run
// and returns the cause, unless the group has ended by its rules.
func (r *run[T]) check(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	var d Decision
	r.progress, d = r.progress.Decide(&r.group.policy, time.Since(r.begun))
	r.decided(d)
	if r.closed || ctx.Err() == nil {
		return nil
	}
	r.closed = true
	r.outcome = *r.snapshot()
	return context.Cause(ctx)
}

// take returns what is to be passed on, in its order.
func (r *run[T]) take() []note[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	notes := r.notes
	r.notes = nil
	return notes
}

// wait returns after a report of a unit, when the deadline is to be checked, or
// when ctx has ended.
func (r *run[T]) wait(ctx context.Context) {
	var check <-chan time.Time
	if p := r.group.policy.BestEffort; p != nil {
		e := p.Effective()
		timer := time.NewTimer(min(e.CheckEvery, e.Deadline-time.Since(r.begun)))
		defer timer.Stop()
		check = timer.C
	}
	select {
	case <-r.changed:
	case <-check:
	case <-ctx.Done():
	}
}
