package retry

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"time"
)

// Values that turn a setting off, for fields whose zero value means the default.
const (
	// Unlimited is the MaxAttempts of a schedule without a limit on attempts.
	// retrygen and retrylint report it as an error unless DelayBudget, MaxElapsed
	// or Timeout is set.
	Unlimited int = math.MaxInt

	// None turns off a setting that is a duration: InitialDelay, MaxDelay, and Max
	// of [RetryAfter].
	None time.Duration = -1
)

// The defaults of a schedule. Other packages read them from
// [Schedule.Effective].
const (
	defaultMaxAttempts          = 3
	defaultInitialDelay         = time.Second
	defaultMaxDelay             = 30 * time.Second
	defaultBase                 = 2.0
	defaultProportionalFactor   = 0.3
	defaultAdditiveFactor       = 0.5
	defaultRetryAfterMax        = 300 * time.Second
	defaultRetryAfterUnreadable = 60 * time.Second
)

// A Backoff is a strategy for how delays grow from one retry to the next.
type Backoff uint8

// The strategies, with the delay before retry k (k = 1, 2, …). d0 is the
// initial delay. All arithmetic saturates; MaxDelay caps the result.
const (
	BackoffExponential Backoff = iota // d0·Base^(k−1); the default
	BackoffFixed                      // d0
	BackoffLinear                     // d0 + Increment·(k−1)
	BackoffFibonacci                  // d0·F(k), F = 1, 1, 2, 3, 5, 8, …
	BackoffCustom                     // Delays[k−1]; MaxDelay past the end of Delays
)

var backoffNames = [...]string{"exponential", "fixed", "linear", "fibonacci", "custom"}

// String returns the name of the strategy in a policy file.
func (b Backoff) String() string {
	if int(b) < len(backoffNames) {
		return backoffNames[b]
	}
	return "unknown backoff"
}

// A Jitter is a mode for randomizing delays, so that callers that failed together do not
// retry together. A delay is drawn uniformly from a band whose upper end is at most
// MaxDelay.
type Jitter uint8

// The jitter modes, with the band from which a delay d is drawn uniformly.
// f is JitterFactor. Full, equal and decorrelated jitter are defined in Marc
// Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
const (
	JitterNone         Jitter = iota // d itself; the default
	JitterProportional               // d·(1−f) to d·(1+f), f = 0.3 by default
	JitterFull                       // 0 to d
	JitterEqual                      // d/2 to d
	JitterDecorrelated               // the initial delay to 3 times the previous delay
	JitterAdditive                   // d to d·(1+f), f = 0.5 by default
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

// The built-in classes. [Policy.Retries] defines which errors belong to them.
const (
	ClassNetwork     Class = "network"
	ClassTimeout     Class = "timeout"
	ClassServerError Class = "server_error"
	ClassRateLimit   Class = "rate_limit"
	ClassCanceled    Class = "canceled"
	ClassBreakerOpen Class = "breaker_open" // a circuit breaker refused the call
	ClassLimited     Class = "limited"      // a limiter refused the call
	ClassRateLimited Class = "rate_limited" // this process's rate limit refused the call; for servers, see ClassRateLimit
	ClassThrottled   Class = "throttled"    // a throttle refused the call
	ClassTransient   Class = "transient"    // the union of the first four
	ClassUnknown     Class = "unknown"      // nothing is known about the error: see RetryUnknown of Policy
	ClassAny         Class = "any"          // every error
)

// MatchText defines what is searched for in the text of an error. The text is searched
// only if the types of the error do not classify it: see [Policy.Retries].
type MatchText uint8

// The values of MatchText.
const (
	MatchWords  MatchText = iota // an HTTP status, or one of a class's words; the default
	MatchStatus                  // an HTTP status
	MatchNone                    // nothing: the text is not searched
)

var matchTextNames = [...]string{"true", "status", "false"}

// String returns the value in a policy file.
func (m MatchText) String() string {
	if int(m) < len(matchTextNames) {
		return matchTextNames[m]
	}
	return "unknown match_text"
}

// An ErrorClass defines a class of a policy. An error belongs to the class if it passes
// any of the tests Is, As, HTTP and Pattern.
type ErrorClass struct {
	Class   Class
	Is      []error            // errors that errors.Is looks for
	As      []func(error) bool // functions that return true for errors of the class: see [As]
	HTTP    [][2]int           // ranges of statuses, including both ends
	Pattern *regexp.Regexp     // pattern for the first 16 KiB of the text; nil means no test
	Action  Action             // action for errors of the class, which overrides RetryOn and AbortOn
}

// As reports whether errors.As finds an E in the tree of err. As[E] is a test for the As
// field of [ErrorClass].
func As[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// An Action decides what happens after errors of a class. It takes precedence over
// RetryOn and AbortOn. If an error belongs to several classes, the first one in
// [Policy.Classes] decides.
type Action uint8

// The actions.
const (
	ActionDefault  Action = iota // RetryOn and AbortOn decide; the default
	ActionRetry                  // like the default, but statuses 400, 401, 403, 404 and 422 may be retried
	ActionFail                   // never retried
	ActionEscalate               // never retried; the error matches [ErrEscalated]
)

var actionNames = [...]string{"as policy", "retry", "fail", "escalate"}

// String returns the name of the action in a policy file.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "unknown action"
}

// RetryAfter limits the waits that errors ask for (see [After]). The wait before the next
// attempt is the requested wait or the schedule's delay, whichever is longer.
type RetryAfter struct {
	// Max caps the requested wait. Zero means 5 minutes; [None] ignores
	// requested waits.
	Max time.Duration
	// Default is the wait after errors of class [ClassRateLimit] that do not request a
	// wait. Zero means 60s if the requested wait could not be parsed (see [After]), and
	// no wait if the error requests none.
	Default time.Duration
	// FailOver stops retrying with [ErrRetryAfter] if the requested wait exceeds
	// Max. Otherwise the wait is Max.
	FailOver bool
}

// A Schedule defines how often and how fast a call is retried. It is plain data. The zero
// value of each field means the field's default.
type Schedule struct {
	// MaxAttempts is the maximum number of attempts, including the first. Attempts that
	// are refused count if the class of the refusal, such as [ClassBreakerOpen], is in
	// RetryOn. Zero means 3; [Unlimited] lifts the limit.
	MaxAttempts int

	// Backoff is the strategy. The zero value is [BackoffExponential].
	Backoff Backoff
	// InitialDelay is the delay before the first retry. Zero means 1s; [None]
	// retries immediately.
	InitialDelay time.Duration
	// Base is the factor of [BackoffExponential]. Zero means 2.
	Base float64
	// Increment is the step of [BackoffLinear].
	Increment time.Duration
	// Delays are the delays of [BackoffCustom].
	Delays []time.Duration
	// MaxDelay caps every delay, including jitter. Zero means 30s; [None] lifts the cap.
	MaxDelay time.Duration

	// Jitter is the mode. The zero value is [JitterNone].
	Jitter Jitter
	// JitterFactor is the width of [JitterProportional] (zero means 0.3) and of
	// [JitterAdditive] (zero means 0.5), as a fraction of the delay.
	JitterFactor float64

	// RetryAfter limits the waits that errors ask for.
	RetryAfter RetryAfter
	// Escalate makes the error of an exhausted call match [ErrEscalated].
	Escalate bool
}

// An Override is the schedule for errors of one class. It is complete. A zero field means
// the field's default, not the policy's value.
type Override struct {
	Class Class
	Schedule
}

// A Policy defines how often, how fast and for how long one call is retried. It is plain
// data. Generated code contains it as a literal, and retrylint reads that literal. The
// zero value of every field but Name means the field's default.
//
// A Policy must not be changed after its first use. It may be used by multiple
// goroutines simultaneously.
type Policy struct {
	// Name is the name of the policy in errors and events.
	Name string

	// Schedule applies to all errors without a schedule in PerError.
	Schedule

	// DelayBudget limits the sum of the waits of one call, including jitter. The time
	// spent inside attempts does not count. A wait that would exceed the budget is not
	// started. Zero means no limit.
	DelayBudget time.Duration
	// MaxElapsed limits the time since the first failure, or the first refusal by a
	// breaker. A wait that would end later is not started. Zero means no limit.
	MaxElapsed time.Duration
	// AttemptTimeout limits each attempt through its context. Zero means no
	// limit.
	AttemptTimeout time.Duration
	// Timeout limits the duration of the whole call, including all attempts and waits.
	// Zero means no limit.
	Timeout time.Duration
	// Scope names the level of the timeout hierarchy that the calls belong to.
	Scope string
	// HardLimit is the maximum for a timeout that the program sets with
	// [WithScopeTimeout]. Zero means no limit.
	HardLimit time.Duration
	// Capture saves the state of the interrupted work when a time limit ends an attempt
	// or the call, if the context has a recovery.Recorder.
	Capture bool

	// RetryOn restricts retries to these classes. Empty means every error that
	// is classified and not permanent (see [Policy.Retries]).
	RetryOn []Class
	// RetryUnknown also retries errors of [ClassUnknown]. By default, such errors end the
	// call with [ErrUnclassified], because about half of them would occur again.
	RetryUnknown bool
	// AbortOn lists classes that are never retried, even if RetryOn contains them.
	AbortOn []Class
	// Classes defines additional classes. The first class that matches an error and has
	// an [Action] decides what happens.
	Classes []ErrorClass
	// Facts returns what is known about an error, or false if the error does not come
	// from one of the clients that the call uses. Generated code sets it for the clients
	// section of a policy file, and for gRPC in packages that depend on gRPC. If Facts is
	// nil, client-specific errors are not read.
	Facts func(error) (f Facts, ok bool)
	// MatchText defines what is searched for in the text of an error if its types do not
	// classify it. The zero value is [MatchWords].
	MatchText MatchText
	// PerError contains the schedules for errors of some classes. The first entry whose
	// class contains the error applies. If the attempts of a call fail with errors of
	// different classes, the MaxAttempts for the latest error limits all attempts of the
	// call.
	PerError []Override
	// Nested allows retries of a call that is made inside a retry of another wrapped
	// call. By default, such a call is attempted once, because the outer call is already
	// retried.
	Nested bool
}

// Under returns a policy with the schedule of o and the time limits of p. It describes a
// call whose errors all belong to the class of o and to no class before it in PerError.
// Its defaults are set.
func (p *Policy) Under(o Override) Policy {
	before := slices.IndexFunc(p.PerError, func(other Override) bool { return other.Class == o.Class })
	return Policy{
		Name: string(o.Class), Schedule: o.Schedule.Effective(), RetryOn: []Class{o.Class},
		PerError:    p.PerError[:max(before, 0)],
		DelayBudget: p.DelayBudget, MaxElapsed: p.MaxElapsed, Timeout: p.Timeout,
	}
}

// maxAttempts, initialDelay, maxDelay, base and jitterFactor return a field or
// its default.

func (s *Schedule) maxAttempts() int {
	if s.MaxAttempts == 0 {
		return defaultMaxAttempts
	}
	return s.MaxAttempts
}

func (s *Schedule) initialDelay() time.Duration {
	switch {
	case s.InitialDelay == 0:
		return defaultInitialDelay
	case s.InitialDelay < 0:
		return 0
	}
	return s.InitialDelay
}

func (s *Schedule) maxDelay() time.Duration {
	switch {
	case s.MaxDelay == 0:
		return defaultMaxDelay
	case s.MaxDelay < 0:
		return forever
	}
	return s.MaxDelay
}

func (s *Schedule) base() float64 {
	if s.Base == 0 {
		return defaultBase
	}
	return s.Base
}

func (s *Schedule) jitterFactor() float64 {
	switch {
	case s.JitterFactor < 0:
		return 0
	case s.JitterFactor > 0:
		return s.JitterFactor
	case s.Jitter == JitterAdditive:
		return defaultAdditiveFactor
	}
	return defaultProportionalFactor
}

// Limit returns the longest wait that errors may ask for: Max or its default, or 0 if
// such waits are ignored.
func (r RetryAfter) Limit() time.Duration {
	if r.Max == 0 {
		return defaultRetryAfterMax
	}
	return max(r.Max, 0)
}

// Effective returns a copy of s with its defaults set. Fields that the strategy and the
// jitter mode do not use remain unchanged.
func (s Schedule) Effective() Schedule {
	s.MaxAttempts = s.maxAttempts()
	if s.InitialDelay == 0 {
		s.InitialDelay = defaultInitialDelay
	}
	if s.MaxDelay == 0 {
		s.MaxDelay = defaultMaxDelay
	}
	if s.Backoff == BackoffExponential {
		s.Base = s.base()
	}
	if s.Jitter == JitterProportional || s.Jitter == JitterAdditive {
		s.JitterFactor = s.jitterFactor()
	}
	return s
}
