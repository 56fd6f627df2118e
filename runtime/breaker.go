package retry

import "time"

// Defaults of the fields of [BreakerPolicy].
const (
	DefaultFailures      = 3
	DefaultOpenFor       = 30 * time.Second
	DefaultHalfOpenCalls = 1
	DefaultSuccesses     = 1
	DefaultEscalateAfter = 5
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
	// EscalateAfter is how many failures in a row, those of half-open attempts
	// included, make the breaker refuse every call until it is reset. Zero
	// means 5, or Failures+2 where Failures is set; [None] means never.
	EscalateAfter int
	// Count are the classes of errors that count as failures. Others neither
	// count nor interrupt a row. Empty means every error that is not permanent
	// (see [Policy.Classify]). The end of the caller's context never counts.
	Count []Class
}

// Effective returns p with every default written out.
func (p BreakerPolicy) Effective() BreakerPolicy {
	if p.EscalateAfter == 0 {
		p.EscalateAfter = DefaultEscalateAfter
		if p.Failures > 0 {
			p.EscalateAfter = p.Failures + 2
		}
	}
	p.Failures = orDefault(p.Failures, DefaultFailures)
	p.OpenFor = orDefault(p.OpenFor, DefaultOpenFor)
	p.HalfOpenCalls = orDefault(p.HalfOpenCalls, DefaultHalfOpenCalls)
	p.Successes = orDefault(p.Successes, DefaultSuccesses)
	return p
}

func orDefault[T int | float64 | time.Duration](value, otherwise T) T {
	if value == 0 {
		return otherwise
	}
	return value
}
