package rules

import (
	"time"

	"github.com/retrygen/retrygen/runtime/durable/genapi"
)

// A Durable contains the settings of a policy whose calls are steps of a durable run,
// with every default set.
type Durable struct {
	Record       genapi.Recording
	OnLost       genapi.OnLost // [Durable.Lost] resolves OnLostDefault
	LostMax      int           // number of attempts that may be lost before the step is exhausted
	Result       string        // how results are recorded, such as json
	ParkAfter    time.Duration // a longer wait parks the run; 0 means that no wait parks it
	ResumeSpread time.Duration // see the field of genapi.StepPolicy with this name
}

// Lost returns what happens after a lost attempt of a call with the given idempotency.
// The result is never OnLostDefault.
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

// Repeatable reports whether two calls are known to have the same effect as one.
func (i Idempotency) Repeatable() bool { return i == Idempotent || i == IdempotentByKey }
