package capacity

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A Throttle refuses a share of the attempts at random while the service refuses many
// requests: see [ThrottlePolicy.Share]. Any number of goroutines may use it. The zero
// Throttle has the zero policy, with its defaults. A Throttle must not be copied after
// first use.
//
// While nothing fails, the service accepts all requests, and the share is zero. So
// nothing is counted, and the throttle costs one atomic load before an attempt and one
// after it. While the window contains failures, but too few for a refusal, the throttle
// costs one atomic load before an attempt, and a lock and a clock reading after it.
type Throttle struct {
	mood   atomic.Uint32                  // written under mu
	policy atomic.Pointer[ThrottlePolicy] // as given; nil in the zero Throttle

	refused atomic.Uint64

	mu    sync.Mutex
	state ThrottleState
	begun bool // state has the policy
}

// The values of Throttle.mood.
const (
	calm     = iota // no failure is in the window: nothing is counted
	counting        // the share was 0 when an attempt was last counted
	refusing        // the share was above 0
)

// NewThrottle returns a throttle that refuses nothing yet. It panics if a field of p is
// negative or not a number, if MaxShare is above 1, or if Window is less than 10ns.
func NewThrottle(p ThrottlePolicy) *Throttle {
	e := p.Effective()
	if err := e.validate(); err != nil {
		panic("capacity: " + err.Error())
	}
	t := new(Throttle)
	t.policy.Store(&p)
	return t
}

// validate returns an error if an effective policy is not one of a throttle.
func (p *ThrottlePolicy) validate() error {
	switch {
	case !(p.K >= 0), p.Window < 0, p.MinCalls < 0, !(p.MaxShare >= 0):
		return errors.New("negative field of the ThrottlePolicy " + p.Name)
	case p.MaxShare > 1:
		return errors.New("MaxShare of the ThrottlePolicy " + p.Name + " is above 1")
	case p.Window < 10:
		return errors.New("Window of the ThrottlePolicy " + p.Name + " is below 10ns")
	}
	return nil
}

// Policy returns the throttle's policy with its defaults. Its Count must not be changed.
func (t *Throttle) Policy() ThrottlePolicy {
	if p := t.policy.Load(); p != nil {
		return p.Effective()
	}
	return ThrottlePolicy{}.Effective()
}

// Calm reports whether the window contains no failure. If so, every attempt is admitted,
// and a success need not be reported.
func (t *Throttle) Calm() bool { return t.mood.Load() == calm }

// Admit reports whether an attempt may start. A refused attempt counts as a request.
func (t *Throttle) Admit() bool { return t.mood.Load() != refusing || t.admit() }

//go:noinline
func (t *Throttle) admit() bool {
	t.lock()
	defer t.unlock()
	ok := t.state.Admit(time.Now(), rand.Float64())
	if !ok {
		t.refused.Add(1)
	}
	return ok
}

// Refused returns the number of attempts that were refused.
func (t *Throttle) Refused() uint64 { return t.refused.Load() }

// Share returns the share of attempts that the throttle currently refuses, from 0 to
// MaxShare.
func (t *Throttle) Share() float64 {
	if t.Calm() {
		return 0
	}
	t.lock()
	defer t.unlock()
	return t.state.Share(time.Now())
}

// Report counts an attempt that was admitted and has ended. A [Neutral] attempt does not
// count.
func (t *Throttle) Report(s Sample) {
	if s == Overload || s == Success && t.mood.Load() != calm {
		t.report(s)
	}
}

//go:noinline
func (t *Throttle) report(s Sample) {
	t.lock()
	defer t.unlock()
	t.state.Report(time.Now(), s)
}

// lock locks the throttle, and gives its policy to the state of a zero Throttle.
func (t *Throttle) lock() {
	t.mu.Lock()
	if !t.begun {
		t.begun, t.state = true, NewThrottleState(t.Policy(), time.Now())
	}
}

// unlock sets the mood by what was counted, and unlocks the throttle.
func (t *Throttle) unlock() {
	mood := uint32(refusing)
	switch {
	case t.state.sum.all == t.state.sum.accepted:
		mood = calm
	case t.state.share() == 0:
		mood = counting
	}
	if mood != t.mood.Load() {
		t.mood.Store(mood)
	}
	t.mu.Unlock()
}
