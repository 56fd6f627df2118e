package assignedschedules

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// No field of a schedule is known that the package replaces as a whole.
func nopeSchedule(s retry.Schedule) *retry.Policy {
	p := &retry.Policy{Schedule: retry.Schedule{InitialDelay: time.Minute, MaxDelay: time.Second}}
	p.Schedule = s
	return p
}
