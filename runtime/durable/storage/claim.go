package storage

import (
	"context"
	"time"
)

// A Claimer is a store that claims new runs in one statement, without locking and reading
// them before: those about which there is nothing to decide.
type Claimer interface {
	// ClaimNew claims runs for an engine, and returns them as they are stored then, with
	// the time of the store. An error that matches [ErrUnknown] means that some may have
	// been claimed.
	ClaimNew(ctx context.Context, c NewClaim) (claimed []Record, now time.Time, err error)
}

// A NewClaim is a claim of runs that nobody has claimed before. They have StatusOpen, no
// Owner, no Body and Fence 0, are due, and their Deadline, if they have one, has not
// passed. What is claimed has the Owner, Fence 1, the time as Claimed, and no Due.
type NewClaim struct {
	Owner Key       // the record of the engine: nothing is claimed unless it exists
	Of    []NewRuns // of different handlers
	// Incarnation is that of the [Guarantee]: nothing is claimed if it is another one now.
	Incarnation string
}

// NewRuns are the runs of one handler that are claimed: those with the highest Priority,
// and among equals those that have been due longest. A run that another update has locked
// is left out.
type NewRuns struct {
	Handler string
	Limit   int // the most runs that are claimed
	// Timeout sets the Deadline of runs that have none, from their creation on. Runs whose
	// time has passed are left out. Zero sets none.
	Timeout time.Duration
	Body    []byte // that the runs get; nil: none
}

// Claim returns what becomes of a run that is claimed for an engine at a time, and whether
// it is. It defines what the fields of a claim mean.
func (n *NewRuns) Claim(owner Key, r Record, now time.Time) (Record, bool) {
	if r.Deadline.IsZero() && n.Timeout > 0 {
		r.Deadline = r.Created.Add(n.Timeout)
	}
	if r.Key.Kind != KindRun || r.Key.Space != owner.Space || r.Handler != n.Handler || r.Status != StatusOpen ||
		r.Owner != "" || r.Body != nil || r.Fence != 0 || r.Due.IsZero() || r.Due.After(now) ||
		!r.Deadline.IsZero() && !r.Deadline.After(now) {
		return r, false
	}
	r.Owner, r.Fence, r.Claimed, r.Due, r.Body = owner.ID, 1, now, time.Time{}, n.Body
	return r, true
}

// ClaimByUpdate does what ClaimNew of a [Claimer] does, with an update. It is for tests of
// those who use one.
func ClaimByUpdate(ctx context.Context, s Store, c NewClaim) (claimed []Record, now time.Time, err error) {
	if s.Guarantee().Incarnation != c.Incarnation {
		return nil, now, nil
	}
	sel := Select{Keys: []Key{c.Owner}}
	for _, n := range c.Of {
		sel.Queries = append(sel.Queries, Query{
			Kind: KindRun, Space: c.Owner.Space, Handlers: []string{n.Handler}, Status: []Status{StatusOpen},
			DueBy: time.Unix(1<<33, 0), // the decision knows the time
		})
	}
	err = s.Update(ctx, sel, func(tx Tx) (w Writes, err error) {
		claimed, now = nil, tx.Now
		if tx.Records[0].Version == 0 {
			return w, nil
		}
		left := map[string]NewRuns{}
		for _, n := range c.Of {
			left[n.Handler] = n
		}
		for _, r := range tx.Records[1:] {
			n := left[r.Handler]
			if r, ok := n.Claim(c.Owner, r, now); ok && n.Limit > 0 {
				w.Put = append(w.Put, r)
				r.Version++
				claimed = append(claimed, r)
				n.Limit--
				left[r.Handler] = n
			}
		}
		return w, nil
	})
	return claimed, now, err
}
