package capacity

import (
	"fmt"
	"time"
)

// A Kind is the kind of limit that refused an attempt.
type Kind uint8

// The kinds of limits.
const (
	ByThrottle Kind = iota + 1
	ByRate
	ByLimiter
)

// A Refusal is the error returned for an attempt that a limit refused.
type Refusal struct {
	By   Kind
	Name string // name of the throttle, rate or limiter
	// AdmitsIn is the time until a rate would admit the attempt, if no other attempt
	// takes its place. It is zero if the time is unknown.
	AdmitsIn time.Duration
	// Cause is the store's error if several processes share the rate and the store has
	// failed. Otherwise it is nil.
	Cause error
}

// Error describes the limit that refused the attempt. For a rate, the message includes
// the time until the next attempt is admitted.
func (r Refusal) Error() string {
	name := ""
	if r.Name != "" {
		name = " " + r.Name
	}
	switch r.By {
	case ByThrottle:
		return "throttle" + name + " has refused the attempt: the service fails too often"
	case ByRate:
		if r.Cause != nil {
			return "rate limit" + name + " admits no attempt: " + r.Cause.Error()
		}
		return fmt.Sprintf("rate limit%s is reached and admits an attempt in %v", name, coarse(r.AdmitsIn))
	case ByLimiter:
		return "concurrency limit" + name + " is reached: no permit is free"
	}
	return "the attempt was refused"
}

// Unwrap returns the cause.
func (r Refusal) Unwrap() error { return r.Cause }

// coarse rounds a duration for a reader, up, to no more than three digits or so.
func coarse(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return (d + unit - 1) / unit * unit
}

// A Sample is the result of one attempt, insofar as it shows how loaded the service is.
type Sample uint8

// The samples.
const (
	Neutral  Sample = iota // shows nothing: canceled, or an error unrelated to load
	Success                // the service has responded
	Overload               // the service is overloaded, as shown by a timeout or a refusal
)
