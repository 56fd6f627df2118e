package retry

import (
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/capacity"
)

// A Refusal is the error for an attempt that a breaker refused. It matches
// [ErrBreakerOpen], and [ErrEscalated] if the breaker is escalated. errors.As finds it in
// the [*Error] of a call that the breaker has ended:
//
//	if refusal, ok := errors.AsType[retry.Refusal](err); ok {
//		w.Header().Set("Retry-After", strconv.Itoa(int(refusal.AdmitsIn.Seconds())+1))
//	}
type Refusal struct {
	Breaker string        // name of the breaker
	State   breaker.State // state of the breaker when it refused the attempt
	// AdmitsAt is the time after which an open breaker may admit an attempt. In the other
	// states, it is zero, because the breaker may admit an attempt at any time or admits
	// none before Reset.
	AdmitsAt time.Time
	AdmitsIn time.Duration // time from the refusal to AdmitsAt, or 0
}

// RefusalBy returns a value for [Inputs.Refusal]: the refusal of a call by the named
// breaker when its state is s. AdmitsIn is not set.
func RefusalBy(name string, s breaker.Snapshot) Refusal {
	return Refusal{Breaker: name, State: s.State, AdmitsAt: s.OpenUntil}
}

// refusalOf describes when a breaker admits an attempt, as far as is known now.
func refusalOf(b *breaker.Breaker) Refusal {
	name := b.Policy().Name
	if _, ok := b.Ready(); ok {
		return Refusal{Breaker: name}
	}
	state, until := b.Outlook()
	return Refusal{Breaker: name, State: state, AdmitsAt: until}
}

// Error returns the name of the breaker, its state, and when it admits calls again.
func (r Refusal) Error() string {
	name := "breaker"
	if r.Breaker != "" {
		name += " " + r.Breaker
	}
	switch r.State {
	case breaker.Open:
		return fmt.Sprintf("%s is open and admits calls again in %v", name, coarse(r.AdmitsIn))
	case breaker.HalfOpen:
		return name + " is half-open and waits for the results of other calls"
	case breaker.Escalated:
		return name + " is escalated and admits no call until Reset"
	case breaker.ForcedOpen:
		return name + " was forced open and admits no call until Reset"
	}
	return name + " has refused the call" // and has closed since
}

// coarse returns d to about three digits.
func coarse(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second / 10)
}

// Is reports whether target is [ErrEscalated] and the breaker is escalated.
func (r Refusal) Is(target error) bool { return target == ErrEscalated && r.State == breaker.Escalated }

// Unwrap returns [ErrBreakerOpen].
func (r Refusal) Unwrap() error { return ErrBreakerOpen }

// admits reports whether the breaker may admit an attempt at a time.
func (r *Refusal) admits(at time.Time) bool {
	if r.State == breaker.Open {
		return at.After(r.AdmitsAt)
	}
	return !r.State.NeedsReset()
}

// reasonFor returns the reason of a refusal at a gate.
func reasonFor(r capacity.Refusal) Reason {
	switch r.By {
	case capacity.ByThrottle:
		return ErrThrottled
	case capacity.ByRate:
		return ErrRateLimited
	}
	return ErrLimited
}
