package durable

import (
	"context"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file handles the dead letters of units.

// lettersOf returns the dead letters of a run among the steps whose ids begin with a prefix.
func (e *Engine) lettersOf(ctx context.Context, run, prefix string) (keys []storage.Key, err error) {
	q := storage.Query{
		Kind: storage.KindStep, Space: e.ns.Space, Run: run, Status: []storage.Status{storage.StatusDead}, Attention: true,
		FromID: prefix,
	}
	if prefix != "" {
		q.BeforeID = record.Following(prefix)
	}
	err = e.ns.Each(ctx, q, func(r storage.Record) error {
		keys = append(keys, r.Key)
		return nil
	})
	return keys, err
}

// coverLetters turns the dead letters of a unit into failed steps, if the unit itself is a dead
// letter. Only the unit is then listed, and it is requeued together with these steps. Units of
// groups that the unit has called remain dead letters, because they are part of the counters of
// their groups.
func (v *stepView) coverLetters(tx storage.Tx) error {
	for _, r := range tx.Records {
		if r.Key.Kind != storage.KindStep || r.Key == v.step.Key || r.Status != storage.StatusDead {
			continue
		}
		b, err := record.Decode[record.Step](r)
		if err != nil {
			return err
		}
		if b.Unit != nil {
			continue
		}
		r.Status, b.Dead = storage.StatusFailed, time.Time{}
		if err := record.EncodeStep(&r, &b); err != nil {
			return err
		}
		v.w.Put = append(v.w.Put, r)
	}
	return nil
}
