package durable

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/namespace"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// A RunOption changes a default of a run. Options are recorded when the run is created.
// The options of later calls are ignored.
type RunOption func(*runOptions)

type runOptions struct {
	version         int
	timeout         time.Duration
	unlimited       bool          // the run has no timeout although the handler has one
	retention       time.Duration // 0: the default
	failedRetention time.Duration // 0: the default
	budget          *job.BudgetPolicy
	at              time.Time
	correlation     string // the id of the caller's span
	priority        *int   // nil: the priority of the parent, or 0
	hold            bool   // ends of attempts may wait for other transactions
}

func newRunOptions(options []RunOption) (o runOptions) {
	for _, option := range options {
		option(&o)
	}
	return o
}

// adopt adds the options of its handler to a run that is claimed for the first time, unless the
// run already has such options.
func (o *runOptions) adopt(r *storage.Record, b *record.Run) {
	if b.Deadline.IsZero() && !b.Unlimited {
		start := r.Created
		if b.Start.After(start) {
			start = b.Start
		}
		b.Limit(o.timeout, start)
	}
	b.Retention = cmp.Or(b.Retention, o.retention)
	b.FailedRetention = cmp.Or(b.FailedRetention, o.failedRetention)
	b.LacksBudget = o.budget != nil && !b.Budget
}

// Timeout limits the time from the creation of a run, or from its start with [StartAt],
// to its end, including downtime. The contexts of its steps end at that time. A run that
// is parked at that time becomes due, and it ends as soon as a worker or Run picks it up.
// The time during which a run is paused counts as well. However, a paused run does not
// end until its next execution, so that its steps can still be resolved. The error is
// [ErrTimedOut].
func Timeout(d time.Duration) RunOption {
	return func(o *runOptions) { o.timeout, o.unlimited = d, d <= 0 }
}

// Version records the version of a run's function. [Current] returns it, so a function
// whose steps have changed can continue an older run with the steps that it started with.
func Version(n int) RunOption { return func(o *runOptions) { o.version = n } }

// Retention sets how long the input, the results and the history of a run are kept after
// it has succeeded. The default is 30 days. The id is kept so that the run is not
// executed again. A run with dead letters, or with steps in doubt, is kept until someone
// has dealt with them.
func Retention(d time.Duration) RunOption {
	return func(o *runOptions) { o.retention = max(d, 1) }
}

// FailedRetention is [Retention] for runs that have failed, were canceled or have timed
// out. The default is 90 days. During that time, a failed run can be continued. After
// that, [Run] returns [ErrExpired], because it cannot know which steps have taken effect.
func FailedRetention(d time.Duration) RunOption {
	return func(o *runOptions) { o.failedRetention = max(d, 1) }
}

// Priority sets the priority of a run. Workers claim a handler's due runs in descending
// order of priority. Among runs with equal priority, those that have been due longest
// come first. The default is 0. A run that is started within another run, including a
// unit of [GroupRuns], has the priority of that run by default. Start and Run return an
// error if n is not between -32768 and 32767.
//
// Runs with a high priority can keep the others waiting forever. If Priority is an option
// of [Handle], a process that has not registered the handler does not know the priority.
// In such a process, pass Priority to [Start].
func Priority(n int) RunOption { return func(o *runOptions) { o.priority = &n } }

// check returns an error for options with which no run can be created.
func (o *runOptions) check() error {
	if o.priority != nil && int(int16(*o.priority)) != *o.priority {
		return fmt.Errorf("priority %d is not between %d and %d", *o.priority, math.MinInt16, math.MaxInt16)
	}
	return nil
}

// checkStart does the same as check, for runs that are not executed by the caller.
func (o *runOptions) checkStart() error {
	if o.hold {
		return fmt.Errorf("Hold is an option of Run and Handle: %w", ErrConflict)
	}
	return o.check()
}

// rank returns the priority of a new run. inherited is the priority of the run that starts it,
// or 0.
func (o *runOptions) rank(inherited int16) int16 {
	if o.priority != nil {
		return int16(*o.priority)
	}
	return inherited
}

// Budget limits the total number of retries of all steps of a run, and the retries of
// each step. The limits are recorded when the run is created and do not change
// afterwards.
func Budget(p job.BudgetPolicy) RunOption { return func(o *runOptions) { o.budget = &p } }

// Run executes a run. It calls fn with a context, and durable calls that use this context
// are steps of the run. The id identifies the run permanently. What Run does depends on
// the state of the run in the store:
//
//   - If the run is new, open, parked or failed, Run calls fn. Steps that have finished
//     return their recorded results.
//   - If the run has succeeded, Run returns nil and does not call fn. If its results have
//     since been deleted, Run returns [ErrExpired].
//   - If the run is paused, Run returns a [*PausedError]. If it was canceled or has timed
//     out, Run returns [ErrCanceled] or [ErrTimedOut].
//   - If another engine owns the run, Run waits until the end of that engine's lease, or
//     until the store knows that the engine's process is dead. If the lease is renewed,
//     Run returns an [*OwnedError].
//
// An error from fn is returned, and is recorded for admin.Client.List. The next call to
// Run calls fn again. If ctx ends, the execution ends and the run stays open. Run returns
// when all steps of the run have returned and their ends are recorded. If Run is called
// within another run, that run is recorded as the parent.
//
// If ctx has ended and the store does not respond, Run tries for 30s to record the end of
// an attempt, and for another 30s to record the end of the run. Then it returns the
// store's error. Nothing is acknowledged, and an attempt whose end was not recorded is in
// doubt.
func (e *Engine) Run(ctx context.Context, id string, fn func(context.Context) error, options ...RunOption) error {
	_, err := e.run(
		ctx, id, func(ctx context.Context) (record.Payload, error) { return record.Payload{}, fn(ctx) }, options,
	)
	return err
}

// Run is [Engine.Run] for a function with a result. The result is recorded. For a run
// that has already succeeded, Run returns the recorded result without calling fn.
func Run[T any](
	ctx context.Context, e *Engine, id string, fn func(context.Context) (T, error), options ...RunOption,
) (T, error) {
	var value T
	result, err := e.run(ctx, id, func(ctx context.Context) (record.Payload, error) {
		value, err := fn(ctx)
		if err != nil {
			return record.Payload{}, err
		}
		return record.NewPayload(e.ns.Codec, value), nil
	}, options)
	if err == nil {
		err = resultError(id, "", result.Decode(e.ns.Codec, &value))
	}
	return value, err
}

func (e *Engine) run(
	ctx context.Context, id string, fn func(context.Context) (record.Payload, error), options []RunOption,
) (record.Payload, error) {
	if err := e.checkRun(ctx, id); err != nil {
		return record.Payload{}, err
	}
	o := newRunOptions(options)
	o.correlation = e.spanID(ctx)
	if err := o.check(); err != nil {
		return record.Payload{}, fmt.Errorf("run %q: %w", id, err)
	}
	if !o.at.IsZero() {
		return record.Payload{}, fmt.Errorf("run %q: StartAt is an option of Start: %w", id, ErrConflict)
	}
	if err := flushOuter(ctx); err != nil {
		return record.Payload{}, err
	}
	owner, err := e.ensureOwner(ctx)
	if err != nil {
		return record.Payload{}, err
	}
	x, err := e.activate(ctx, id, owner)
	if err != nil {
		return record.Payload{}, err
	}
	defer e.deactivate(x)
	x.holds = o.hold
	recorded, err := x.claimWait(x.ctx, &o)
	if recorded != nil {
		return *recorded, err
	}
	var result record.Payload
	if err == nil {
		result, err = x.execute(ctx, fn)
	}
	switch err {
	case ErrFenced, ErrCanceled, ErrTimedOut, ErrExpired:
		err = fmt.Errorf("run %q: %w", id, err)
	}
	return result, err
}

// activate registers an execution before its claim. A run that the engine owns according to the
// store, and that is not registered, is released by the next renewal.
func (e *Engine) activate(ctx context.Context, id string, o *owner) (*execution, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	if e.active[id] != nil {
		return nil, &OwnedError{Run: id, Owner: o.id, Until: time.Now().Add(e.ns.Lease).UTC()}
	}
	x := newExecution(ctx, e, o, id)
	if outer := fromContext(ctx); outer != nil {
		x.parent = outer.x.id
	}
	e.active[id] = x
	e.running.Add(1)
	return x, nil
}

// execution returns the active execution of a run, or nil.
func (e *Engine) execution(run string) *execution {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.active[run]
}

// activeRuns returns the runs with an active execution.
func (e *Engine) activeRuns() map[string]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	runs := make(map[string]bool, len(e.active))
	for run := range e.active {
		runs[run] = true
	}
	return runs
}

func (e *Engine) deactivate(x *execution) {
	x.cancel(nil)
	e.mu.Lock()
	delete(e.active, x.id)
	e.mu.Unlock()
	e.running.Done()
}

// claimPoll is the interval at which a run that waits for another engine's lease checks whether
// the process of that engine is dead.
const claimPoll = time.Second

// claimWait claims the run. If the run has succeeded, it returns its result.
func (x *execution) claimWait(ctx context.Context, o *runOptions) (*record.Payload, error) {
	var first *OwnedError
	for {
		if err := x.ready(ctx); err != nil {
			return nil, err
		}
		c, err := x.claim(ctx, o)
		if err != nil {
			if unsent(ctx, err) {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		if c.again {
			continue
		}
		if c.owned == nil {
			return c.result, c.err
		}
		if first == nil || c.owned.Owner != first.Owner {
			first = c.owned
		}
		if c.owned.Until.After(first.Until) {
			return nil, c.owned // the lease was renewed, so the other engine is working
		}
		if !namespace.Pause(ctx, min(c.wait, claimPoll)) {
			return nil, context.Cause(ctx)
		}
	}
}

// halt ends the execution of a run that an operator has canceled or, under the given fence,
// paused.
func (e *Engine) halt(run string, fence uint64, h *record.Hold) {
	switch x := e.execution(run); {
	case x == nil:
	case h == nil:
		x.halt(ErrCanceled)
	default:
		x.hold(fence, h)
	}
}
