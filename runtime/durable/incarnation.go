package durable

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrIncarnation is returned for a run that is not claimed, since the store may
// have lost acknowledged updates: its incarnation has changed, as after a
// failover, or after a backup was restored. Attempts may have been made that are
// not recorded any more. Compare the records with the systems that they describe,
// and call [Engine.Accept]. Runs that were claimed before go on meanwhile: their
// engines know what they have executed.
var ErrIncarnation = errors.New("the store may have lost updates, as after a failover: check it, then call Accept")

// incarnationBody is the body of the record of the accepted incarnation.
type incarnationBody struct {
	Incarnation string    `json:"incarnation"`
	Accepted    time.Time `json:"accepted"`
}

func (e *Engine) incarnationKey() Key { return e.key(KindIncarnation, "", "") }

// accepted returns the incarnation of the store, if runs may be claimed: it is
// the first one of the namespace, or was accepted.
func (e *Engine) accepted(ctx context.Context) (string, error) {
	current := e.store.Guarantee().Incarnation
	e.mu.Lock()
	known := e.incarnation == current
	e.mu.Unlock()
	if known {
		return current, nil
	}
	before := ""
	err := e.update(ctx, []Key{e.incarnationKey()}, func(tx Tx) (Writes, error) {
		r := tx.Record(e.incarnationKey())
		b, err := open[incarnationBody](r)
		if before = b.Incarnation; err != nil || r.Version != 0 {
			return Writes{}, err
		}
		before = current
		return accept(tx.Now, r, current)
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

// changed reports whether the store has another incarnation than the accepted
// one. A decision asks again when it has its locks: the connection may be new.
func (e *Engine) changed(accepted string) bool { return e.store.Guarantee().Incarnation != accepted }

// accept returns the record of an accepted incarnation.
func accept(now time.Time, r Record, incarnation string) (Writes, error) {
	r.Bucket = month(now)
	err := write(&r, &incarnationBody{Incarnation: incarnation, Accepted: now})
	return Writes{Put: []Record{r}}, err
}

// Accept lets all engines of the namespace claim runs again after
// [ErrIncarnation], until the incarnation of the store changes again. It does not
// wait: workers ask the store with their next poll.
func (e *Engine) Accept(ctx context.Context, by ...Operator) error {
	return e.update(ctx, []Key{e.incarnationKey()}, func(tx Tx) (Writes, error) {
		r := tx.Record(e.incarnationKey())
		w, err := accept(tx.Now, r, e.store.Guarantee().Incarnation)
		r.Bucket = month(tx.Now)
		w.Add = append(w.Add, newAudit(r, tx.Now, ActionAccepted, operator(by)))
		return w, err
	})
}
