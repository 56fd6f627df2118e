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
// cannot start.
const NoWait time.Duration = -1

// A LimiterPolicy describes how many attempts may be in progress at a time. It is
// plain data. The zero value of every field but Name means its default.
type LimiterPolicy struct {
	// Name of the limiter in errors and events.
	Name string
	// Limit is the number of permits. If Target is set, it is only the number at the
	// start, and zero means 20. Without a Target, it must be set.
	Limit int
	// MaxWait is how long an attempt waits for a permit. Zero means 500ms; [NoWait]
	// refuses it at once.
	MaxWait time.Duration
	// Queue is how many attempts may wait. Others are refused at once. Zero means as
	// many as there are permits.
	Queue int
	// Target makes the limit adaptive: it falls while attempts take longer than the
	// target on average, and rises while they do not and the permits are in use. Zero
	// means that the limit does not change.
	Target time.Duration
	// Min and Max bound an adaptive limit. Zero means 2 and 1000.
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
// zero value of every field but Name and Events means its default.
type RatePolicy struct {
	// Name of the rate in errors and events.
	Name string
	// Events is the number of attempts that may start in each Per, evenly spaced. It must
	// be set.
	Events int
	// Per is the period of Events. Zero means 1s.
	Per time.Duration
	// Burst is how many attempts may start at once after a pause. Zero means 1. In any
	// time T, at most Burst + Events·T/Per attempts start.
	Burst int
	// MaxWait is how long an attempt waits for its turn. Zero means 500ms; [NoWait]
	// refuses it at once.
	MaxWait time.Duration
}

// Effective returns a copy of p with every default set.
func (p RatePolicy) Effective() RatePolicy {
	p.Per = cmp.Or(p.Per, defaultPer)
	p.Burst = cmp.Or(p.Burst, defaultBurst)
	p.MaxWait = cmp.Or(p.MaxWait, defaultMaxWait)
	return p
}

// A ThrottlePolicy describes what share of the attempts is refused while a service fails.
// It is plain data. The zero value of every field but Name means its default.
type ThrottlePolicy struct {
	// Name of the throttle in errors and events.
	Name string
	// K is how many requests may be made for each request that the service accepts. The
	// others are refused: with requests and accepts of the Window, the share is (requests
	// − K·accepts)/(requests + 1). Zero means 2. See "Handling Overload" in Beyer et al.,
	// Site Reliability Engineering (2016).
	K float64
	// Window is the period over which the throttle counts requests. It moves in steps of
	// a tenth of its length. Zero means 1m.
	Window time.Duration
	// With fewer requests than MinCalls in the window, nothing is refused. Zero means 20.
	MinCalls int
	// MaxShare is the greatest share of requests that is refused. The others find out
	// when the service has recovered. Zero means 0.95.
	MaxShare float64
	// Count lists the names of the classes of errors that an overloaded service returns.
	// It has the same default and the same exceptions as the Count of a breaker.
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
