package assignedschedule

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A field of the schedule that the package assigns to is not known either.
func nopeField(n int) *retry.Policy {
	p := &retry.Policy{Schedule: retry.Schedule{MaxAttempts: retry.Unlimited}}
	p.Schedule.MaxAttempts = n
	return p
}

// Nor is one of which the package takes the address.
func nopeAddress(set func(*time.Duration)) *retry.Policy {
	p := &retry.Policy{Schedule: retry.Schedule{InitialDelay: time.Minute, MaxDelay: time.Second}}
	set(&p.Schedule.InitialDelay)
	return p
}
