package bench

import "context"

// Call is one protected call, ready to be timed.
type Call func(ctx context.Context, in int) (int, error)

// Subject is one library under measurement. A nil scenario means the library
// has no such feature; the harness skips it.
//
// Each constructor runs once, outside the timer: what a library can prepare
// once and share, it prepares there; what its documentation says must be made
// per call, the returned Call makes per call.
type Subject struct {
	Name string

	// Retry succeeds on the first attempt under a three-attempt exponential
	// policy.
	Retry func() Call
	// Permanent returns a non-retryable error on the first attempt.
	Permanent func() Call
	// FailOnce fails once, then succeeds, with the shortest delay the library
	// accepts.
	FailOnce func() Call
	// Timeout protects f with a per-attempt timeout and no retry.
	Timeout func(f Call) Call
	// Breaker succeeds through a closed circuit breaker, with no retry.
	Breaker func() Call
	// Budget succeeds on the first attempt with a retry budget attached.
	Budget func() Call
	// Full is retry, budget, breaker and per-attempt timeout together.
	Full func() Call
}

// Scenario names one column of the table.
type Scenario struct {
	Name string
	Of   func(Subject) func() Call
}

// Scenarios lists the measurements in report order.
var Scenarios = []Scenario{
	{"Retry", func(s Subject) func() Call { return s.Retry }},
	{"FailOnce", func(s Subject) func() Call { return s.FailOnce }},
	{"Permanent", func(s Subject) func() Call { return s.Permanent }},
	{"Timeout", func(s Subject) func() Call { return s.timeout(fetchErr) }},
	{"TimeoutDone", func(s Subject) func() Call { return s.timeout(fetchDone) }},
	{"Breaker", func(s Subject) func() Call { return s.Breaker }},
	{"Budget", func(s Subject) func() Call { return s.Budget }},
	{"Full", func(s Subject) func() Call { return s.Full }},
}

// subjects lists the libraries in report order.
func subjects() (list []Subject) {
	for _, of := range []func(register func(Subject)){
		directSubjects, generatedSubjects, avastSubjects, backoffSubjects, codegrooveSubjects,
		eapacheSubjects, failsafeSubjects, gobreakerSubjects, sethvargoSubjects,
	} {
		of(func(s Subject) { list = append(list, s) })
	}
	return list
}

// timeout closes the Timeout scenario over its callee.
func (s Subject) timeout(f Call) func() Call {
	if s.Timeout == nil {
		return nil
	}
	return func() Call { return s.Timeout(f) }
}
