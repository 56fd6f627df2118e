package durable

import (
	"context"
	"errors"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file contains the claims of new runs in a store that is a [storage.Claimer]. Such a
// store claims them in a single statement, because they require no decision. All other due runs
// are claimed by a decision: see claims.go. A worker makes such decisions if no new run is
// among the runs that have been due longest, and once per poll interval, so that neither kind
// of run delays the other.

// claimNew claims new runs of handlers without limits, if the store supports it. It reports
// whether it has claimed any, and whether these are all runs that can be claimed now, so that
// the worker's turn ends.
func (w *worker) claimNew(ctx context.Context, o *owner, handlers []string) (found, all bool, err error) {
	e := w.e
	store, ok := e.ns.Store.(storage.Claimer)
	if !ok || time.Since(w.decided) >= w.options.poll {
		return false, false, nil
	}
	c := storage.NewClaim{Owner: o.key()}
	if c.Of, err = e.newRuns(handlers, w.free()); err != nil || len(c.Of) == 0 {
		return false, false, err
	}
	if c.Incarnation, err = e.accepted(ctx); err != nil {
		return false, false, err
	}
	gaps := o.gaps.Load()
	e.claims.RLock() // until the runs are active
	defer e.claims.RUnlock()
	sent := time.Since(o.begun)
	claimed, err := store.ClaimNew(ctx, c)
	if err != nil {
		if errors.Is(err, storage.ErrUnknown) {
			return false, false, err
		}
		return false, false, nil // a decision finds the reason
	}
	if len(claimed.Runs) > 0 {
		o.clock(sent, claimed.Now)
	}
	for _, r := range claimed.Runs {
		b, failed := record.Decode[record.Run](r)
		if failed == nil {
			failed = w.start(o, gaps, claimedRun{
				claim: claim{fence: r.Fence, record: r, run: b, resume: true}, key: r.Key, handler: r.Handler,
			})
		}
		err = errors.Join(err, failed)
	}
	found = len(claimed.Runs) > 0
	return found, found && !claimed.Left, err
}

// newRuns returns which new runs of the given handlers to claim. Each handler without limits
// gets an equal share, with the options of the handler.
func (e *Engine) newRuns(handlers []string, free int) (of []storage.NewRuns, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	share := (free + len(handlers) - 1) / len(handlers)
	for _, name := range handlers {
		h := e.handlers[name]
		if h.limits.Any() || free == 0 {
			continue
		}
		n := storage.NewRuns{Handler: name, Limit: min(share, free), Timeout: max(h.options.timeout, 0)}
		free -= n.Limit
		if n.Body, err = h.newBody(); err != nil {
			return nil, err
		}
		of = append(of, n)
	}
	return of, nil
}

// newBody returns the body of new runs of the handler when they are claimed.
func (h *handler) newBody() ([]byte, error) {
	var r storage.Record
	var b record.Run
	h.adopt(&r, &b)
	b.Deadline = time.Time{} // the deadline depends on the run
	err := record.Encode(&r, &b)
	return r.Body, err
}
