package capacity

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A Throttle refuses a share of the attempts, at random, while the service refuses many: see
// [ThrottlePolicy.Share]. Any number of goroutines may use one. The zero Throttle has
// the zero policy, with its defaults. A Throttle must not be copied after first use.
//
// While nothing fails, the requests equal the accepts, and the share is zero. So nothing is
// counted before the first failure, and an attempt costs one atomic load before it and one
// after it. That ends when no failure is left in the window. As long as the failures are too
// few for a refusal, an attempt costs an atomic load before it, and a lock and a clock
// reading after it.
type Throttle struct {
	mood   atomic.Uint32  // written under mu
	policy ThrottlePolicy // as given; never written after NewThrottle

	mu     sync.Mutex
	limits ThrottlePolicy // effective; set with begun
	begun  time.Time
	at     int64 // the tenth of the window that is current, counted since begun
	tenths [10]requests
	sum    requests // of the tenths
}

// The values of Throttle.mood.
const (
	calm     = iota // no failure is in the window: nothing is counted
	counting        // the share was 0 when an attempt was last counted
	refusing        // the share was above 0
)

// requests are numbers of requests, and of those that the service accepted.
type requests struct{ all, accepted int }

// NewThrottle returns a throttle that refuses nothing yet. It panics if a field of p is
// negative or not a number, if MaxShare is above 1, or if Window is below 10ns.
func NewThrottle(p ThrottlePolicy) *Throttle {
	e := p.Effective()
	switch {
	case !(e.K >= 0), e.Window < 0, e.MinCalls < 0, !(e.MaxShare >= 0):
		panic("capacity: negative field of the ThrottlePolicy " + p.Name)
	case e.MaxShare > 1:
		panic("capacity: MaxShare of the ThrottlePolicy " + p.Name + " is above 1")
	case e.Window < 10:
		panic("capacity: Window of the ThrottlePolicy " + p.Name + " is below 10ns")
	}
	return &Throttle{policy: p}
}

// Policy returns the policy of the throttle, with its defaults. Its Count must not be changed.
func (t *Throttle) Policy() ThrottlePolicy { return t.policy.Effective() }

// Calm reports whether no failure is in the window: every attempt is admitted, and
// a success need not be reported.
func (t *Throttle) Calm() bool { return t.mood.Load() == calm }

// Admit reports whether an attempt may start. One that may not counts as a request.
func (t *Throttle) Admit() bool { return t.mood.Load() != refusing || t.admit() }

//go:noinline
func (t *Throttle) admit() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance()
	if share := t.share(); share == 0 || rand.Float64() >= share {
		return true
	}
	t.add(requests{all: 1})
	return false
}

// Share returns the share of attempts that is refused now, from 0 to MaxShare.
func (t *Throttle) Share() float64 {
	if t.Calm() {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance()
	return t.share()
}

// Report counts an attempt that was admitted and has ended. A [Neutral] one does not count.
func (t *Throttle) Report(s Sample) {
	if s == Overload || s == Success && t.mood.Load() != calm {
		t.report(s)
	}
}

//go:noinline
func (t *Throttle) report(s Sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance()
	if s == Success {
		t.add(requests{all: 1, accepted: 1})
	} else {
		t.add(requests{all: 1})
	}
	t.share()
}

// share returns the share that is refused now, and sets mood by it.
func (t *Throttle) share() float64 {
	if t.sum.all == t.sum.accepted { // no failure is left
		t.tenths, t.sum = [10]requests{}, requests{}
		t.mood.Store(calm)
		return 0
	}
	share := t.limits.share(float64(t.sum.all), float64(t.sum.accepted))
	mood := uint32(counting)
	if share > 0 {
		mood = refusing
	}
	if mood != t.mood.Load() {
		t.mood.Store(mood)
	}
	return share
}

// add counts requests in the current tenth.
func (t *Throttle) add(n requests) {
	for _, to := range []*requests{&t.tenths[t.at%10], &t.sum} {
		to.all += n.all
		to.accepted += n.accepted
	}
}

// advance forgets the tenths that are no longer in the window.
func (t *Throttle) advance() {
	if t.begun.IsZero() {
		t.limits, t.begun = t.policy.Effective(), time.Now()
	}
	at := int64(time.Since(t.begun) / (t.limits.Window / 10))
	if at < t.at || at >= t.at+10 { // earlier: another clock, as in a testing/synctest bubble
		t.tenths, t.sum = [10]requests{}, requests{}
		t.at = at
	}
	for t.at < at {
		t.at++
		old := &t.tenths[t.at%10]
		t.sum.all -= old.all
		t.sum.accepted -= old.accepted
		*old = requests{}
	}
}
