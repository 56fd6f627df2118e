package rules

import (
	"time"

	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// A Durable holds the settings of a policy whose calls are steps of a durable run,
// with every default filled in.
type Durable struct {
	Record       genapi.Recording
	OnLost       genapi.OnLost // OnLostDefault: see [Durable.Lost]
	LostMax      int           // attempts that may be lost before the step is exhausted
	Result       string        // how results are recorded: json
	ParkAfter    time.Duration // longer waits park the run; 0: none does
	ResumeSpread time.Duration // of overdue waits; 0: the smaller of the delay and 30s; retry.None: none
}

// Lost returns what follows a lost attempt of a call with that idempotency. The
// result is never OnLostDefault.
func (d *Durable) Lost(i Idempotency) genapi.OnLost {
	switch {
	case d.OnLost != genapi.OnLostDefault:
		return d.OnLost
	case i.Repeatable():
		return genapi.OnLostRetry
	}
	return genapi.OnLostPause
}

// Repeats reports whether a lost attempt may be followed by another one.
func (d *Durable) Repeats() bool {
	return d.OnLost == genapi.OnLostDefault || d.OnLost == genapi.OnLostRetry
}

// Repeatable reports whether two calls are known to have the effect of one.
func (i Idempotency) Repeatable() bool { return i == Idempotent || i == IdempotentByKey }
