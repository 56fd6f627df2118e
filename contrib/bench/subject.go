package bench

import (
	"context"
	"time"
)

// Call is one protected call, ready to be timed.
type Call func(ctx context.Context, in int) (int, error)

// A Subject is one library. A field is nil if the library does not have the feature.
//
// The functions of a Subject are called before the timer starts. They prepare whatever
// calls may share. If the library's documentation says that something must not be shared,
// the Call that the function returns creates it for each call.
type Subject struct {
	Name string

	// Retry makes up to three attempts with exponential delays. The first attempt
	// succeeds.
	Retry func() Call
	// Guarded is Retry with a closed breaker and a retry budget, both of which calls
	// share.
	Guarded func() Call
	// FailOnce fails once and then succeeds, with the shortest delay that the library
	// allows.
	FailOnce func() Call
	// Permanent fails with an error that is not retried.
	Permanent func() Call
	// Timeout limits each attempt of f to attemptTimeout or longTimeout, without retries.
	Timeout func(f Call, limit time.Duration) Call
	// Breaker is a successful call through a closed breaker.
	Breaker func() Call
	// FailureRate is a successful call through a closed breaker that opens when at least
	// 20 attempts were made in 10s and half of them have failed.
	FailureRate func() Call
	// Budget is Retry with a retry budget.
	Budget func() Call
	// Full is Guarded with a limit on each attempt.
	Full func() Call
}

// A Scenario is one column of the table.
type Scenario struct {
	Name string
	Of   func(Subject) func() Call // returns the function to measure, or nil
}

// Scenarios are the columns.
var Scenarios = []Scenario{
	{"Retry", func(s Subject) func() Call { return s.Retry }},
	{"Guarded", func(s Subject) func() Call { return s.Guarded }},
	{"FailOnce", func(s Subject) func() Call { return s.FailOnce }},
	{"Permanent", func(s Subject) func() Call { return s.Permanent }},
	{"Timeout", func(s Subject) func() Call { return s.limited(fetchErr, attemptTimeout) }},
	{"TimeoutDone", func(s Subject) func() Call { return s.limited(fetchDone, attemptTimeout) }},
	{"Deadline", func(s Subject) func() Call { return s.limited(fetchErr, longTimeout) }},
	{"Breaker", func(s Subject) func() Call { return s.Breaker }},
	{"FailureRate", func(s Subject) func() Call { return s.FailureRate }},
	{"Budget", func(s Subject) func() Call { return s.Budget }},
	{"Full", func(s Subject) func() Call { return s.Full }},
}

func (s Subject) limited(f Call, limit time.Duration) func() Call {
	if s.Timeout == nil {
		return nil
	}
	return func() Call { return s.Timeout(f, limit) }
}

// under returns the context that a scenario is called with. In Deadline the
// caller's own deadline comes before the limit on an attempt.
func (sc Scenario) under(ctx context.Context) (context.Context, context.CancelFunc) {
	if sc.Name == "Deadline" {
		return context.WithTimeout(ctx, longTimeout/2)
	}
	return ctx, func() {}
}

// subjects lists the libraries.
func subjects() (list []Subject) {
	for _, of := range []func(register func(Subject)){
		directSubjects, generatedSubjects, avastSubjects, backoffSubjects, codegrooveSubjects,
		eapacheSubjects, failsafeSubjects, gobreakerSubjects, rubyistSubjects, sethvargoSubjects,
	} {
		of(func(s Subject) { list = append(list, s) })
	}
	return list
}
