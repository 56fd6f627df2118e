package durable

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// unitPage is the number of units whose records are changed in one transaction.
const unitPage = 500

// A groupTx is a group, within a transaction of the execution that calls the group.
type groupTx struct {
	storage.Tx
	run      storage.Record
	record   storage.Record
	body     record.Group
	units    []storage.Record
	canceled []string // runs that the change cancels
	w        storage.Writes
}

// putUnit writes the record of a unit.
func (t *groupTx) putUnit(r storage.Record, s *record.Step) error {
	r.Fence = t.run.Fence
	err := record.EncodeStep(&r, s)
	t.w.Put = append(t.w.Put, r)
	return err
}

// stop records that the group no longer waits for the end of the run of a unit.
func (t *groupTx) stop(s *record.Step) {
	if s.Unit.Started {
		s.Unit.Started = false
		t.body.Started--
	}
}

// key returns the key of the group's record.
func (g *groupCall) key() storage.Key { return g.x.e.ns.Key(storage.KindGroup, g.x.id, g.ids.Group) }

// unitKey returns the key of the record of the unit with the given id.
func (g *groupCall) unitKey(id string) storage.Key { return g.x.e.ns.Key(storage.KindStep, g.x.id, id) }

// update changes the records of the group, of the units with the given ids, and of the other
// keys. It calls change again after a conflict.
func (g *groupCall) update(
	ctx context.Context, ids []string, change func(*groupTx) error, others ...storage.Key,
) error {
	x := g.x
	if err := x.ready(ctx); err != nil {
		return err
	}
	runKey, budgetKey := x.e.ns.Key(storage.KindRun, x.id, ""), x.e.ns.Key(storage.KindBudget, x.id, g.ids.Group)
	keys := []storage.Key{runKey, g.key()}
	budget := g.group.Budget()
	if budget != nil {
		keys = append(keys, budgetKey)
	}
	for _, id := range ids {
		keys = append(keys, g.unitKey(id))
	}
	var t *groupTx
	err := x.update(ctx, append(keys, others...), func(tx storage.Tx) (w storage.Writes, err error) {
		t = &groupTx{Tx: tx, run: tx.Record(runKey), record: tx.Record(g.key())}
		for _, id := range ids {
			t.units = append(t.units, tx.Record(g.unitKey(id)))
		}
		if t.run.Owner != x.owner.id || t.run.Fence != x.fence {
			return storage.Writes{}, ErrFenced
		}
		if t.run.Status == storage.StatusCanceled {
			return storage.Writes{}, ErrCanceled
		}
		if t.body, err = record.Decode[record.Group](t.record); err != nil {
			return storage.Writes{}, err
		}
		if t.record.Version == 0 {
			t.record.Bucket, t.body.Began, t.body.JobID = t.run.Bucket, tx.Now, g.group.JobID()
		}
		t.body.Policy = g.policy
		if budget != nil && !t.body.Budget {
			r, err := newCountBudget(tx.Record(budgetKey), budget.Policy(), t.run.Bucket)
			if err != nil {
				return storage.Writes{}, err
			}
			t.body.Budget, t.w.Put = true, append(t.w.Put, r)
		}
		if err := change(t); err != nil {
			return storage.Writes{}, err
		}
		err = record.Encode(&t.record, &t.body)
		t.w.Put = append(t.w.Put, t.record)
		return t.w, err
	})
	if err == nil {
		g.body, g.now, g.at = t.body, t.Now, time.Now()
	}
	return err
}

// open reads the record of the group, or creates it, and finds the units that have not ended.
func (g *groupCall) open(ctx context.Context) error {
	records, err := g.x.e.ns.Store.Get(ctx, []storage.Key{g.key()})
	if err != nil {
		return err
	}
	known := records[0].Version != 0
	if g.body, err = record.Decode[record.Group](records[0]); err != nil {
		return err
	}
	g.now, g.at = time.Now(), time.Now() // close to the time of the store
	if g.body.End != nil && !g.body.Closed {
		if err := g.close(ctx); err != nil {
			return err
		}
	}
	var changes []string
	if known {
		changes = groupChanges(&g.body.Policy, &g.policy)
	}
	if len(changes) > 0 {
		g.x.e.ns.Event(ctx, events.Event{
			Kind: events.EventPolicyChanged, Run: g.x.id, Step: g.ids.Note(), Name: g.policy.Name, Fence: g.x.fence,
			Err: fmt.Errorf("group %q: %s", g.policy.Name, strings.Join(changes, ", ")),
		})
	}
	g.todo, g.fresh = g.units, !known
	digest := record.ListDigest(g.units)
	if g.body.Units != digest {
		err = g.list(ctx, digest)
	} else if len(changes) > 0 || g.group.Budget() != nil && !g.body.Budget {
		err = g.update(ctx, nil, func(*groupTx) error { return nil })
	}
	if err == nil && known {
		err = g.resume(ctx)
	}
	if err == nil && g.body.End == nil {
		err = g.decide(ctx)
	}
	return err
}

// decide makes a decision at the start of a call, because all units may have ended.
func (g *groupCall) decide(ctx context.Context) error {
	if due := g.body.Due(); g.body.Progress.Pending > 0 && !g.due(due) {
		return nil
	}
	var d *record.GroupDecision
	err := g.update(ctx, nil, func(t *groupTx) error {
		d = t.body.Decide(t.Now)
		return nil
	})
	if err == nil {
		g.decided(ctx, d)
	}
	return err
}

// A listing compares the list of units with the recorded units.
type listing struct {
	g       *groupCall
	ctx     context.Context
	changes map[string]bool // units whose records have to change, by id; true if they are in the list
	digest  string
}

// list adjusts the recorded units to the list. It adds missing units, and removes units that
// are not in the list.
func (g *groupCall) list(ctx context.Context, digest string) error {
	ids := make([]string, 0, len(g.units))
	for _, unit := range g.units {
		id := g.ids.Unit(unit)
		if len(g.ids.Steps(unit)) > record.MaxID {
			return fmt.Errorf("%w: the id of unit %.40q… of group %q has more than %d bytes",
				ErrID, unit, g.policy.Name, record.MaxID)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if distinct := slices.Compact(ids); len(distinct) < len(g.units) {
		ids = distinct
		g.todo = distinctUnits(g.units)
	}
	l := &listing{g: g, ctx: ctx, changes: map[string]bool{}}
	if !g.fresh {
		q := g.query()
		q.Attention, q.Status = false, nil
		err := g.x.e.ns.Each(ctx, q, func(r storage.Record) error {
			for len(ids) > 0 && ids[0] < r.Key.ID {
				if err := l.change(ids[0], true); err != nil {
					return err
				}
				ids = ids[1:]
			}
			listed := len(ids) > 0 && ids[0] == r.Key.ID
			if listed {
				ids = ids[1:]
			}
			s, err := record.Decode[record.Step](r)
			if err != nil || s.Unit.Removed != listed {
				return err
			}
			return l.change(r.Key.ID, listed)
		})
		if err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := l.change(id, true); err != nil {
			return err
		}
	}
	l.digest = digest
	return l.flush()
}

// distinctUnits returns the units of a list without duplicates.
func distinctUnits(units []string) []string {
	seen := make(map[string]bool, len(units))
	var distinct []string
	for _, unit := range units {
		if !seen[unit] {
			seen[unit] = true
			distinct = append(distinct, unit)
		}
	}
	return distinct
}

// change records that a unit is in the list, or is no longer in the list.
func (l *listing) change(id string, listed bool) error {
	if l.changes[id] = listed; len(l.changes) < unitPage {
		return nil
	}
	return l.flush()
}

// flush writes the changes so far. With the last changes, it also writes the digest of the
// list.
func (l *listing) flush() error {
	ids := slices.Sorted(maps.Keys(l.changes))
	var canceled []string
	err := l.g.update(l.ctx, ids, func(t *groupTx) error {
		defer func() { canceled = t.canceled }()
		for _, r := range t.units {
			if err := l.g.relist(t, r, l.changes[r.Key.ID]); err != nil {
				return err
			}
		}
		if l.digest != "" {
			t.body.Units = l.digest
		}
		if t.body.End != nil {
			t.body.Decide(t.Now) // for the same reason, with other numbers
		}
		return nil
	})
	if err != nil {
		return err
	}
	x := l.g.x
	for _, id := range ids {
		if !l.changes[id] {
			x.e.ns.Event(l.ctx, events.Event{
				Kind: events.EventUnitRemoved, Run: x.id, Step: id, Name: l.g.policy.Name, Fence: x.fence,
			})
		}
	}
	clear(l.changes)
	for _, run := range canceled {
		if err := x.e.cancelUnit(l.ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// relist adds a unit to the group or removes it.
func (g *groupCall) relist(t *groupTx, r storage.Record, listed bool) error {
	if r.Version == 0 {
		r.Status, r.Bucket = storage.StatusOpen, t.run.Bucket
		t.body.Progress.Pending++
		return t.putUnit(r, &record.Step{Name: g.policy.Name, Unit: &record.Unit{}})
	}
	s, err := record.Decode[record.Step](r)
	if err != nil || s.Unit.Removed != listed {
		return err
	}
	if listed {
		t.restore(&r, s.Unit)
	} else {
		t.remove(&r, &s)
	}
	return t.putUnit(r, &s)
}

// restore adds a removed unit to the group again.
func (t *groupTx) restore(r *storage.Record, u *record.Unit) {
	u.Removed = false
	t.body.Removed--
	if r.Status == storage.StatusAbandoned {
		r.Status = storage.StatusOpen
	}
	if u.Counted == job.UnitPending {
		t.body.Progress.Pending++
	}
}

// remove removes a unit from the group. A unit that has ended still counts, unless it was
// requeued, because its result is then gone.
func (t *groupTx) remove(r *storage.Record, s *record.Step) {
	u, p := s.Unit, &t.body.Progress
	u.Removed = true
	t.body.Removed++
	switch {
	case u.Counted == job.UnitPending:
		p.Pending--
	case r.Status == storage.StatusOpen && u.Counted == job.UnitSucceeded:
		p.Succeeded--
	case r.Status == storage.StatusOpen:
		p.Failed--
	}
	if r.Status != storage.StatusOpen {
		return
	}
	if u.Started {
		t.canceled = append(t.canceled, s.Child)
	}
	r.Status, u.Counted = storage.StatusAbandoned, job.UnitPending
	t.stop(s)
}
