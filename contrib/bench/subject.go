package bench

import (
	"context"
	"time"
)

// Call is one protected call, ready to be timed.
type Call func(ctx context.Context, in int) (int, error)

// A Subject is one library. What it cannot do is nil.
//
// Its functions are called outside of the timer: they prepare whatever calls
// may share. What must be new for every call, by the library's documentation,
// is made by the Call that they return.
type Subject struct {
	Name string

	// Retry is up to three attempts with exponential delays; the first
	// succeeds.
	Retry func() Call
	// Guarded is Retry under a closed breaker and a budget of retries, both
	// shared.
	Guarded func() Call
	// FailOnce fails, then succeeds, with the shortest delay that there is.
	FailOnce func() Call
	// Permanent fails with an error that is not retried.
	Permanent func() Call
	// Timeout gives each attempt of f a limit, either attemptTimeout or
	// longTimeout; there is no retry.
	Timeout func(f Call, limit time.Duration) Call
	// Breaker is a success through a closed breaker.
	Breaker func() Call
	// FailureRate is a success through a closed breaker that opens when half of
	// the attempts in 10s have failed, and at least 20 were made.
	FailureRate func() Call
	// Budget is Retry with a budget of retries.
	Budget func() Call
	// Full is Guarded with a limit on each attempt.
	Full func() Call
}

// A Scenario is one column of the table.
type Scenario struct {
	Name string
	Of   func(Subject) func() Call // or nil
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
