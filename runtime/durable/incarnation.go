package durable

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// ErrIncarnation is returned for a run that cannot be claimed because the store may have
// lost acknowledged updates. The store's incarnation has changed, as happens after a
// failover or when a backup is restored. Some attempts may no longer be recorded although
// they were made. Compare the records with the systems that they describe, and call
// admin.Client.Accept. In the meantime, runs that were already claimed continue, because
// their engines know what they have executed.
var ErrIncarnation = errors.New("the store may have lost updates, as after a failover: check it, then call Accept")

// accepted returns the incarnation of the store if runs may be claimed, because it is the first
// incarnation of the namespace or was accepted.
func (e *Engine) accepted(ctx context.Context) (string, error) {
	current := e.ns.Store.Guarantee().Incarnation
	e.mu.Lock()
	known := e.incarnation == current
	e.mu.Unlock()
	if known {
		return current, nil
	}
	before := ""
	err := e.ns.Update(ctx, []storage.Key{e.ns.IncarnationKey()}, func(tx storage.Tx) (storage.Writes, error) {
		r := tx.Record(e.ns.IncarnationKey())
		b, err := record.Decode[record.Incarnation](r)
		if before = b.Incarnation; err != nil || r.Version != 0 {
			return storage.Writes{}, err
		}
		before = current
		return record.Accept(tx.Now, r, current)
	})
	if err != nil {
		return "", err
	}
	if before != current {
		return "", fmt.Errorf("%w: its incarnation was %q and is %q", ErrIncarnation, before, current)
	}
	e.mu.Lock()
	e.incarnation = current
	e.mu.Unlock()
	return current, nil
}

// changed reports whether the incarnation of the store differs from the accepted one. A
// decision checks this again after it has its locks, because the connection may be a new one.
func (e *Engine) changed(accepted string) bool { return e.ns.Store.Guarantee().Incarnation != accepted }
