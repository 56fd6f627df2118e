package durable

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrygen/retrygen/runtime/job"
)

// Group is [job.Run] on the store of the run in ctx: it calls op for each unit,
// and returns when the group ends by the rules of its policy. What the group knows
// survives any restart: which units have ended, and with which results, its
// deadline and timeout, its budget, and whether it has released a provisional
// result.
//
// Each unit is a scope: the durable calls of op are steps of the run that no other
// unit has. The end of a unit is recorded once, together with the counters of the
// group; results are recorded as those of steps are, and errors as [*UnitError].
// A unit that has not ended when the process dies is executed again, and its
// finished steps return what is recorded. A unit that waits for longer than
// ParkAfter, or for a person, does not keep others from going on: the run is
// parked or paused when no unit can go on.
//
// The name of the policy identifies the group in its run: use [Scope] for a second
// one with the same name. When the list of units has changed since it was
// recorded, added units are executed, and removed ones are reported as
// [job.Outcome.Removed]: results of those that had ended stay in the outcome.
//
// provisional is called once, and again only if the process dies before it has
// returned. Within a step, a group is a plain part of that step, and nothing is
// recorded. Without a run in ctx, the error matches [ErrNoRun].
func Group[T any](
	ctx context.Context, g *job.Group, units []string,
	op func(ctx context.Context, unit string) (T, error), provisional func(job.Outcome[T]),
) (job.Outcome[T], error) {
	c := fromContext(ctx)
	switch {
	case c == nil:
		return job.Outcome[T]{}, fmt.Errorf("group %q: %w", g.Policy().Name, ErrNoRun)
	case c.info != nil:
		return job.Run(ctx, g, units, op, provisional)
	}
	call := newGroupCall(ctx, c, g, units)
	call.op = func(ctx context.Context, unit string) (payload, error) {
		value, err := op(ctx, unit)
		if err != nil {
			return payload{}, err
		}
		return encode(c.x.e.codec, value), nil
	}
	if provisional != nil {
		call.provisional = func(ctx context.Context, body *groupBody, d *groupDecision) error {
			o, err := collect[T](ctx, call, body, d)
			if err == nil {
				provisional(o)
			}
			return err
		}
	}
	decision, err := call.execute(ctx)
	if decision == nil {
		return job.Outcome[T]{}, err
	}
	o, failed := collect[T](ctx, call, &call.body, decision)
	return o, errors.Join(err, failed)
}
