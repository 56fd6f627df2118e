package admin

import (
	"context"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file has what an operation on a step means for the units of groups. A
// unit that has ended returns what is recorded, and so does a step that has
// failed: what is requeued is opened with all that would hide it. The group
// counts again when it is called.

// failedSteps returns the keys of the steps that have failed in a unit, with those
// of the groups that it has called.
func (c *Client) failedSteps(ctx context.Context, run, unit string) (keys []storage.Key, err error) {
	i := strings.LastIndex(unit, "/")
	prefix := unit[:i] + ":/" + unit[i+1:] + ":"
	for {
		q := storage.Query{
			Kind: storage.KindStep, Space: c.ns.Space, Run: run, Status: []storage.Status{
				storage.StatusFailed, storage.StatusDead,
			},
			FromID: prefix, BeforeID: record.Following(prefix),
		}
		err = c.ns.Each(ctx, q, func(r storage.Record) error {
			keys = append(keys, r.Key)
			return nil
		})
		if err != nil {
			return nil, err
		}
		q.Kind, q.Status, q.Limit = storage.KindGroup, nil, 1
		groups, _, err := c.ns.Store.List(ctx, q)
		if err != nil || len(groups) == 0 {
			return keys, err
		}
		prefix = record.InGroups + prefix // of their units and steps
	}
}

// open opens what an operation on a step opens with it: the units in which the
// step was called and which have ended, and the failed steps of a unit.
func (p *operand) open(w *storage.Writes, tx storage.Tx, fence uint64) error {
	for i, key := range slices.Concat(p.units, p.failed) {
		r, unit := tx.Record(key), i < len(p.units)
		ended := record.Finished(r.Status) || r.Status == storage.StatusAbandoned
		if r.Version == 0 || unit && !ended || !unit && r.Status != storage.StatusFailed && r.Status != storage.StatusDead {
			continue
		}
		o := operation{now: tx.Now, by: p.by, step: r}
		var err error
		if o.body, err = record.Decode[record.Step](r); err != nil {
			return err
		}
		o.body.Result = nil
		o.reopen(events.OutcomeRequeued, "with "+p.step)
		o.step.Fence = fence
		if err := record.EncodeStep(&o.step, &o.body); err != nil {
			return err
		}
		w.Put, w.Add = append(w.Put, o.step), append(w.Add, o.add...)
	}
	return nil
}
