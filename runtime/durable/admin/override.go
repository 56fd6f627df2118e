package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/internal/fault"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/override"
)

// MaxOverrides is the maximum number of active overrides in a namespace.
const MaxOverrides = 100

// ErrManyOverrides is returned by [Client.Override] if the namespace already has
// [MaxOverrides] overrides.
var ErrManyOverrides = errors.New("the namespace has as many overrides as it can have: end some of them")

// Override stores an override for all processes that follow the namespace's overrides:
// see shared.Link. The override ends after the given length: Override sets Until to the
// store's current time plus length, so that the clock of the caller does not matter. It
// sets ID, At, and the By and Reason of the operator, too, and returns the result. The
// store does not know the policies of the processes, so a target that selects nothing is
// not an error. Override returns [ErrManyOverrides], or an error from
// [override.Override.Validate].
func (c *Client) Override(
	ctx context.Context, o override.Override, length time.Duration, by ...events.Operator,
) (override.Override, error) {
	who := operator(by)
	o.ID, o.By, o.Reason = override.NewID(), who.Name, who.Reason
	err := c.changeOverrides(ctx, func(b *record.Overrides, now time.Time) (auditBody, error) {
		o.At, o.Until = now, now.Add(length)
		if err := o.Validate(now); err != nil {
			return auditBody{}, err
		}
		if len(b.List) >= MaxOverrides {
			return auditBody{}, ErrManyOverrides
		}
		b.List = append(b.List, o)
		return auditBody{Action: ActionOverrode, Detail: o.ID + ": " + o.Summary(), By: who}, nil
	})
	return o, err
}

// EndOverride ends an override early. The error matches [ErrNotFound] if no override has
// the ID.
func (c *Client) EndOverride(ctx context.Context, id string, by ...events.Operator) error {
	return c.changeOverrides(ctx, func(b *record.Overrides, _ time.Time) (auditBody, error) {
		i := slices.IndexFunc(b.List, func(o override.Override) bool { return o.ID == id })
		if i < 0 {
			return auditBody{}, fmt.Errorf("override %q: %w", record.Clip(id), fault.ErrNotFound)
		}
		ended := b.List[i]
		b.List = slices.Delete(b.List, i, i+1)
		return auditBody{Action: ActionEnded, Detail: ended.ID + ": " + ended.Summary(), By: operator(by)}, nil
	})
}

// changeOverrides changes the overrides of the namespace that have not ended, and notes who
// did that.
func (c *Client) changeOverrides(
	ctx context.Context, change func(*record.Overrides, time.Time) (auditBody, error),
) error {
	key := c.ns.Key(storage.KindOverrides, "", "")
	return c.ns.Update(ctx, []storage.Key{key}, func(tx storage.Tx) (w storage.Writes, err error) {
		r := tx.Record(key)
		b, err := record.Decode[record.Overrides](r)
		if err != nil {
			return w, err
		}
		b.List = slices.DeleteFunc(b.List, func(o override.Override) bool { return !o.Until.After(tx.Now) })
		done, err := change(&b, tx.Now)
		if err != nil {
			return w, err
		}
		if r.Bucket.IsZero() {
			r.Bucket = record.Month(tx.Now)
		}
		err = record.Encode(&r, &b)
		return storage.Writes{Put: []storage.Record{r}, Add: []storage.Entry{newDetailedAudit(r, tx.Now, done)}}, err
	})
}

// Overrides returns the overrides of the namespace that are active by the caller's clock,
// in the order in which they were stored.
func (c *Client) Overrides(ctx context.Context) ([]override.Override, error) {
	records, err := c.ns.Store.Get(ctx, []storage.Key{c.ns.Key(storage.KindOverrides, "", "")})
	if err != nil {
		return nil, err
	}
	b, err := record.Decode[record.Overrides](records[0])
	now := time.Now()
	return slices.DeleteFunc(b.List, func(o override.Override) bool { return !o.Until.After(now) }), err
}
