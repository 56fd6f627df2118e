package record

import (
	"bytes"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable/storage"
	"github.com/retrygen/retrygen/runtime/override"
)

// CountBudget is the body of a count budget.
type CountBudget struct {
	Name     string `json:"name,omitempty"`    // of the policy of a count budget
	Retries  int    `json:"retries,omitempty"` // the limits stay as the first engine has set them
	PerUnit  int    `json:"per_unit,omitempty"`
	Consumed int    `json:"consumed,omitempty"`
	Refused  int    `json:"refused,omitempty"`
}

// RatioBudget is the body of a ratio budget. Its capacity, the burst of the policy,
// is divided between the budget itself and the leases.
type RatioBudget struct {
	Tokens   float64               `json:"tokens"` // that are not leased
	Refilled time.Time             `json:"refilled,omitzero"`
	Full     bool                  `json:"full,omitempty"`   // an operator has filled it
	Leases   map[string]TokenLease `json:"leases,omitempty"` // by the process
}

// A TokenLease is the part of a ratio budget that a process may use without the
// store until a time.
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

// Rate is the body of a rate that processes share.
type Rate struct {
	State time.Time `json:"state"` // see capacity.RatePolicy.Reserve
}

// Overrides is the body of the record with the overrides of a namespace.
type Overrides struct {
	List []override.Override `json:"list,omitempty"` // in the order in which they were put
}

// Schedule is the body of a schedule.
type Schedule struct {
	Until time.Time   `json:"until"`           // the begin of the latest period that was decided about
	Start []time.Time `json:"start,omitempty"` // the latest periods that were to start
}

// NameBreaker returns the text by which messages refer to a breaker. The name may be
// empty.
func NameBreaker(name string) string {
	if name == "" {
		return "the breaker"
	}
	return "breaker " + name
}
