package capacity

import (
	"cmp"
	"time"
)

// Defaults of the fields of the policies.
const (
	defaultMaxWait  = 500 * time.Millisecond
	defaultInitial  = 20
	defaultMin      = 2
	defaultMax      = 1000
	defaultPer      = time.Second
	defaultBurst    = 1
	defaultK        = 2.0
	defaultWindow   = time.Minute
	defaultMinCalls = 20
	defaultMaxShare = 0.95
)

// NoWait is the MaxWait of a limiter or a rate that refuses an attempt at once if it
// cannot start immediately.
const NoWait time.Duration = -1

// A LimiterPolicy describes how many attempts may be in progress at the same time. It is
// plain data. The zero value of every field but Name means the field's default.
type LimiterPolicy struct {
	// Name of the limiter in errors and events.
	Name string
	// Limit is the number of permits. If Target is set, Limit is only the initial number,
	// and zero means 20. Without a Target, Limit must be set.
	Limit int
	// MaxWait is how long an attempt waits for a permit. Zero means 500ms. With [NoWait],
	// an attempt that cannot start immediately is refused.
	MaxWait time.Duration
	// Queue is how many attempts may wait. Any further attempt is refused at once. Zero
	// means the number of permits.
	Queue int
	// Target makes the limit adaptive. The limit falls while attempts take longer than
	// the target on average. It rises while attempts are faster and at least half of the
	// permits are in use. Zero means that the limit does not change.
	Target time.Duration
	// Min and Max bound an adaptive limit. Zero means 2 for Min and 1000 for Max.
	Min, Max int
}

// Effective returns a copy of p with every default set.
func (p LimiterPolicy) Effective() LimiterPolicy {
	p.MaxWait = cmp.Or(p.MaxWait, defaultMaxWait)
	if p.Target > 0 {
		p.Min, p.Max = cmp.Or(p.Min, defaultMin), cmp.Or(p.Max, defaultMax)
		p.Limit = cmp.Or(p.Limit, min(max(defaultInitial, p.Min), p.Max))
	}
	return p
}

// A RatePolicy describes how many attempts may start in a period. It is plain data. The
// zero value of every field but Name and Events means the field's default.
type RatePolicy struct {
	// Name of the rate in errors and events.
	Name string
	// Events is the number of attempts that may start in each Per, evenly spaced. It must
	// be set.
	Events int
	// Per is the period of Events. Zero means 1s.
	Per time.Duration
	// Burst is how many attempts may start at once after a pause. Zero means 1. In any
	// period of length T, at most Burst + Events·T/Per attempts start.
	Burst int
	// MaxWait is how long an attempt waits for its turn. Zero means 500ms. With [NoWait],
	// an attempt that cannot start immediately is refused.
	MaxWait time.Duration
}

// Effective returns a copy of p with every default set.
func (p RatePolicy) Effective() RatePolicy {
	p.Per = cmp.Or(p.Per, defaultPer)
	p.Burst = cmp.Or(p.Burst, defaultBurst)
	p.MaxWait = cmp.Or(p.MaxWait, defaultMaxWait)
	return p
}

// A ThrottlePolicy describes what share of the attempts is refused while a service is
// failing. It is plain data. The zero value of every field but Name means the field's
// default.
type ThrottlePolicy struct {
	// Name of the throttle in errors and events.
	Name string
	// K is how many requests may be made for each request that the service accepts. The
	// others are refused. If requests and accepts are the counts in the Window, the share
	// of refused requests is (requests − K·accepts)/(requests + 1). Zero means 2. See
	// "Handling Overload" in Beyer et al., Site Reliability Engineering (2016).
	K float64
	// Window is the period over which the throttle counts requests. It moves in steps of
	// a tenth of its length. Zero means 1m.
	Window time.Duration
	// MinCalls is the minimum number of requests in the window for any of them to be
	// refused. Zero means 20.
	MinCalls int
	// MaxShare is the largest share of requests that the throttle refuses. The remaining
	// requests show when the service has recovered. Zero means 0.95.
	MaxShare float64
	// Count lists the names of the classes of errors that an overloaded service returns.
	// The default and the exceptions are the same as for a breaker's Count.
	Count []string
}

// Effective returns a copy of p with every default set.
func (p ThrottlePolicy) Effective() ThrottlePolicy {
	p.K = cmp.Or(p.K, defaultK)
	p.Window = cmp.Or(p.Window, defaultWindow)
	p.MinCalls = cmp.Or(p.MinCalls, defaultMinCalls)
	p.MaxShare = cmp.Or(p.MaxShare, defaultMaxShare)
	return p
}
