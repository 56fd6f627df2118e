package storage

import (
	"context"
	"time"
)

// A Claimer is a store that can claim new runs in one statement, without locking and
// reading them first. Claiming such a run requires no decision.
type Claimer interface {
	// ClaimNew claims runs for an engine. An error that matches [ErrUnknown] means that
	// some runs may have been claimed.
	ClaimNew(ctx context.Context, c NewClaim) (NewlyClaimed, error)
}

// NewlyClaimed is the result of a [NewClaim].
type NewlyClaimed struct {
	Runs []Record  // the claimed runs, as the claim has stored them
	Now  time.Time // time of the claim, by the store's clock
	// Left reports that due runs were not claimed because they are not new, or that there
	// may be due runs that were not examined.
	Left bool
}

// A NewClaim is a request to claim runs that nobody has claimed before. Such runs are due
// and have StatusOpen, no Owner, no Body and Fence 0. If they have a Deadline, it has not
// passed. A claimed run has the Owner and Fence 1. Its Claimed is the time of the claim,
// and it has no Due.
type NewClaim struct {
	Owner Key       // record of the engine; if it does not exist, nothing is claimed
	Of    []NewRuns // the runs to claim, with one element for each handler
	// Incarnation is the incarnation in the [Guarantee] that the caller has read. If the
	// store's incarnation has changed since then, nothing is claimed.
	Incarnation string
}

// NewRuns describes the runs of one handler that are to be claimed. The claim examines
// the runs that are due, whether open or parked. Runs with the highest Priority come
// first and, at equal priority, those that have been due longest. A run that another
// update has locked is skipped.
type NewRuns struct {
	Handler string
	// Limit is the number of runs that the claim examines. It claims the new ones among
	// them. So a claim does not take longer if many due runs are not new, and new runs
	// have no advantage over other runs.
	Limit int
	// Timeout sets the Deadline of runs that have none, counted from their creation. Runs
	// whose timeout has already passed are skipped. Zero sets no Deadline.
	Timeout time.Duration
	Body    []byte // Body of the claimed runs; nil means none
}

// Claim returns the record of a run that is claimed for an engine at the time now, and
// reports whether the run can be claimed. It defines what the fields of a claim mean.
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
