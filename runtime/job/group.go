package job

import (
	"context"
	"errors"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// A Group is one job whose work fans out over units. Call [Group.Observe] and
// [Group.SetBudget] before all other methods. After that, any number of goroutines may
// use the Group.
type Group struct {
	policy    GroupPolicy
	jobID     string
	budget    *Budget // or nil
	observers []func(context.Context, Event)
}

// NewGroup returns a group for one job. jobID names the job in events. NewGroup panics if
// [breaker.New] does not accept the Breaker of p.
func NewGroup(p GroupPolicy, jobID string) *Group {
	g := &Group{policy: p, jobID: jobID}
	if p.Breaker != nil {
		breaker.New(*p.Breaker)
	}
	if p.Budget != nil {
		g.budget = NewBudget(*p.Budget)
	}
	return g
}

// Policy returns the policy that was passed to [NewGroup].
func (g *Group) Policy() GroupPolicy { return g.policy }

// JobID returns the name of the job in events.
func (g *Group) JobID() string { return g.jobID }

// Budget returns the budget of the job, or nil if nothing limits its retries.
func (g *Group) Budget() *Budget { return g.budget }

// SetBudget replaces the budget that NewGroup has created from the policy. Use it for
// limits that come from the program's configuration or from the job, or for a budget that
// several groups share. Nil removes the limit.
func (g *Group) SetBudget(b *Budget) { g.budget = b }

// SetBestEffort replaces the policy's BestEffort for this job. Afterwards, [Group.Policy]
// returns the new one. With nil, the group waits for all units.
func (g *Group) SetBestEffort(b *BestEffort) { g.policy.BestEffort = b }

// Observe adds a function that is called with the context of [Run] and each event of the
// group. Because a retry is taken from the budget without a context, the event for it is
// reported with [context.Background]. The function may be called by multiple goroutines
// simultaneously.
func (g *Group) Observe(f func(context.Context, Event)) { g.observers = append(g.observers, f) }

// Unit returns the retry budget of one unit, for [retry.Shared]. It is nil if
// nothing limits the retries of the group.
func (g *Group) Unit(id string) retry.Budget {
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
	g.Notify(context.Background(), e)
}

// Notify sets the Group and JobID of an event and calls the observers with it. It is for
// packages that execute units without [Run].
func (g *Group) Notify(ctx context.Context, e Event) {
	e.Group, e.JobID = g.policy.Name, g.jobID
	for _, f := range g.observers {
		f(ctx, e)
	}
}

// An Outcome is the result of a group.
type Outcome[T any] struct {
	Decision
	Results map[string]T // results of the units that have succeeded
	// Errors contains the errors of the failed units that [GroupPolicy.Collect] keeps.
	Errors map[string]error
	// DeadLetters are the units that have failed under [FailureDeadLetter], in the
	// order in which they failed.
	DeadLetters []Failure
	// Removed lists the units of an earlier execution of the group that are no longer in
	// the list. It is used only for groups in a store. If such a unit had ended, its
	// result is part of the outcome.
	Removed []string
}

// Run calls op for each unit in a separate goroutine, in the order of the list. At most
// [GroupPolicy.Workers] units run at the same time. A unit that is listed twice runs
// once. Run returns when the group ends according to its policy. It starts no more units
// and cancels the units that are still running. It does not wait for them, and their
// results are only reported as events.
//
// With [LateUpdate], Run calls provisional once, as soon as enough units have succeeded,
// and later returns the final outcome. provisional may be nil.
//
// The error is nil, the cause of ctx if ctx has ended, or [retry.ErrTimeout] if the
// group's timeout has passed. With an error, the outcome contains the results so far. A
// unit that fails after ctx has ended is not counted. The units' errors are in the Errors
// of the outcome. If op calls runtime.Goexit, its unit has failed.
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
	r := newRun(g, units, op)
	for range min(positiveOr(g.policy.Workers, len(units)), len(units)) {
		r.start(ctx)
	}
	for {
		err := r.check(ctx)
		for _, n := range r.take() {
			g.Notify(ctx, n.event)
			switch {
			case n.outcome == nil:
			case n.outcome.Final():
				return *n.outcome, nil
			case provisional != nil:
				provisional(*n.outcome)
			}
		}
		if err != nil {
			return r.outcome, err
		}
		r.wait(ctx)
	}
}
