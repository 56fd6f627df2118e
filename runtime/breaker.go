package retry

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of the fields of [BreakerPolicy].
const (
	defaultFailures      = 3
	defaultOpenFor       = 30 * time.Second
	defaultHalfOpenCalls = 1
	defaultSuccesses     = 1
)

// A BreakerPolicy says when a circuit breaker opens and closes. It is plain
// data. The zero value of every field but Name means its default.
type BreakerPolicy struct {
	// Name of the breaker in errors and events.
	Name string
	// Failures is how many attempts in a row must fail to open the breaker.
	// Zero means 3.
	Failures int
	// OpenFor is how long an open breaker refuses every call. Strictly more
	// has to pass. Zero means 30s.
	OpenFor time.Duration
	// HalfOpenCalls is how many attempts a half-open breaker admits at a time.
	// Zero means 1.
	HalfOpenCalls int
	// Successes is how many of them must succeed in a row to close it. The
	// first failure opens it again. Zero means 1.
	Successes int
	// EscalateAfter is the number of consecutive failures, those of half-open
	// attempts included, after which the breaker refuses every call until
	// [Breaker.Reset]. Zero means never.
	EscalateAfter int
	// Count are the classes of errors that count as failures. Others neither
	// count nor interrupt a row. Empty means every error that the policy
	// retries, and [Transient] ones that it does not. The end of the caller's
	// context never counts.
	Count []Class
}

// Effective returns p with every default written out.
func (p BreakerPolicy) Effective() BreakerPolicy {
	p.Failures = orDefault(p.Failures, defaultFailures)
	p.OpenFor = orDefault(p.OpenFor, defaultOpenFor)
	p.HalfOpenCalls = orDefault(p.HalfOpenCalls, defaultHalfOpenCalls)
	p.Successes = orDefault(p.Successes, defaultSuccesses)
	return p
}

func orDefault[T int | float64 | time.Duration](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}

// A BreakerState says whether a breaker lets calls through.
type BreakerState uint8

// The states.
const (
	StateClosed    BreakerState = iota // calls pass
	StateOpen                          // calls are refused until OpenFor has passed
	StateHalfOpen                      // some calls pass, to find out
	StateEscalated                     // calls are refused until Reset
)

var breakerStates = [...]string{"closed", "open", "half-open", "escalated"}

// String returns the name of the state.
func (s BreakerState) String() string {
	if int(s) < len(breakerStates) {
		return breakerStates[s]
	}
	return "unknown"
}

// A Breaker is a circuit breaker. Any number of calls and goroutines share one.
// It takes one sample from each attempt. While it is closed and nothing fails,
// it costs an atomic load before an attempt and one after.
type Breaker struct {
	// word tells the fast path what the rest says: the generation, and below
	// it whether anything but silence reigns. It changes under mu.
	word atomic.Uint64

	policy BreakerPolicy
	mu     sync.Mutex
	state  BreakerState
	// failures in a row, those of half-open attempts included.
	failures  int
	successes int // in a row, while half-open
	openUntil time.Time
	// generation counts changes of the state: what was admitted under another
	// one says nothing about this one.
	generation uint64
	probes     []probe
	lastProbe  uint64
}

// A probe is a half-open attempt that is under way.
type probe struct {
	id      uint64
	started time.Time
}

// The bits of Breaker.word below the generation.
const (
	failing       = 1 << iota // something failed since the last success
	notClosed                 // calls need leave
	given                     // always: no word is the zero Pass
	generationBit = iota
)

// NewBreaker returns a closed breaker.
func NewBreaker(p BreakerPolicy) *Breaker {
	b := &Breaker{policy: p.Effective()}
	b.publish()
	return b
}

// A Pass is the leave of one attempt: Breaker.word as the attempt found it. The
// zero Pass is none.
type Pass uint64

// A permit is any leave.
type permit struct {
	pass  Pass
	probe uint64 // of a half-open attempt, or 0
}

// given reports whether there is leave at all: [Breaker.Ready] returns a Pass
// that is none where the breaker is not closed.
func (p permit) given() bool { return p.pass&given != 0 && (p.probe != 0 || p.pass&notClosed == 0) }

// Ready returns leave for an attempt if the breaker is closed. Where it is not,
// [Call.Next] decides.
func (b *Breaker) Ready() (Pass, bool) {
	p := Pass(b.word.Load())
	return p, p&notClosed == 0
}

// Calm reports whether the breaker is closed and nothing has failed since the
// last success: another success is no news then.
func (b *Breaker) Calm() bool { return b.word.Load()&(failing|notClosed) == 0 }

// Succeed tells the breaker that an attempt has succeeded.
func (b *Breaker) Succeed(p Pass) {
	if !b.Calm() {
		b.record(permit{pass: p}, succeeded)
	}
}

// sample is what an attempt tells of the service.
type sample uint8

const (
	succeeded sample = iota
	failed
	neutral // nothing
)

// State returns the state that the breaker is in now.
func (b *Breaker) State() BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stateAt(time.Now())
}

// stateAt opens the door by half where its time has come. An open breaker
// changes when somebody looks, so that it needs no timer.
func (b *Breaker) stateAt(now time.Time) BreakerState {
	if b.state == StateOpen && now.After(b.openUntil) {
		b.set(StateHalfOpen)
	}
	return b.state
}

// set changes the state: a new generation.
func (b *Breaker) set(s BreakerState) {
	b.state, b.successes, b.probes = s, 0, nil
	b.generation++
	b.publish()
}

func (b *Breaker) publish() {
	word := b.generation<<generationBit | given
	if b.failures > 0 {
		word |= failing
	}
	if b.state != StateClosed {
		word |= notClosed
	}
	b.word.Store(word)
}

// admit gives leave for an attempt, if it may have it.
func (b *Breaker) admit(now time.Time) (permit, bool) {
	if pass, ok := b.Ready(); ok {
		return permit{pass: pass}, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.stateAt(now) {
	case StateClosed:
		return permit{pass: Pass(b.word.Load())}, true
	case StateHalfOpen:
		// A probe that is not heard of for as long as the breaker stays open
		// must not wedge it.
		b.probes = slices.DeleteFunc(b.probes, func(p probe) bool { return now.Sub(p.started) > b.policy.OpenFor })
		if len(b.probes) < b.policy.HalfOpenCalls {
			b.lastProbe++
			b.probes = append(b.probes, probe{b.lastProbe, now})
			return permit{Pass(b.word.Load()), b.lastProbe}, true
		}
	}
	return permit{}, false
}

// never is a time at which an escalated breaker still admits nothing.
var never = time.Unix(1<<60, 0)

// admitsAt returns the time after which the breaker may admit an attempt, as
// far as is known now. Zero means that it may admit one now.
func (b *Breaker) admitsAt() time.Time {
	if _, ok := b.Ready(); ok {
		return time.Time{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.state {
	case StateOpen:
		return b.openUntil
	case StateEscalated:
		return never
	}
	return time.Time{}
}

// record takes the sample of an attempt. One of an earlier generation, or of a
// probe that has lapsed, is dropped.
func (b *Breaker) record(p permit, s sample) BreakerState {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !p.given() || uint64(p.pass)>>generationBit != b.generation {
		return b.state
	}
	if b.state == StateHalfOpen {
		i := slices.IndexFunc(b.probes, func(have probe) bool { return have.id == p.probe })
		if i < 0 {
			return b.state
		}
		b.probes = slices.Delete(b.probes, i, i+1)
	}
	switch s {
	case succeeded:
		b.succeeded()
	case failed:
		b.failed(now)
	}
	return b.state
}

func (b *Breaker) succeeded() {
	if b.state == StateHalfOpen {
		if b.successes++; b.successes < b.policy.Successes {
			return
		}
		b.failures = 0
		b.set(StateClosed)
		return
	}
	b.failures = 0
	b.publish()
}

func (b *Breaker) failed(now time.Time) {
	b.failures++
	switch {
	case b.policy.EscalateAfter > 0 && b.failures >= b.policy.EscalateAfter:
		b.set(StateEscalated)
	case b.state == StateHalfOpen || b.failures >= b.policy.Failures:
		b.openUntil = now.Add(b.policy.OpenFor)
		b.set(StateOpen)
	default:
		b.publish()
	}
}

// Reset closes the breaker, whatever its state. It is the only way out of
// [Escalated].
func (b *Breaker) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
	b.set(StateClosed)
}

// A BreakerSnapshot is the state of a breaker to be kept, as JSON for example.
type BreakerSnapshot struct {
	State     BreakerState `json:"state"`
	Failures  int          `json:"failures"`
	OpenUntil time.Time    `json:"open_until,omitzero"`
}

// Save returns the state of the breaker. Half-open attempts under way are not
// part of it.
func (b *Breaker) Save() BreakerSnapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := BreakerSnapshot{State: b.state, Failures: b.failures}
	if b.state == StateOpen {
		s.OpenUntil = b.openUntil
	}
	return s
}

// Restore puts the breaker into a state that was saved. An open breaker whose
// time has come is half-open; one that would stay open for longer than OpenFor
// has been saved by another clock, and stays open for OpenFor.
func (b *Breaker) Restore(s BreakerSnapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.failures = max(s.Failures, 0)
	b.openUntil = s.OpenUntil
	if latest := now.Add(b.policy.OpenFor); b.openUntil.After(latest) {
		b.openUntil = latest
	}
	if s.State > StateEscalated {
		s.State = StateClosed // not one of ours
	}
	b.set(s.State)
	b.stateAt(now)
}
