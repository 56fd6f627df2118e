package durable

import (
	"context"
	"slices"
	"strings"
)

// This file has what an operation on a step means for the units of groups. A
// unit that has ended returns what is recorded, and so does a step that has
// failed: what is requeued is opened with all that would hide it. The group
// counts again when it is called.

// unitOf returns the id of the record of the unit in which a step is called, or
// "".
func unitOf(step string) string {
	i := strings.LastIndex(step, ":/") // slashes within names are escaped
	if i < 0 {
		return ""
	}
	name, _, _ := strings.Cut(step[i+len(":/"):], ":")
	return step[:i] + "/" + name
}

// unitsOf returns the ids of the records of all units in which a step is called,
// the innermost first. unit reports whether the step is itself the record of a
// unit.
func unitsOf(step string, unit bool) (units []string) {
	for {
		if unit {
			step = step[len(inGroups):] // of a group that was called in the scope of its own unit
		}
		if step, unit = unitOf(step), true; step == "" {
			return units
		}
		units = append(units, step)
	}
}

// failedSteps returns the keys of the steps that have failed in a unit, with those
// of the groups that it has called.
func (e *Engine) failedSteps(ctx context.Context, run, unit string) (keys []Key, err error) {
	i := strings.LastIndex(unit, "/")
	prefix := unit[:i] + ":/" + unit[i+1:] + ":"
	for {
		q := Query{
			Kind: KindStep, Space: e.space, Run: run, Status: []Status{StatusFailed, StatusDead},
			FromID: prefix, BeforeID: following(prefix),
		}
		err = e.each(ctx, q, func(r Record) error {
			keys = append(keys, r.Key)
			return nil
		})
		if err != nil {
			return nil, err
		}
		q.Kind, q.Status, q.Limit = KindGroup, nil, 1
		groups, _, err := e.store.List(ctx, q)
		if err != nil || len(groups) == 0 {
			return keys, err
		}
		prefix = inGroups + prefix // of their units and steps
	}
}

// open opens what an operation on a step opens with it: the units in which the
// step was called and which have ended, and the failed steps of a unit.
func (p *operand) open(w *Writes, tx Tx, fence uint64) error {
	for i, key := range slices.Concat(p.units, p.failed) {
		r, unit := tx.Record(key), i < len(p.units)
		ended := finished(r.Status) || r.Status == StatusAbandoned
		if r.Version == 0 || unit && !ended || !unit && r.Status != StatusFailed && r.Status != StatusDead {
			continue
		}
		o := operation{now: tx.Now, by: p.by, step: r}
		var err error
		if o.body, err = open[stepBody](r); err != nil {
			return err
		}
		o.body.Result = nil
		o.reopen(OutcomeRequeued, "with "+p.step)
		o.step.Fence = fence
		if err := writeStep(&o.step, &o.body); err != nil {
			return err
		}
		w.Put, w.Add = append(w.Put, o.step), append(w.Add, o.add...)
	}
	return nil
}
