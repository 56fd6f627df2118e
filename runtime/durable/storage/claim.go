package storage

import (
	"context"
	"time"
)

// A Claimer is a store that claims new runs in one statement, without locking and reading
// them before: those about which there is nothing to decide.
type Claimer interface {
	// ClaimNew claims runs for an engine. An error that matches [ErrUnknown] means that
	// some may have been claimed.
	ClaimNew(ctx context.Context, c NewClaim) (NewlyClaimed, error)
}

// NewlyClaimed is the result of a [NewClaim].
type NewlyClaimed struct {
	Runs []Record  // as they are stored then
	Now  time.Time // of the store
	// Left says that runs which are due were not claimed, because they are not new, or
	// may not have been looked at.
	Left bool
}

// A NewClaim is a claim of runs that nobody has claimed before. They have StatusOpen, no
// Owner, no Body and Fence 0, are due, and their Deadline, if they have one, has not
// passed. What is claimed has the Owner, Fence 1, the time as Claimed, and no Due.
type NewClaim struct {
	Owner Key       // the record of the engine: nothing is claimed unless it exists
	Of    []NewRuns // of different handlers
	// Incarnation was read from the [Guarantee]: nothing is claimed if it has changed since.
	Incarnation string
}

// NewRuns are the runs of one handler that are claimed. The claim looks at the runs that
// are due, open or parked, those first with the highest Priority, and among equals those
// that have been due longest. It passes over a run that another update has locked.
type NewRuns struct {
	Handler string
	// Limit is the number of runs that are looked at. The new ones among them are claimed: so
	// the claim takes no longer if many are due that are not new, and does not prefer new
	// ones to those.
	Limit int
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
