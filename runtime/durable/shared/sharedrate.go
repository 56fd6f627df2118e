package shared

import (
	"context"
	"time"

	"github.com/retrygen/retrygen/runtime/capacity"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A sharedRate is the remote of a rate that processes share.
type sharedRate struct {
	link   *link
	policy capacity.RatePolicy
	key    storage.Key
}

// Reserve implements [capacity.Remote]. It updates the record of the rate once, by the
// clock of the store.
func (s *sharedRate) Reserve(ctx context.Context) (wait time.Duration, ok bool, err error) {
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	sel := storage.Select{Keys: []storage.Key{s.key}}
	err = s.link.store.Update(limited, sel, func(tx storage.Tx) (w storage.Writes, err error) {
		r := tx.Record(s.key)
		var body record.Rate
		if body, err = record.Decode[record.Rate](r); err != nil {
			return w, err
		}
		old := body.State
		if body.State, wait, ok = s.policy.Reserve(old, tx.Now); body.State.Equal(old) {
			return w, nil
		}
		if r.Bucket.IsZero() {
			r.Bucket = record.Month(tx.Now)
		}
		if err = record.Encode(&r, &body); err == nil {
			w.Put = append(w.Put, r)
		}
		return w, err
	})
	if err != nil {
		if ctx.Err() == nil {
			s.link.event(ctx, "rate "+s.policy.Name, err)
		}
		return 0, false, err
	}
	return wait, ok, nil
}
