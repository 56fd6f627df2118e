package durable

import (
	"bytes"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// This file has the budgets and the breakers that engines share.

// budgetBody is the body of a count budget.
type budgetBody struct {
	Name     string `json:"name,omitempty"`    // of the policy of a count budget
	Retries  int    `json:"retries,omitempty"` // the limits stay those of the first engine
	PerUnit  int    `json:"per_unit,omitempty"`
	Consumed int    `json:"consumed,omitempty"`
	Refused  int    `json:"refused,omitempty"`
}

// ratioBody is the body of a ratio budget. Its capacity, the burst of the policy,
// is divided between the budget itself and the leases.
type ratioBody struct {
	Tokens   float64               `json:"tokens"` // that are not leased
	Refilled time.Time             `json:"refilled,omitzero"`
	Full     bool                  `json:"full,omitempty"`   // an operator has filled it
	Leases   map[string]tokenLease `json:"leases,omitempty"` // by the process
}

// A tokenLease is the part of a ratio budget that a process may use without the
// store until a time.
type tokenLease struct {
	Capacity float64   `json:"capacity"` // the process has no more tokens than this
	Until    time.Time `json:"until"`
}

// putBreaker appends the record of a breaker if its state has changed.
func putBreaker(w *Writes, r Record, s *retry.BreakerSnapshot, now time.Time) error {
	before := r.Body
	if r.Bucket.IsZero() {
		r.Bucket = month(now)
	}
	if err := write(&r, s); err != nil || bytes.Equal(r.Body, before) {
		return err
	}
	w.Put = append(w.Put, r)
	return nil
}
