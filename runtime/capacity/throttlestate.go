package capacity

import "time"

// A ThrottleState is a throttle for simulations. It makes the same decisions as a
// [Throttle], but its caller supplies the time and the random numbers, and it has no
// lock. A ThrottleState must not be used by multiple goroutines simultaneously.
type ThrottleState struct {
	limits ThrottlePolicy // effective
	from   time.Time
	at     int64 // the tenth of the window that is current, counted since from
	tenths [10]requests
	sum    requests // of the tenths
}

// requests are numbers of requests, and of those that the service accepted.
type requests struct{ all, accepted int }

// NewThrottleState returns the state of a throttle that refuses nothing yet.
func NewThrottleState(p ThrottlePolicy, now time.Time) ThrottleState {
	return ThrottleState{limits: p.Effective(), from: now}
}

// Admit reports whether an attempt may start at now. sample is a random number from [0,
// 1). A refused attempt counts as a request.
func (t *ThrottleState) Admit(now time.Time, sample float64) bool {
	if share := t.Share(now); sample >= share {
		return true
	}
	t.add(requests{all: 1})
	return false
}

// Share returns the share of attempts that the throttle refuses at now, from 0 to
// MaxShare.
func (t *ThrottleState) Share(now time.Time) float64 {
	t.advance(now)
	return t.share()
}

// Report counts an attempt that was admitted and has ended at now. A [Neutral] attempt
// does not count, and neither does a success while there is no failure in the window.
func (t *ThrottleState) Report(now time.Time, s Sample) {
	t.advance(now)
	switch {
	case s == Overload:
		t.add(requests{all: 1})
	case s == Success && t.sum.all > t.sum.accepted:
		t.add(requests{all: 1, accepted: 1})
	}
}

func (t *ThrottleState) share() float64 {
	return t.limits.share(float64(t.sum.all), float64(t.sum.accepted))
}

// add counts requests in the current tenth.
func (t *ThrottleState) add(n requests) {
	for _, to := range []*requests{&t.tenths[t.at%10], &t.sum} {
		to.all += n.all
		to.accepted += n.accepted
	}
}

// advance forgets the tenths that are no longer in the window, and all of them once no
// failure is left.
func (t *ThrottleState) advance(now time.Time) {
	at := int64(now.Sub(t.from) / (t.limits.Window / 10))
	if at < t.at || at >= t.at+10 { // earlier: by another clock, as in a testing/synctest bubble
		*t = ThrottleState{limits: t.limits, from: now}
		return
	}
	for t.at < at {
		t.at++
		old := &t.tenths[t.at%10]
		t.sum.all -= old.all
		t.sum.accepted -= old.accepted
		*old = requests{}
	}
	if t.sum.all == t.sum.accepted {
		t.tenths, t.sum = [10]requests{}, requests{}
	}
}
