package record

import (
	"bytes"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/override"
)

// CountBudget is the body of the record of a count budget.
type CountBudget struct {
	Name     string `json:"name,omitempty"`    // the name of the policy
	Retries  int    `json:"retries,omitempty"` // the limits; the first engine sets them, and they stay
	PerUnit  int    `json:"per_unit,omitempty"`
	Consumed int    `json:"consumed,omitempty"`
	Refused  int    `json:"refused,omitempty"`
}

// RatioBudget is the body of the record of a ratio budget. Its capacity, which is the burst of
// the policy, is divided between the budget itself and the leases.
type RatioBudget struct {
	Tokens   float64               `json:"tokens"` // the tokens that are not leased
	Refilled time.Time             `json:"refilled,omitzero"`
	Full     bool                  `json:"full,omitempty"`   // an operator has filled the budget
	Leases   map[string]TokenLease `json:"leases,omitempty"` // by process
}

// A TokenLease is the part of a ratio budget that a process may use without the store, until a
// given time.
type TokenLease struct {
	Capacity float64   `json:"capacity"` // the process has no more tokens than this
	Until    time.Time `json:"until"`
}

// PutBreaker appends the record of a breaker if its state has changed.
func PutBreaker(w *storage.Writes, r storage.Record, s *breaker.Snapshot, now time.Time) error {
	before := r.Body
	if r.Bucket.IsZero() {
		r.Bucket = Month(now)
	}
	if err := Encode(&r, s); err != nil || bytes.Equal(r.Body, before) {
		return err
	}
	w.Put = append(w.Put, r)
	return nil
}

// Rate is the body of the record of a rate that processes share.
type Rate struct {
	State time.Time `json:"state"` // see capacity.RatePolicy.Reserve
}

// Overrides is the body of the record with the overrides of a namespace.
type Overrides struct {
	List []override.Override `json:"list,omitempty"` // in the order in which they were added
}

// Schedule is the body of the record of a schedule.
type Schedule struct {
	Until time.Time   `json:"until"`           // start of the latest period that was decided on
	Start []time.Time `json:"start,omitempty"` // the latest periods in which a run was due to start
}

// NameBreaker returns the text with which messages refer to a breaker. The name may be empty.
func NameBreaker(name string) string {
	if name == "" {
		return "the breaker"
	}
	return "breaker " + name
}
