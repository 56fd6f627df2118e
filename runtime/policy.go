package retry

import (
	"errors"
	"regexp"
	"time"
)

// GeneratedV1 is referred to by every generated file, so that a file made for
// another version of the runtime does not compile against this one.
const GeneratedV1 = true

// Explicit words for fields whose zero value means "the default".
const (
	// Unlimited as MaxAttempts lifts the limit on attempts. It is an error for
	// retrygen and retrylint unless DelayBudget, MaxElapsed or Timeout is set.
	Unlimited = -1

	// None switches a field off: no initial delay, no cap on delays, no jitter
	// factor.
	None = -1
)

// Defaults of the fields of [Policy] that have one.
const (
	DefaultMaxAttempts          = 3
	DefaultInitialDelay         = time.Second
	DefaultMaxDelay             = 30 * time.Second
	DefaultBase                 = 2.0
	DefaultProportionalFactor   = 0.3
	DefaultAdditiveFactor       = 0.5
	DefaultRetryAfterMax        = 300 * time.Second
	DefaultRetryAfterUnreadable = 60 * time.Second
)

// A Strategy says how delays grow from one retry to the next.
type Strategy uint8

// The strategies, with the delay before retry k (k = 1, 2, …), d0 being the
// initial delay. All arithmetic saturates; MaxDelay caps the result.
const (
	Exponential Strategy = iota // d0·Base^(k−1); the default
	Fixed                       // d0
	Linear                      // d0 + Increment·(k−1)
	Fibonacci                   // d0·F(k), F = 1, 1, 2, 3, 5, 8, …
	Custom                      // Delays[k−1]; MaxDelay past its end
)

var strategyNames = [...]string{"exponential", "fixed", "linear", "fibonacci", "custom"}

// String returns the name of the strategy in a policy file.
func (s Strategy) String() string {
	if int(s) < len(strategyNames) {
		return strategyNames[s]
	}
	return "unknown strategy"
}

// A Jitter spreads delays, so that callers that failed together do not retry
// together. The band is cut at MaxDelay; samples are never clamped onto it.
type Jitter uint8

// The jitter modes, with the band that a delay d is drawn from, uniformly.
// f is JitterFactor. Full, Equal and Decorrelated are the names of Marc
// Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
const (
	NoJitter     Jitter = iota // d itself; the default
	Proportional               // d·(1−f) to d·(1+f), f = 0.3 by default
	Full                       // 0 to d
	Equal                      // d/2 to d
	Decorrelated               // the initial delay to 3 times the previous delay
	Additive                   // d to d·(1+f), f = 0.5 by default
)

var jitterNames = [...]string{"none", "proportional", "full", "equal", "decorrelated", "additive"}

// String returns the name of the mode in a policy file.
func (j Jitter) String() string {
	if int(j) < len(jitterNames) {
		return jitterNames[j]
	}
	return "unknown jitter"
}

// A Class names a set of errors: one of the built-in classes or a class
// defined in the Classes of a policy.
type Class string

// The built-in classes. How an error comes to belong to one is described at
// [Policy.Classify].
const (
	Network     Class = "network"
	Timeout     Class = "timeout"
	ServerError Class = "server_error"
	RateLimit   Class = "rate_limit"
	Canceled    Class = "canceled"
	BreakerOpen Class = "breaker_open" // a circuit breaker refused the call
	Transient   Class = "transient"    // any of the first four
	Any         Class = "any"
)

// An ErrorClass defines a class of a policy. An error belongs to it if any of
// its tests holds.
type ErrorClass struct {
	Class   Class
	Is      []error            // errors.Is finds one of these
	As      []func(error) bool // one of these is true: see [As]
	HTTP    [][2]int           // StatusCode() is in one of these ranges, ends included
	Pattern *regexp.Regexp     // matches the text of the error
	Action  Action             // what becomes of such an error
}

// As reports whether errors.As finds an E in the tree of err: a test for
// [ErrorClass].
func As[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// An Action says what becomes of the errors of a class, whatever the policy.
// An error's action is that of the first class in the order of
// [Policy.Classes] that it belongs to.
type Action uint8

// The actions.
const (
	AsPolicy Action = iota // RetryOn and AbortOn decide; the default
	Retry                  // as AsPolicy, also where the status would forbid it: 400, 401, 403, 404, 422
	Fail                   // never retried
	Escalate               // never retried; the caller gets [ErrEscalated]
)

var actionNames = [...]string{"as policy", "retry", "fail", "escalate"}

// String returns the name of the action in a policy file.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "unknown action"
}

// RetryAfter says what becomes of the waits that errors ask for (see [After]).
// The wait before the next attempt is the longer of what is asked for and the
// policy's own delay.
type RetryAfter struct {
	// Max caps what is asked for. Zero means 5 minutes; [None] means that the
	// policy's own delay is all that counts.
	Max time.Duration
	// Default is the wait where an error of class [RateLimit] does not say how
	// long. Zero means 60s where it said something unreadable (see
	// [ParseRetryAfter]), and nothing where it said nothing.
	Default time.Duration
	// FailOver stops at once with [ErrRetryAfter] when more than Max is asked
	// for. Otherwise the wait is Max.
	FailOver bool
}

// An Override is how errors of one class are retried. It states its whole
// schedule: a zero field means its default, as in a [Policy], not the policy's
// own value. The fields are those of a Policy.
type Override struct {
	Class        Class
	MaxAttempts  int
	Backoff      Strategy
	InitialDelay time.Duration
	Base         float64
	Increment    time.Duration
	Delays       []time.Duration
	MaxDelay     time.Duration
	Jitter       Jitter
	JitterFactor float64
	RetryAfter   RetryAfter
	Escalate     bool
}

// Schedule returns the override as a policy of its class alone.
func (o *Override) Schedule() Policy {
	return Policy{
		Name: string(o.Class), MaxAttempts: o.MaxAttempts, Backoff: o.Backoff, InitialDelay: o.InitialDelay, Base: o.Base,
		Increment: o.Increment, Delays: o.Delays, MaxDelay: o.MaxDelay, Jitter: o.Jitter, JitterFactor: o.JitterFactor,
		RetryAfter: o.RetryAfter, Escalate: o.Escalate,
	}
}

// A Policy says how often, how fast and for how long one call is tried. It is
// plain data: generated code holds it as a literal, retrylint reads that
// literal. The zero value of every field but Name means its default.
//
// A Policy must not be changed once it is in use; it may then be used by any
// number of goroutines.
type Policy struct {
	// Name of the policy in errors and events.
	Name string

	// MaxAttempts is the greatest number of attempts, the first included, and
	// those that an open breaker refuses where BreakerOpen is in RetryOn. Zero
	// means 3; [Unlimited] lifts the limit.
	MaxAttempts int

	// Backoff is the strategy. The zero value is [Exponential].
	Backoff Strategy
	// InitialDelay is the delay before the first retry. Zero means 1s;
	// [None] retries at once.
	InitialDelay time.Duration
	// Base is the factor of [Exponential]. Zero means 2.
	Base float64
	// Increment is the step of [Linear].
	Increment time.Duration
	// Delays are the delays of [Custom].
	Delays []time.Duration
	// MaxDelay caps every delay, jitter included. Zero means 30s; [None]
	// lifts the cap.
	MaxDelay time.Duration

	// Jitter is the mode. The zero value is [NoJitter].
	Jitter Jitter
	// JitterFactor is the width of [Proportional] (zero means 0.3) and
	// [Additive] (zero means 0.5); [None] means no width at all.
	JitterFactor float64

	// DelayBudget limits the sum of waits of one call, jitter included, time
	// inside attempts not. A wait that would pass it is not slept. Zero means
	// no limit.
	DelayBudget time.Duration
	// MaxElapsed limits the time since the first failure: no wait may end
	// after it. Zero means no limit.
	MaxElapsed time.Duration
	// AttemptTimeout limits each attempt through its context. Zero means no
	// limit.
	AttemptTimeout time.Duration
	// Timeout limits the call: all attempts and waits together. Zero means no
	// limit.
	Timeout time.Duration
	// Scope names the level of the timeout hierarchy that the calls belong to.
	Scope string
	// HardLimit is the most that a Timeout given at run time may be: see
	// [WithTimeout]. Zero means no limit.
	HardLimit time.Duration

	// RetryOn narrows what is retried to these classes. Empty means every
	// error that is not permanent (see [Policy.Classify]).
	RetryOn []Class
	// AbortOn are classes that are never retried, whatever RetryOn says.
	AbortOn []Class
	// Classes define the classes that are not built in, in the order in which
	// they are asked for an [Action].
	Classes []ErrorClass
	// GRPC returns the gRPC status code of an error, if it has one. Generated
	// code sets it where a policy file names gRPC codes. Nil means that there
	// are none.
	GRPC func(error) (code uint32, ok bool)
	// PerError are other schedules for errors of some classes; the first whose
	// class the error belongs to counts. When attempts of one call fail in
	// different classes, the latest one's MaxAttempts is held against all of
	// them.
	PerError []Override
	// RetryAfter says what becomes of the waits that errors ask for.
	RetryAfter RetryAfter
	// Nested retries also where the call is made inside of a retry of another
	// wrapped call. Otherwise such a call is tried once: the outer one tries
	// again already.
	Nested bool
	// Escalate makes the error of an exhausted call an [ErrEscalated], too.
	Escalate bool
}

// attempts, initialDelay, maxDelay, base and jitterFactor read a field and its
// default: the one table of defaults that runtime, rules and explain share.

func (p *Policy) attempts() int {
	if p.MaxAttempts == 0 {
		return DefaultMaxAttempts
	}
	return p.MaxAttempts
}

func (p *Policy) initialDelay() time.Duration {
	switch {
	case p.InitialDelay == 0:
		return DefaultInitialDelay
	case p.InitialDelay < 0:
		return 0
	}
	return p.InitialDelay
}

func (p *Policy) maxDelay() time.Duration {
	switch {
	case p.MaxDelay == 0:
		return DefaultMaxDelay
	case p.MaxDelay < 0:
		return forever
	}
	return p.MaxDelay
}

func (p *Policy) base() float64 {
	if p.Base == 0 {
		return DefaultBase
	}
	return p.Base
}

func (p *Policy) jitterFactor() float64 {
	switch {
	case p.JitterFactor < 0:
		return 0
	case p.JitterFactor > 0:
		return p.JitterFactor
	case p.Jitter == Additive:
		return DefaultAdditiveFactor
	}
	return DefaultProportionalFactor
}

// max is what a wait that is asked for is capped at; none at all is 0.
func (r *RetryAfter) max() time.Duration {
	if r.Max == 0 {
		return DefaultRetryAfterMax
	}
	return max(r.Max, 0)
}

// Effective returns p with every default of a schedule written out: no zero
// field of it is left that means anything but "off", and None and Unlimited
// stand where they are meant.
func (p Policy) Effective() Policy {
	p.MaxAttempts = p.attempts()
	if p.InitialDelay == 0 {
		p.InitialDelay = DefaultInitialDelay
	}
	if p.MaxDelay == 0 {
		p.MaxDelay = DefaultMaxDelay
	}
	if p.Backoff == Exponential {
		p.Base = p.base()
	}
	if (p.Jitter == Proportional || p.Jitter == Additive) && p.JitterFactor == 0 {
		p.JitterFactor = p.jitterFactor()
	}
	return p
}
