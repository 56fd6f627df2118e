package shared

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/retrygen/retrygen/runtime/budget"
	"github.com/retrygen/retrygen/runtime/durable/internal/record"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// This file has the decisions about ratio budgets in a store: pure functions of
// the record and the time of the store.
//
// The budget is a bucket that is divided into parts: one that is free, and one
// for each process that has a lease. Each part has a capacity, and loses the
// tokens that would exceed it. The capacities add up to that of the bucket. Parts
// never hold more than an undivided bucket would, since tokens and capacity only
// move between them: no division allows a retry that the policy does not.

// tokenLeaseTime is the time for which a process has a part of a budget.
const tokenLeaseTime = 30 * time.Second

// A RatioBudget is a ratio budget that a transaction reads and changes.
type RatioBudget struct {
	record storage.Record
	body   record.RatioBudget
	policy budget.Policy // effective
	burst  float64
}

// OpenRatio returns the budget stored in a record, and adds the tokens for the time since
// the record was written. A new budget is full.
func OpenRatio(r storage.Record, p *budget.Policy, now time.Time) (*RatioBudget, error) {
	body, err := record.Decode[record.RatioBudget](r)
	if err != nil {
		return nil, err
	}
	b := &RatioBudget{record: r, body: body, policy: p.Effective()}
	if b.policy.Burst > 0 { // and not NaN
		b.burst = b.policy.Burst
	}
	if r.Version == 0 {
		b.body = record.RatioBudget{Tokens: b.burst, Refilled: now}
		return b, nil
	}
	b.expire(now)
	b.refill(now)
	if b.body.Full {
		b.body.Full = false
		b.body.Tokens += b.room()
	}
	return b, nil
}

// expire ends the leases whose time has passed. Their tokens count as spent.
func (b *RatioBudget) expire(now time.Time) {
	byEnd := func(x, y string) int { return b.body.Leases[x].Until.Compare(b.body.Leases[y].Until) }
	for _, id := range slices.SortedFunc(maps.Keys(b.body.Leases), byEnd) {
		l := b.body.Leases[id]
		if now.Before(l.Until) {
			if latest := now.Add(tokenLeaseTime); l.Until.After(latest) {
				b.body.Leases[id] = record.TokenLease{Capacity: l.Capacity, Until: latest} // the clock was set back
			}
			continue
		}
		b.refill(l.Until)
		delete(b.body.Leases, id)
	}
}

// refill adds the tokens of the time since the last refill. The part that is free
// gets all of them.
func (b *RatioBudget) refill(now time.Time) {
	elapsed := now.Sub(b.body.Refilled)
	if elapsed > 0 && b.policy.MinPerSecond > 0 { // and not NaN
		b.add(elapsed.Seconds() * b.policy.MinPerSecond)
	}
	b.body.Refilled = now // or the clock was set back
}

// room returns the tokens that the free part lacks.
func (b *RatioBudget) room() float64 {
	room := b.burst - b.body.Tokens
	for _, l := range b.body.Leases {
		room -= l.Capacity
	}
	return max(room, 0) // the policy of another process may have a greater burst
}

// add adds tokens to the free part, up to its capacity.
func (b *RatioBudget) add(tokens float64) {
	if tokens > 0 { // and not NaN
		b.body.Tokens += min(tokens, b.room())
	}
}

// Withdraw takes one retry from the part of the budget that is not leased, and reports
// whether a retry was left.
func (b *RatioBudget) Withdraw() bool {
	if !(b.body.Tokens >= 1) {
		return false
	}
	b.body.Tokens--
	return true
}

// Deposit adds the tokens for a success.
func (b *RatioBudget) Deposit() { b.add(b.policy.Ratio) }

// A leaseReport is what a process says about its part of a budget.
type leaseReport struct {
	id       string
	held     float64 // tokens that it keeps
	returned float64 // tokens that it gives back
	want     bool    // it needs tokens
	leave    bool    // it needs nothing any more
}

// A leaseGrant is the answer to a leaseReport.
type leaseGrant struct {
	lost    bool          // the store does not know of the tokens that the process has: they are void
	tokens  float64       // more tokens for the process
	room    float64       // capacity that the process may fill with deposits
	free    float64       // tokens that are left in the free part
	missing float64       // tokens that the free part lacks
	wait    time.Duration // until time alone adds up to a token; 0: it has one, or it never does
}

// lease replaces the part of a process. A process that needs tokens gets half of
// the free ones, and half of the room, so that others find some, too.
func (b *RatioBudget) lease(r leaseReport, now time.Time) leaseGrant {
	old := b.body.Leases[r.id]
	delete(b.body.Leases, r.id)
	const rounding = 1e-9
	g := leaseGrant{lost: r.held+r.returned > old.Capacity+rounding}
	if g.lost {
		r.held, r.returned = 0, 0
	}
	part := record.TokenLease{Capacity: r.held, Until: now.Add(tokenLeaseTime)}
	b.body.Tokens += r.returned
	if r.want {
		g.tokens = math.Ceil(math.Floor(b.body.Tokens) / 2)
		b.body.Tokens -= g.tokens
	}
	part.Capacity += g.tokens
	b.setLease(r.id, part)
	if half := b.room() / 2; half >= 1 && b.policy.Ratio > 0 && !r.leave {
		g.room = half // less is not worth a lease
	}
	part.Capacity += g.room
	b.setLease(r.id, part)
	g.free, g.missing = b.body.Tokens, b.room()
	if b.policy.MinPerSecond > 0 {
		g.wait = time.Duration(max(1-g.free, 0) / b.policy.MinPerSecond * float64(time.Second))
	}
	return g
}

// setLease sets the part of a process. A part without capacity is none.
func (b *RatioBudget) setLease(id string, part record.TokenLease) {
	if part.Capacity <= 0 {
		delete(b.body.Leases, id)
		return
	}
	if b.body.Leases == nil {
		b.body.Leases = map[string]record.TokenLease{}
	}
	b.body.Leases[id] = part
}

// Put adds the record to w if it has changed. A full budget that no process has leased is
// not written again.
func (b *RatioBudget) Put(w *storage.Writes) error {
	if b == nil {
		return nil
	}
	r := b.record
	if r.Bucket.IsZero() {
		r.Bucket = record.Month(b.body.Refilled)
	}
	if len(b.body.Leases) == 0 && b.room() == 0 {
		if r.Version == 0 {
			return nil
		}
		b.body.Refilled = time.Time{} // a full budget does not change with time
	}
	if err := record.Encode(&r, &b.body); err != nil || bytes.Equal(r.Body, b.record.Body) {
		return err
	}
	w.Put = append(w.Put, r)
	return nil
}
