package durable

import (
	"context"
	"slices"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/job"
)

// query returns the query for the units that have not ended.
func (g *groupCall) query() storage.Query {
	return storage.Query{
		Kind: storage.KindStep, Space: g.x.e.ns.Space, Run: g.x.id, Attention: true,
		Status: []storage.Status{storage.StatusOpen},
		FromID: g.ids.Units, BeforeID: record.Following(g.ids.Units),
	}
}

// resume finds the units that have not ended. Units that an operator has requeued, or that were
// added after the end of the group, reopen the group. If its deadline or the end of another
// unit has already decided the group, these units are only executed.
func (g *groupCall) resume(ctx context.Context) error {
	g.only = map[string]bool{}
	if g.x.run.Abandoned && !g.body.Closed {
		if err := g.reopen(ctx); err != nil {
			return err
		}
	}
	g.only, g.started = map[string]bool{}, nil
	var again []string
	err := g.x.e.ns.Each(ctx, g.query(), func(r storage.Record) error {
		s, err := record.Decode[record.Step](r)
		if err != nil {
			return err
		}
		if s.Unit.Started {
			g.started = append(g.started, r.Key.ID)
		} else {
			g.only[g.ids.Name(r.Key.ID)] = true
		}
		if s.Unit.Removed || !s.Unit.Requeued && (s.Unit.Counted != job.UnitPending || g.body.End != nil) {
			again = append(again, r.Key.ID)
		}
		return nil
	})
	for page := range slices.Chunk(again, unitPage) {
		if err == nil {
			err = g.update(ctx, page, reopenUnits)
		}
	}
	switch {
	case err != nil:
	case g.body.End == nil && g.body.Closed:
		err = g.reopen(ctx)
	case g.body.End != nil && !g.body.Closed: // the deadline has passed
		if err = g.close(ctx); err == nil {
			return g.resume(ctx)
		}
	}
	g.forced = g.body.End != nil && len(g.only)+len(g.started) > 0
	return err
}

// reopenUnits counts units as pending that have ended or that were added. A group that is
// reopened stays closed until the other units can be executed, too: see reopen.
func reopenUnits(t *groupTx) (err error) {
	p := &t.body.Progress
	bodies := make([]record.Step, len(t.units))
	for i, r := range t.units {
		if bodies[i], err = record.Decode[record.Step](r); err != nil {
			return err
		}
		u := bodies[i].Unit
		if u.Removed { // it is in the group until the list changes again
			t.restore(&t.units[i], u)
		}
		*p, _ = p.Report(&t.body.Policy, u.Counted, job.UnitPending, t.body.Elapsed(t.Now))
		u.Counted = job.UnitPending
	}
	p.Ended, t.body.End = 0, nil
	t.body.Decide(t.Now)
	for i, r := range t.units {
		bodies[i].Unit.Requeued = t.body.End != nil
		if err := t.putUnit(r, &bodies[i]); err != nil {
			return err
		}
	}
	return nil
}

// reopen makes those units executable again that were abandoned when the group ended, or when
// the run ended without the group.
func (g *groupCall) reopen(ctx context.Context) error {
	q := g.query()
	q.Attention, q.Status = false, []storage.Status{storage.StatusAbandoned}
	err := g.eachPage(ctx, q, func(t *groupTx, r storage.Record, s *record.Step) error {
		if r.Status != storage.StatusAbandoned || s.Unit.Removed {
			return nil
		}
		g.only[g.ids.Name(r.Key.ID)] = true
		r.Status = storage.StatusOpen
		return t.putUnit(r, s)
	})
	if err != nil {
		return err
	}
	return g.update(ctx, nil, func(t *groupTx) error {
		t.body.Closed = false
		return nil
	})
}

// close abandons the units that have not ended, after the group has ended.
func (g *groupCall) close(ctx context.Context) error {
	if g.body.Closed {
		return nil
	}
	g.x.mu.Lock()
	g.x.untidy = true // the steps of these units are abandoned at the end of the run
	g.x.mu.Unlock()
	if err := g.cancelRuns(ctx); err != nil {
		return err
	}
	err := g.eachPage(ctx, g.query(), func(t *groupTx, r storage.Record, s *record.Step) error {
		if r.Status != storage.StatusOpen || s.Unit.Requeued {
			return nil
		}
		r.Status = storage.StatusAbandoned
		t.stop(s)
		return t.putUnit(r, s)
	})
	if err != nil {
		return err
	}
	return g.update(ctx, nil, func(t *groupTx) error {
		t.body.Closed = true
		return nil
	})
}

// eachPage changes the units that a query selects, one page per transaction.
func (g *groupCall) eachPage(
	ctx context.Context, q storage.Query, change func(*groupTx, storage.Record, *record.Step) error,
) error {
	var ids []string
	flush := func() error {
		err := g.update(ctx, ids, func(t *groupTx) error {
			for _, r := range t.units {
				s, err := record.Decode[record.Step](r)
				if err == nil {
					err = change(t, r, &s)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		ids = ids[:0]
		return err
	}
	err := g.x.e.ns.Each(ctx, q, func(r storage.Record) error {
		if ids = append(ids, r.Key.ID); len(ids) < unitPage {
			return nil
		}
		return flush()
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	return flush()
}
