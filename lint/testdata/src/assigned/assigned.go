package assigned

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

// A field that the package assigns to later is not known from a literal.
func nopeAssigned(d time.Duration) retry.Policy {
	p := retry.Policy{Schedule: retry.Schedule{MaxAttempts: retry.Unlimited}}
	p.DelayBudget = d
	return p
}
