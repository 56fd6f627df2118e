package rules

import (
	"time"

	"github.com/retrygen/retrygen/runtime/durable"
)

// A Durable is what a policy says about calls that are steps of a durable run,
// with every default written out.
type Durable struct {
	Record       durable.Recording
	OnLost       durable.OnLost // OnLostDefault: see [Durable.Lost]
	LostMax      int            // attempts that may be lost before the step is exhausted
	Result       string         // how results are recorded: json
	ParkAfter    time.Duration  // longer waits park the run; 0: none does
	ResumeSpread time.Duration  // of overdue waits; 0: the smaller of the delay and 30s; retry.None: none
}

// Lost returns what follows a lost attempt of a call, which is never
// OnLostDefault.
func (d *Durable) Lost(i Idempotency) durable.OnLost {
	switch {
	case d.OnLost != durable.OnLostDefault:
		return d.OnLost
	case i.Repeatable():
		return durable.OnLostRetry
	}
	return durable.OnLostPause
}

// Repeats reports whether a lost attempt of some call is followed by another.
func (d *Durable) Repeats() bool {
	return d.OnLost == durable.OnLostDefault || d.OnLost == durable.OnLostRetry
}

// Repeatable reports whether a second call is known to be the same as one.
func (i Idempotency) Repeatable() bool { return i == Idempotent || i == IdempotentByKey }
