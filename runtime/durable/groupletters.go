package durable

import (
	"context"
	"time"
)

// This file has the dead letters of units.

// lettersOf returns the dead letters of a run among the steps with a prefix.
func (e *Engine) lettersOf(ctx context.Context, run, prefix string) (keys []Key, err error) {
	q := Query{
		Kind: KindStep, Space: e.space, Run: run, Status: []Status{StatusDead}, Attention: true, FromID: prefix,
	}
	if prefix != "" {
		q.BeforeID = following(prefix)
	}
	err = e.each(ctx, q, func(r Record) error {
		keys = append(keys, r.Key)
		return nil
	})
	return keys, err
}

// coverLetters makes the dead letters of a unit failed steps, when the unit is a dead
// letter itself: it is listed once, and requeued with them. Units of groups that it
// has called stay dead letters, since the counters of their groups have them.
func (v *stepView) coverLetters(tx Tx) error {
	for _, r := range tx.Records {
		if r.Key.Kind != KindStep || r.Key == v.step.Key || r.Status != StatusDead {
			continue
		}
		b, err := open[stepBody](r)
		if err != nil {
			return err
		}
		if b.Unit != nil {
			continue
		}
		r.Status, b.Dead = StatusFailed, time.Time{}
		if err := writeStep(&r, &b); err != nil {
			return err
		}
		v.w.Put = append(v.w.Put, r)
	}
	return nil
}
