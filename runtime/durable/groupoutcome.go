package durable

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// collect returns the outcome of a group at a decision, from the records of its units.
func collect[T any](
	ctx context.Context, g *groupCall, body *record.Group, d *record.GroupDecision,
) (job.Outcome[T], error) {
	o := job.Outcome[T]{Decision: d.Decision, Results: map[string]T{}, Errors: map[string]error{}}
	var unreadable error // the first result that cannot be read
	err := eachUnit(ctx, g, body, d, func(unit string, value T, err error) error {
		if _, ok := errors.AsType[*ResultError](err); ok {
			unreadable = cmp.Or(unreadable, err)
		} else if err != nil {
			o.Errors[unit] = err
		} else {
			o.Results[unit] = value
		}
		return nil
	})
	if err == nil {
		o.DeadLetters, o.Removed, err = g.letters(ctx, d)
	}
	return o, cmp.Or(err, unreadable)
}

// eachUnit calls each for the units in the outcome of a group at a decision: units with a
// result, and units with an error that the policy keeps. A result that cannot be read is passed
// as a *ResultError.
func eachUnit[T any](
	ctx context.Context, g *groupCall, body *record.Group, d *record.GroupDecision,
	each func(unit string, value T, err error) error,
) error {
	var none T
	err := g.read(ctx, func(r storage.Record, s *record.Step) error {
		unit := g.ids.Name(r.Key.ID)
		switch counted := s.Unit.Counted; {
		case s.Unit.Seq > d.Seq:
			return nil
		case counted == job.UnitFailed && body.Policy.Collect == job.CollectAll:
			return each(unit, none, unitError(g.x.id, g.ids.Group, unit, s))
		case counted != job.UnitSucceeded:
			return nil
		}
		result, err := g.x.e.unitResult(ctx, r.Key, s)
		if err != nil {
			return g.x.failed(ctx, err)
		}
		var value T
		if err := resultError(g.x.id, r.Key.ID, result.Decode(g.x.e.ns.Codec, &value)); err != nil {
			return each(unit, none, err)
		}
		return each(unit, value, nil)
	})
	if err != nil {
		return err
	}
	kept, err := g.x.e.failures(ctx, g.x.id, g.ids.Group, body.Kept)
	for _, f := range kept {
		if err == nil {
			err = each(f.Unit, none, f.Err)
		}
	}
	return err
}

// read calls f for the records of all units, one page at a time.
func (g *groupCall) read(
	ctx context.Context, f func(storage.Record, *record.Step) error, status ...storage.Status,
) error {
	q := g.query()
	q.Attention, q.Status = false, status
	return g.x.e.ns.Each(ctx, q, func(r storage.Record) error {
		s, err := record.Decode[record.Step](r)
		if err != nil {
			return err
		}
		return f(r, &s)
	})
}

// letters returns the dead letters of a group at a decision, in the order in which they failed,
// and the units that are no longer in the list.
func (g *groupCall) letters(
	ctx context.Context, d *record.GroupDecision,
) (dead []job.Failure, removed []string, err error) {
	order := map[int]job.Failure{} // by the number of their ends
	if g.body.Progress.Failed > 0 {
		err = g.read(ctx, func(r storage.Record, s *record.Step) error {
			if s.Unit.Counted == job.UnitFailed && s.Unit.Seq <= d.Seq {
				unit := g.ids.Name(r.Key.ID)
				order[s.Unit.Seq] = job.Failure{Unit: unit, Err: unitError(g.x.id, g.ids.Group, unit, s)}
			}
			return nil
		}, storage.StatusDead)
	}
	for _, seq := range slices.Sorted(maps.Keys(order)) {
		dead = append(dead, order[seq])
	}
	if g.body.Removed > 0 && err == nil {
		err = g.read(ctx, func(r storage.Record, s *record.Step) error {
			if s.Unit.Removed {
				removed = append(removed, g.ids.Name(r.Key.ID))
			}
			return nil
		})
	}
	return dead, removed, err
}

// unitResult returns the result of a unit that has succeeded.
func (e *Engine) unitResult(ctx context.Context, key storage.Key, s *record.Step) (*record.Payload, error) {
	switch {
	case s.Result == nil:
		return &record.Payload{}, nil
	case s.Result.Entry > 0:
		return e.ns.Large(ctx, key, s.Result.Entry)
	}
	return s.Result, nil
}

// failures returns those of the given units of a group that have failed, in the order in which
// they are given. Units that have succeeded in the meantime are omitted.
func (e *Engine) failures(ctx context.Context, run, group string, units []string) ([]job.Failure, error) {
	ids := record.GroupIDsOf(group)
	var keys []storage.Key
	for _, unit := range units {
		keys = append(keys, e.ns.Key(storage.KindStep, run, ids.Unit(unit)))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	records, err := e.ns.Store.Get(ctx, keys)
	if err != nil {
		return nil, err
	}
	var failures []job.Failure
	for i, r := range records {
		s, err := record.Decode[record.Step](r)
		if err != nil {
			return nil, err
		}
		if s.Unit != nil && s.Unit.Counted == job.UnitFailed {
			failures = append(failures, job.Failure{Unit: units[i], Err: unitError(run, group, units[i], &s)})
		}
	}
	return failures, nil
}

// unitError returns the error of a failed unit.
func unitError(run, group, unit string, s *record.Step) *UnitError {
	e := &UnitError{Run: run, Group: group, Unit: unit, Reason: s.Reason, Escalated: s.Escalated}
	if s.Error != nil {
		e.Class, e.Text, e.targets = s.Error.Class, s.Error.Text, s.Error.Targets
	}
	return e
}
