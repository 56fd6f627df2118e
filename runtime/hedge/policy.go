package hedge

import (
	"cmp"
	"time"
)

// Defaults of the fields of [Policy].
const (
	defaultExtra   = 0.05
	defaultAtLeast = time.Millisecond
)

// A Policy describes when an attempt that takes long is made a second time. It is plain
// data. Exactly one of After and Quantile must be set; the zero value of every other
// field but Name means its default.
type Policy struct {
	// Name of the function that is hedged, in errors and events.
	Name string
	// After is how long the first request may take before a second one starts.
	After time.Duration
	// Quantile is the share of first requests, between 0 and 1, that end before the
	// second one would start: 0.95 hedges the slowest 5 %. Nothing is hedged before
	// the durations of 64 requests are known.
	Quantile float64
	// AtLeast is the shortest delay that Quantile may lead to. Zero means 1ms.
	AtLeast time.Duration
	// Extra is the greatest share of requests that hedges may add. Zero means 0.05.
	Extra float64
}

// Effective returns a copy of p with every default set.
func (p Policy) Effective() Policy {
	p.Extra = cmp.Or(p.Extra, defaultExtra)
	if p.Quantile > 0 {
		p.AtLeast = cmp.Or(p.AtLeast, defaultAtLeast)
	}
	return p
}
