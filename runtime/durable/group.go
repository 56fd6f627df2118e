package durable

import (
	"context"
	"errors"
	"maps"
	"slices"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/job"
)

// Group is like [job.Run], but keeps the state of the group in the store of the run in
// ctx. It calls op for each unit, and returns when the group ends according to its
// policy. The following state survives any restart: which units have ended, their
// results, the deadline and the timeout, the budget, and whether the provisional result
// was passed on.
//
// Each unit is a scope, so the durable calls in op are different steps for each unit. The
// end of a unit is recorded once, together with the group's counters. Results are
// recorded like the results of steps, and errors as [*UnitError]. If the process dies
// before a unit has ended, the unit is executed again, and its finished steps return
// their recorded results. If a unit waits for a person, or for longer than ParkAfter, the
// other units continue. When no unit can continue, the run is parked or paused.
//
// The policy's name identifies the group within its run. For a second group with the same
// name, use [Scope]. If the list of units has changed since it was recorded, new units
// are executed and removed units are reported in [job.Outcome.Removed]. If a removed unit
// had ended, its result is still part of the outcome.
//
// provisional is called once. If the process dies before provisional has returned, it is
// called again. If Group is called within a step, the group is part of the step and
// nothing is recorded for it. Without a run in ctx, the error matches [ErrNoRun].
func Group[T any](
	ctx context.Context, g *job.Group, units []string,
	op func(ctx context.Context, unit string) (T, error), provisional func(job.Outcome[T]),
) (job.Outcome[T], error) {
	c := fromContext(ctx)
	if c != nil && c.attempt != nil {
		return job.Run(ctx, g, units, op, provisional)
	}
	call, err := newGroupCall(ctx, c, g, units)
	if err != nil {
		return job.Outcome[T]{}, err
	}
	call.op = unitOp(c, op)
	return executeGroup(ctx, call, provisional)
}

// executeGroup executes a group until it ends, and returns its outcome.
func executeGroup[T any](
	ctx context.Context, g *groupCall, provisional func(job.Outcome[T]),
) (job.Outcome[T], error) {
	if provisional != nil {
		g.provisional = func(ctx context.Context, body *record.Group, d *record.GroupDecision) error {
			o, err := collect[T](ctx, g, body, d)
			if err == nil {
				provisional(o)
			}
			return err
		}
	}
	decision, err := g.execute(ctx)
	if decision == nil {
		return job.Outcome[T]{}, err
	}
	o, failed := collect[T](ctx, g, &g.body, decision)
	return o, errors.Join(err, failed)
}

// GroupEach is [Group] for groups whose outcome does not fit into memory. When the group
// has ended, GroupEach calls each for the units that have a result or whose error is kept
// by [job.GroupPolicy.Collect], in the order of the unit ids. If each returns an error,
// GroupEach stops and returns it.
func GroupEach[T any](
	ctx context.Context, g *job.Group, units []string,
	op func(ctx context.Context, unit string) (T, error), each func(unit string, value T, err error) error,
) (job.Decision, error) {
	c := fromContext(ctx)
	if c != nil && c.attempt != nil {
		o, err := job.Run(ctx, g, units, op, nil)
		if err != nil && err != retry.ErrTimeout {
			return job.Decision{}, err
		}
		return o.Decision, errors.Join(err, eachOf(&o, each))
	}
	call, err := newGroupCall(ctx, c, g, units)
	if err != nil {
		return job.Decision{}, err
	}
	call.op = unitOp(c, op)
	decision, err := call.execute(ctx)
	if decision == nil {
		return job.Decision{}, err
	}
	return decision.Decision, errors.Join(err, eachUnit(ctx, call, &call.body, decision, each))
}

// eachOf calls each for the units of an outcome, until it returns an error.
func eachOf[T any](o *job.Outcome[T], each func(unit string, value T, err error) error) error {
	units := slices.AppendSeq(slices.Collect(maps.Keys(o.Results)), maps.Keys(o.Errors))
	slices.Sort(units)
	for _, unit := range units {
		if err := each(unit, o.Results[unit], o.Errors[unit]); err != nil {
			return err
		}
	}
	return nil
}

// unitOp returns the function of a unit, with its result in recorded form.
func unitOp[T any](
	c *runContext, op func(ctx context.Context, unit string) (T, error),
) func(context.Context, string) (record.Payload, error) {
	return func(ctx context.Context, unit string) (record.Payload, error) {
		value, err := op(ctx, unit)
		if err != nil {
			return record.Payload{}, err
		}
		return record.NewPayload(c.x.e.ns.Codec, value), nil
	}
}
