package hedge

import (
	"cmp"
	"fmt"
	"time"
)

// Defaults of the fields of [Policy].
const (
	defaultExtra   = 0.05
	defaultAtLeast = time.Millisecond
)

// A Policy describes when a slow attempt is made a second time. It is plain data. Exactly
// one of After and Quantile must be set. The zero value of every other field but Name
// means the field's default.
type Policy struct {
	// Name is the name of the hedged function in errors and events.
	Name string
	// After is how long the first request may take before a second one starts.
	After time.Duration
	// Quantile is the share of first requests, between 0 and 1, that should end before a
	// second one starts. With 0.95, the slowest 5 % are hedged. Nothing is hedged until
	// the durations of 64 requests are known.
	Quantile float64
	// AtLeast is the minimum delay when Quantile is used. Zero means 1ms.
	AtLeast time.Duration
	// Extra is the maximum share of requests that hedging may add. Zero means 0.05.
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

// validate returns an error about the first field with an invalid value. Comparisons
// are written so that NaN fails them.
func (p *Policy) validate() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("hedge %q: %s", p.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case p.After < 0:
		return wrong("After is %v: it cannot be negative", p.After)
	case p.AtLeast < 0:
		return wrong("AtLeast is %v: it cannot be negative; zero means the default", p.AtLeast)
	case !(p.Quantile >= 0 && p.Quantile < 1):
		return wrong("Quantile is %v: it is a share from 0 to below 1", p.Quantile)
	case !(p.Extra >= 0 && p.Extra <= 1):
		return wrong("Extra is %v: it is a share from 0 to 1; zero means the default", p.Extra)
	case p.After > 0 && p.Quantile > 0:
		return wrong("After and Quantile are set: set one of them")
	case p.After == 0 && p.Quantile == 0:
		return wrong("neither After nor Quantile is set: set one of them")
	}
	return nil
}
