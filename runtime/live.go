package retry

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Live is a policy that may change while the program runs. Load it once for each call:
//
//	user, err := retry.Do(ctx, policy.Load(), fetch)
//
// A call keeps the policy that it started with. Any number of goroutines may use a Live.
// The values that calls share are changed in place: breakers, budgets, limiters, rates,
// throttles and hedges have an Update method.
type Live struct {
	current  atomic.Pointer[Policy] // what calls use
	compiled *Policy

	mu     sync.Mutex
	policy *Policy // without the limit
	limit  int     // 0: none
}

// NewLive returns a Live with the policy p. p must not be changed afterwards.
func NewLive(p *Policy) *Live {
	l := &Live{compiled: p, policy: p}
	l.current.Store(p)
	return l
}

// Load returns the policy for a call that begins now. It must not be changed.
func (l *Live) Load() *Policy { return l.current.Load() }

// Compiled returns the policy with which the Live was created. It must not be changed.
func (l *Live) Compiled() *Policy { return l.compiled }

// Policy returns the policy without the limit set by [Live.Limit]. Durable steps use it,
// because a temporary limit must not end a run that could continue later. The policy must
// not be changed.
func (l *Live) Policy() *Policy {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.policy
}

// Store replaces the policy for calls that begin from now on. p must not be changed
// afterwards. A limit set by [Live.Limit] remains in effect.
func (l *Live) Store(p *Policy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.policy = p
	l.put()
}

// Limit reduces the maximum number of attempts to n for calls that begin from now on, if
// the policy allows more. A limit of 1 turns retries off, and 0 removes the limit. The
// time limits, the breaker and the gate of the calls apply as before. Limit panics if n
// is negative.
func (l *Live) Limit(n int) {
	if n < 0 {
		panic("retry: negative limit of attempts")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n != l.limit {
		l.limit = n
		l.put()
	}
}

// put stores what calls use. The caller holds mu.
func (l *Live) put() {
	if l.limit == 0 {
		l.current.Store(l.policy)
		return
	}
	limited := *l.policy
	limited.MaxAttempts = min(limited.maxAttempts(), l.limit)
	limited.PerError = slices.Clone(limited.PerError)
	for i := range limited.PerError {
		s := &limited.PerError[i].Schedule
		s.MaxAttempts = min(s.maxAttempts(), l.limit)
	}
	l.current.Store(&limited)
}
