package job

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A Group is one job whose work fans out over units. Call [Group.Observe] and
// [Group.SetBudget] before all other methods. Any number of goroutines may use it
// after that.
type Group struct {
	policy    GroupPolicy
	jobID     string
	budget    *Budget // or nil
	observers []func(context.Context, Event)
}

// NewGroup returns the group of one job. jobID names the job in events.
func NewGroup(p GroupPolicy, jobID string) *Group {
	g := &Group{policy: p, jobID: jobID}
	if p.Budget != nil {
		g.budget = NewBudget(*p.Budget)
	}
	return g
}

// Policy returns the policy that was passed to [NewGroup].
func (g *Group) Policy() GroupPolicy { return g.policy }

// Budget returns the budget of the job, or nil if nothing limits its retries.
func (g *Group) Budget() *Budget { return g.budget }

// SetBudget replaces the budget that NewGroup has created from the policy. Use it
// for limits from the environment or the job, or for a budget that several groups
// share. Nil removes the limit.
func (g *Group) SetBudget(b *Budget) { g.budget = b }

// Observe adds a function that is called with each event of the group, and with
// the context of [Run]. A retry is taken from the budget without a context: that of
// its event is [context.Background]. Several goroutines may call the function at
// once.
func (g *Group) Observe(f func(context.Context, Event)) { g.observers = append(g.observers, f) }

// Unit returns the retry budget of one unit, for [retry.Shared]. It is nil if
// nothing limits the retries of the group.
func (g *Group) Unit(id string) retry.RetryBudget {
	if g.budget == nil {
		return nil
	}
	return &unit{budget: g.budget, id: id, group: g}
}

// notifyWithdrawal reports to the observers that a unit has asked for a retry.
func (g *Group) notifyWithdrawal(id string, err error) {
	e := Event{Kind: EventBudgetConsumed, Unit: id, Reason: ReasonAllowed}
	if refusal, ok := errors.AsType[*BudgetError](err); ok {
		e.Kind, e.Reason, e.Err = EventBudgetExhausted, refusal.Reason, refusal
	}
	g.notify(context.Background(), e)
}

// notify calls the observers with an event of the group.
func (g *Group) notify(ctx context.Context, e Event) {
	e.Group, e.JobID = g.policy.Name, g.jobID
	for _, f := range g.observers {
		f(ctx, e)
	}
}

// An Outcome is the result of a group.
type Outcome[T any] struct {
	Decision
	Results map[string]T     // of the units that have succeeded
	Errors  map[string]error // of the units that have failed
}

// Run calls op for each unit in a goroutine of its own. It returns when the group
// ends by the rules of its policy. It then cancels the units that are still
// running; their results are reported as events and dropped. Run does not wait
// for them. A unit that is in the list twice runs once.
//
// With [LateUpdate], Run calls provisional once, as soon as the results are
// enough, and later returns the final outcome. provisional may be nil.
//
// The error is nil, or the cause with which ctx ended, or [retry.ErrTimeout] if
// the timeout of the group has passed. With an error, the outcome contains the
// results so far. The error of a unit is in Errors of the outcome. If op calls
// runtime.Goexit, the unit has failed.
func Run[T any](
	ctx context.Context, g *Group, units []string,
	op func(ctx context.Context, unit string) (T, error), provisional func(Outcome[T]),
) (Outcome[T], error) {
	if g.policy.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, g.policy.Timeout, retry.ErrTimeout)
		defer cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := newRun[T](g, units)
	for unit := range maps.Clone(r.status) { // units change the map when they report
		go func() {
			var value T
			err := errGoexit
			defer func() { r.report(ctx, unit, value, err) }()
			value, err = op(ctx, unit)
		}()
	}
	for {
		outcome, ended, err := r.evaluate(ctx)
		if outcome.Complete {
			r.notifyCompletion(ctx, outcome.Decision)
		}
		if ended {
			return outcome, err
		}
		if outcome.Complete && provisional != nil {
			provisional(outcome)
		}
		r.wait(ctx)
	}
}

// errGoexit is the error of a unit that ended its goroutine.
var errGoexit = errors.New("the unit called runtime.Goexit")

// A run is the state of a call of Run.
type run[T any] struct {
	group     *Group
	effort    *BestEffort // effective, or nil
	begun     time.Time
	completed bool // EventCompletion has been reported

	mu       sync.Mutex
	progress progress
	status   map[string]status // of all units
	results  map[string]T
	errors   map[string]error
	closed   bool
	changed  chan struct{} // holds a token after a report
}

// newRun returns the state before any unit has reported.
func newRun[T any](g *Group, units []string) *run[T] {
	r := &run[T]{
		group: g, begun: time.Now(), changed: make(chan struct{}, 1),
		status: map[string]status{}, results: map[string]T{}, errors: map[string]error{},
	}
	if e := g.policy.BestEffort; e != nil {
		effective := e.Effective()
		r.effort = &effective
	}
	for _, unit := range units {
		r.status[unit] = pending
	}
	r.progress = newProgress(len(r.status))
	return r
}

// evaluate decides on the results so far, under the lock. After the decision that
// ends the run, further reports are late.
func (r *run[T]) evaluate(ctx context.Context) (outcome Outcome[T], ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress, outcome.Decision = r.progress.decide(r.effort, time.Since(r.begun))
	ended = outcome.final()
	if ctx.Err() != nil && !outcome.outlivesContext() {
		ended, err = true, context.Cause(ctx)
	}
	r.closed = ended
	if ended || outcome.Complete {
		outcome.Results, outcome.Errors = maps.Clone(r.results), maps.Clone(r.errors)
	}
	return outcome, ended, err
}

// notifyCompletion reports a decision that completes the group to the observers.
func (r *run[T]) notifyCompletion(ctx context.Context, d Decision) {
	kind := EventCompletion
	if r.completed {
		kind = EventRatio
	}
	r.completed = true
	r.group.notify(ctx, Event{Kind: kind, Reason: d.Reason, Decision: d})
}

// wait returns after a report of a unit, when the deadline is to be checked, or
// when ctx has ended.
func (r *run[T]) wait(ctx context.Context) {
	var check <-chan time.Time
	if e := r.effort; e != nil {
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

// report records the result of a unit. It reports a late result to the observers.
func (r *run[T]) report(ctx context.Context, unit string, value T, err error) {
	r.mu.Lock()
	reason, late := ReasonUpdated, r.progress.released
	switch {
	case r.closed:
		reason, late = ReasonLogged, true
	case err == nil:
		r.set(unit, succeeded)
		r.results[unit] = value
	default:
		r.set(unit, failed)
		r.errors[unit] = err
	}
	r.mu.Unlock()
	if late {
		r.group.notify(ctx, Event{Kind: EventLateResult, Unit: unit, Reason: reason, Err: err})
	}
	select {
	case r.changed <- struct{}{}:
	default: // one token is enough
	}
}

// set changes the status of a unit.
func (r *run[T]) set(unit string, s status) {
	r.progress = r.progress.report(r.status[unit], s)
	r.status[unit] = s
}
