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
// The call keeps the policy with which it began. Any number of goroutines may use a Live.
// What calls share changes in place: breakers, budgets, limiters, rates, throttles and
// hedges have a method Update.
type Live struct {
	current atomic.Pointer[Policy] // what calls use

	mu     sync.Mutex
	policy *Policy // without what Off changes
	off    bool
}

// NewLive returns a Live with the policy p, which must not be changed any more.
func NewLive(p *Policy) *Live {
	l := &Live{policy: p}
	l.current.Store(p)
	return l
}

// Load returns the policy that is in force. It must not be changed.
func (l *Live) Load() *Policy { return l.current.Load() }

// Store replaces the policy for the calls that begin from now on. p must not be changed
// any more. While retries are off, they stay off.
func (l *Live) Store(p *Policy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.policy = p
	l.put()
}

// Off turns the retries of calls that begin from now on off, or on again. While they are
// off, a call makes one attempt; its time limits, breaker and gate apply as before.
func (l *Live) Off(off bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = off
	l.put()
}

// put stores what calls use. The caller holds mu.
func (l *Live) put() {
	if !l.off {
		l.current.Store(l.policy)
		return
	}
	once := *l.policy
	once.MaxAttempts = 1
	once.PerError = slices.Clone(once.PerError)
	for i := range once.PerError {
		once.PerError[i].MaxAttempts = 1
	}
	l.current.Store(&once)
}
