package durable

import (
	"strings"
	"time"

	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A claimRequest describes what a worker claims in one transaction: runs that are due, or the
// runs of a dead owner.
type claimRequest struct {
	owner   storage.Key          // the record of this engine
	orphans storage.Key          // the record of the dead owner, or the zero Key
	dead    bool                 // the process of the dead owner is known to be dead
	waits   map[string]time.Time // until when the runs of the dead owner are only waiting
	slots   int                  // the maximum number of runs to claim
	active  map[string]bool      // runs that this engine has not released yet
	known   map[string]*handler  // handlers that the engine has registered
	limiting
}

// A claimResult is the result of a claimRequest.
type claimResult struct {
	now        time.Time // the time of the store
	runs       []claimedRun
	selected   map[string]int   // number of runs of each handler that were considered
	unreadable map[string]error // runs that were written by a newer version
	// later contains the handlers whose rate has delayed claims, with the delay.
	later map[string]time.Duration

	slots int                     // the number of runs that may still be claimed
	gates map[string]*record.Gate // the gates of handlers with limits, by name
}

// A claimedRun is a run that a worker owns or has ended.
type claimedRun struct {
	claim
	key     storage.Key
	handler string
}

// records returns the keys of the records that are locked before the runs. These include the
// limits of handlers, and the dead owner, which must not renew its lease during the
// transaction.
func (c *claimRequest) records() []storage.Key {
	keys := []storage.Key{c.owner}
	if c.orphans.ID != "" {
		keys = append(keys, c.orphans)
	}
	return append(keys, c.keys...)
}

// decide decides which of the selected runs the engine claims. It claims them in their order,
// as far as there are slots and the limits of their handlers allow it.
func (c *claimRequest) decide(tx storage.Tx) (w storage.Writes, t claimResult, err error) {
	t = claimResult{
		now: tx.Now, selected: map[string]int{}, unreadable: map[string]error{}, gates: map[string]*record.Gate{},
	}
	if err := leased(tx.Record(c.owner)); err != nil {
		return w, t, err
	}
	var last crash
	if c.orphans.ID != "" {
		orphans := tx.Record(c.orphans)
		if last, err = crashOf(orphans, time.Time{}); err != nil {
			return w, t, err
		}
		if !c.dead {
			_, left, err := leaseOf(tx.Now, &orphans, &w)
			if err != nil || left > 0 {
				return w, t, err
			}
		}
	}
	for _, key := range c.limiting.keys {
		if t.gates[key.ID], err = record.OpenGate(tx.Record(key), c.free); err != nil {
			return w, t, err
		}
	}
	t.slots = c.slots
	for _, r := range tx.Records {
		if r.Key.Kind != storage.KindRun {
			continue
		}
		if err := c.decideRun(r, last, &w, &t); err != nil {
			return storage.Writes{}, t, err
		}
	}
	for _, g := range t.gates {
		if err := g.Write(&w, tx.Now); err != nil {
			return storage.Writes{}, t, err
		}
	}
	return w, t, nil
}

// decideRun decides on one of the selected runs. last describes how the dead owner has crashed.
func (c *claimRequest) decideRun(r storage.Record, last crash, w *storage.Writes, t *claimResult) error {
	t.selected[r.Handler]++
	b, err := record.Decode[record.Run](r)
	switch {
	case err != nil:
		t.unreadable[r.Key.Run] = err
		return nil
	case t.slots == 0 || c.active[r.Key.Run]:
		return nil
	case c.orphans.ID == "" && (r.Owner != "" || r.Due.IsZero() || r.Due.After(t.now)):
		return nil // the clock of this process is ahead
	}
	if r.Fence == 0 && b.Imports == 0 {
		c.known[r.Handler].adopt(&r, &b)
	}
	last.waits = c.waits[r.Key.Run]
	if _, limited := c.handlers[r.Handler]; limited {
		r.Awaited = true // the end of the run frees a slot for other workers
	}
	put, result, err := claimRecord(t.now, c.owner.ID, r, b, last)
	switch {
	case err != nil:
		return err
	case result.err != nil: // the run has ended
	case c.admits(t, r, result.fence):
		t.slots--
	case c.orphans.ID == "":
		return nil
	default:
		put, err = releaseOrphan(t.now, r, b, last)
		w.Put = append(w.Put, put)
		return err
	}
	w.Put = append(w.Put, put)
	t.runs = append(t.runs, claimedRun{claim: result, key: r.Key, handler: r.Handler})
	return nil
}

// admits reports whether the limits of its handler allow a claim of the run.
func (c *claimRequest) admits(t *claimResult, r storage.Record, fence uint64) bool {
	l, limited := c.handlers[r.Handler]
	if !limited {
		return true
	}
	name, _, _ := strings.Cut(r.Handler, "@")
	ok, wait := t.gates[name].Admit(l, r, fence, t.now)
	if wait > 0 {
		if t.later == nil {
			t.later = map[string]time.Duration{}
		}
		t.later[r.Handler] = wait
	}
	return ok
}

// releaseOrphan makes a dead owner's run due if it may not start yet. It starts as soon as the
// limits of its handler allow it. The crash counts as if the run had been claimed.
func releaseOrphan(now time.Time, r storage.Record, b record.Run, last crash) (storage.Record, error) {
	last.count(now, &r, &b)
	b.LeaveJob(&r)
	release(&r, now)
	err := record.Encode(&r, &b)
	return r, err
}
