package durable

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/retrygen/retrygen/runtime/job"
)

// collect returns the outcome of a group at a decision, from the records of its
// units.
func collect[T any](
	ctx context.Context, g *groupCall, body *groupBody, d *groupDecision,
) (job.Outcome[T], error) {
	o := job.Outcome[T]{Decision: d.Decision, Results: map[string]T{}, Errors: map[string]error{}}
	var unreadable error // the first one
	err := g.outcome(ctx, body, d, &outcomeReader{
		result: func(unit string, p *payload, step string) {
			var value T
			if err := p.decode(g.x.e.codec, step, &value); err != nil {
				unreadable = cmp.Or(unreadable, err)
				return
			}
			o.Results[unit] = value
		},
		failed:  func(f job.Failure) { o.Errors[f.Unit] = f.Err },
		dead:    func(f job.Failure) { o.DeadLetters = append(o.DeadLetters, f) },
		removed: func(unit string) { o.Removed = append(o.Removed, unit) },
	})
	return o, cmp.Or(err, unreadable)
}

// An outcomeReader receives the outcome of a group.
type outcomeReader struct {
	result  func(unit string, p *payload, step string)
	failed  func(job.Failure) // the errors that the policy keeps
	dead    func(job.Failure) // in the order in which the units failed
	removed func(unit string)
}

// outcome reads the outcome of a group at a decision, a page of its units at a
// time.
func (g *groupCall) outcome(ctx context.Context, body *groupBody, d *groupDecision, to *outcomeReader) error {
	q := g.query()
	q.Attention, q.Status = false, nil
	dead := map[int]job.Failure{} // by the order of their ends
	err := g.x.e.each(ctx, q, func(r Record) error {
		s, err := open[stepBody](r)
		if err != nil {
			return err
		}
		unit := g.ids.name(r.Key.ID)
		if s.Unit.Removed {
			to.removed(unit)
		}
		switch counted := s.Unit.Counted; {
		case s.Unit.Seq > d.Seq:
			return nil
		case counted == job.UnitSucceeded:
			result, err := g.x.e.unitResult(ctx, r.Key, &s)
			if err != nil {
				return g.x.failed(ctx, err)
			}
			to.result(unit, result, r.Key.ID)
		case counted == job.UnitFailed:
			f := job.Failure{Unit: unit, Err: g.unitError(unit, &s)}
			if body.Policy.Collect == job.CollectAll {
				to.failed(f)
			}
			if r.Status == StatusDead {
				dead[s.Unit.Seq] = f
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, seq := range slices.Sorted(maps.Keys(dead)) {
		to.dead(dead[seq])
	}
	kept, err := g.failures(ctx, body.Kept)
	for _, f := range kept {
		to.failed(f)
	}
	return err
}

// unitResult returns the result of a unit that has succeeded.
func (e *Engine) unitResult(ctx context.Context, key Key, s *stepBody) (*payload, error) {
	switch {
	case s.Result == nil:
		return &payload{}, nil
	case s.Result.Entry > 0:
		return e.large(ctx, key, s.Result.Entry)
	}
	return s.Result, nil
}

// failures returns units that have failed, in the order of their names here. Those
// that have succeeded since are left out.
func (g *groupCall) failures(ctx context.Context, units []string) ([]job.Failure, error) {
	var keys []Key
	for _, unit := range units {
		keys = append(keys, g.x.e.key(KindStep, g.x.id, g.ids.unit(unit)))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	records, err := g.x.e.store.Get(ctx, keys)
	if err != nil {
		return nil, err
	}
	var failures []job.Failure
	for i, r := range records {
		s, err := open[stepBody](r)
		if err != nil {
			return nil, err
		}
		if s.Unit != nil && s.Unit.Counted == job.UnitFailed {
			failures = append(failures, job.Failure{Unit: units[i], Err: g.unitError(units[i], &s)})
		}
	}
	return failures, nil
}

// unitError returns the error of a unit that has failed.
func (g *groupCall) unitError(unit string, s *stepBody) *UnitError {
	e := &UnitError{Run: g.x.id, Group: g.ids.group, Unit: unit, Reason: s.Reason, Escalated: s.Escalated}
	if s.Error != nil {
		e.Class, e.Text, e.targets = s.Error.Class, s.Error.Text, s.Error.Targets
	}
	return e
}
