package breaker

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// Defaults of the fields of [Policy].
const (
	defaultFailures      = 3
	defaultMinCalls      = 20
	defaultWindow        = 10 * time.Second
	defaultOpenFor       = 30 * time.Second
	defaultHalfOpenCalls = 1
	defaultSuccesses     = 1
)

// MaxWindowCalls is the maximum value of WindowCalls in a [Policy].
const MaxWindowCalls = 10_000

// A Policy describes when a circuit breaker opens and closes. It is plain data. The zero
// value of every field but Name means the field's default.
//
// A breaker opens when one of three conditions is met: Failures in a row, a FailureRate,
// or a SlowRate. The rates are computed from the attempts within Window, or from the last
// WindowCalls attempts. Neutral attempts (see Count) are not counted.
type Policy struct {
	// Name of the breaker in errors and events.
	Name string

	// Failures is the number of consecutive failed attempts that opens the
	// breaker. Zero means 3, or no limit if FailureRate is set.
	Failures int
	// FailureRate is the share of failed attempts, up to 1, that opens the
	// breaker. Zero means no limit.
	FailureRate float64
	// SlowRate is the share of slow attempts, up to 1, that opens the breaker. Zero means
	// no limit. SlowRate requires SlowCall.
	SlowRate float64
	// An attempt that takes longer than SlowCall is slow, whether it succeeds or fails.
	// SlowCall requires SlowRate.
	SlowCall time.Duration
	// MinCalls is the minimum number of attempts in the window for a rate to open the
	// breaker. Zero means 20, or WindowCalls if that is less than 20.
	MinCalls int
	// Window is the period over which the rates are computed. It moves in steps of a
	// tenth of its length. Zero means 10s, unless WindowCalls is set.
	Window time.Duration
	// WindowCalls is the number of latest attempts from which the rates are computed,
	// however old the attempts are. It is at most 10,000. Zero means that the rates use
	// Window. Window and WindowCalls are mutually exclusive.
	WindowCalls int

	// OpenFor is how long an open breaker refuses all attempts. It becomes half-open once
	// this time has passed. Zero means 30s.
	OpenFor time.Duration
	// MaxOpenFor is the maximum to which the open time can grow. Each time a half-open
	// breaker opens again, the open time doubles, up to MaxOpenFor. Once the breaker has
	// closed, the open time is OpenFor again. Zero means that the open time does not
	// grow.
	MaxOpenFor time.Duration
	// HalfOpenCalls is the number of attempts that a half-open breaker admits at the same
	// time. An attempt that has not ended after OpenFor no longer counts toward this
	// number. Zero means 1.
	HalfOpenCalls int
	// Successes is the number of successful attempts that closes a half-open breaker. The
	// first failed or slow attempt opens it again. Zero means 1.
	Successes int
	// EscalateAfter is the number of consecutive failures, including half-open attempts,
	// after which the breaker refuses all attempts until [Breaker.Reset]. If the breaker
	// opens again from the half-open state, the count continues. Zero means no limit.
	EscalateAfter int

	// Count lists the names of the classes of errors that count as failures, such as
	// server_error. Other errors are neutral. They neither count as failures nor
	// interrupt a sequence of failures. The end of the caller's context is always
	// neutral. The breaker itself does not see errors; Policy.Sample in package retry
	// reads the list.
	//
	// If Count is empty, the breaker counts every error that the call's policy retries,
	// and errors of class transient even if the policy does not retry them. It does not
	// count errors of class canceled, or errors whose status indicates a problem with the
	// request or its sender, such as 409.
	Count []string
}

// Effective returns a copy of p with every default set.
func (p Policy) Effective() Policy {
	if p.FailureRate == 0 {
		p.Failures = cmp.Or(p.Failures, defaultFailures)
	}
	switch {
	case !p.hasRate():
	case p.WindowCalls > 0:
		p.MinCalls = cmp.Or(p.MinCalls, min(defaultMinCalls, p.WindowCalls))
	default:
		p.MinCalls = cmp.Or(p.MinCalls, defaultMinCalls)
		p.Window = cmp.Or(p.Window, defaultWindow)
	}
	p.OpenFor = cmp.Or(p.OpenFor, defaultOpenFor)
	p.HalfOpenCalls = cmp.Or(p.HalfOpenCalls, defaultHalfOpenCalls)
	p.Successes = cmp.Or(p.Successes, defaultSuccesses)
	return p
}

// openFor returns how long a breaker stays open that has opened again from half-open
// so many times in a row.
func (p *Policy) openFor(reopened int) time.Duration {
	d := p.OpenFor
	for range reopened {
		if d >= p.MaxOpenFor-d {
			return max(d, p.MaxOpenFor)
		}
		d *= 2
	}
	return d
}

// hasRate reports whether a rate can open the breaker.
func (p *Policy) hasRate() bool { return p.FailureRate != 0 || p.SlowRate != 0 }

// validate returns an error about the first field with an invalid value.
func (p *Policy) validate() error {
	wrong := func(field string, value any, want string) error {
		return fmt.Errorf("breaker %q: %s is %v: %s", p.Name, field, value, want)
	}
	for _, f := range []struct {
		field string
		value int64
		text  any
	}{
		{"Failures", int64(p.Failures), p.Failures},
		{"MinCalls", int64(p.MinCalls), p.MinCalls},
		{"WindowCalls", int64(p.WindowCalls), p.WindowCalls},
		{"HalfOpenCalls", int64(p.HalfOpenCalls), p.HalfOpenCalls},
		{"Successes", int64(p.Successes), p.Successes},
		{"EscalateAfter", int64(p.EscalateAfter), p.EscalateAfter},
		{"SlowCall", int64(p.SlowCall), p.SlowCall},
		{"Window", int64(p.Window), p.Window},
		{"OpenFor", int64(p.OpenFor), p.OpenFor},
		{"MaxOpenFor", int64(p.MaxOpenFor), p.MaxOpenFor},
	} {
		if f.value < 0 {
			return wrong(f.field, f.text, "it cannot be negative; zero means the default")
		}
	}
	for _, f := range []struct {
		field string
		value float64
	}{{"FailureRate", p.FailureRate}, {"SlowRate", p.SlowRate}} {
		if math.IsNaN(f.value) || f.value < 0 || f.value > 1 {
			return wrong(f.field, f.value, "it is a share from 0 to 1")
		}
	}
	switch {
	case p.SlowRate > 0 && p.SlowCall == 0:
		return wrong("SlowCall", p.SlowCall, "SlowRate needs it")
	case p.SlowCall > 0 && p.SlowRate == 0:
		return wrong("SlowRate", p.SlowRate, "SlowCall has no effect without it")
	case p.WindowCalls > 0 && p.Window > 0:
		return wrong("WindowCalls", p.WindowCalls, "the rates look back for Window, which is set, too")
	case p.WindowCalls > MaxWindowCalls:
		return wrong("WindowCalls", p.WindowCalls, fmt.Sprintf("it is at most %d", MaxWindowCalls))
	case p.WindowCalls > 0 && p.MinCalls > p.WindowCalls:
		return wrong("MinCalls", p.MinCalls, "WindowCalls is less, so that no rate would open the breaker")
	case p.MaxOpenFor > 0 && p.MaxOpenFor < cmp.Or(p.OpenFor, defaultOpenFor):
		return wrong("MaxOpenFor", p.MaxOpenFor, "it cannot be shorter than OpenFor")
	}
	return nil
}

// A State is the state of a breaker. The text form of a State is the result of
// [State.String].
type State uint8

// The states.
const (
	Closed     State = iota // admits all attempts
	Open                    // refuses all attempts until OpenFor has passed
	HalfOpen                // admits some attempts, whose results close the breaker or open it again
	Escalated               // refuses all attempts until Reset
	ForcedOpen              // ForceOpen was called: refuses all attempts until Reset
)

var stateNames = [...]string{"closed", "open", "half-open", "escalated", "forced-open"}

// String returns the name of the state: closed, open, half-open, escalated or
// forced-open.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// NeedsReset reports whether a breaker in this state refuses all attempts until
// [Breaker.Reset].
func (s State) NeedsReset() bool { return s == Escalated || s == ForcedOpen }

// MarshalText implements [encoding.TextMarshaler].
func (s State) MarshalText() ([]byte, error) {
	if int(s) >= len(stateNames) {
		return nil, fmt.Errorf("%v is not a state of a breaker", s)
	}
	return []byte(stateNames[s]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts the names
// that [State.String] returns.
func (s *State) UnmarshalText(text []byte) error {
	for i, name := range stateNames {
		if string(text) == name {
			*s = State(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a state of a breaker: want closed, open, half-open, escalated or forced-open", text)
}
