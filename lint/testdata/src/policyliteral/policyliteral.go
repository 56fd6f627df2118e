package policyliteral

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

var unbounded = retry.Policy{
	MaxAttempts: retry.Unlimited, // want `nothing ends these retries: write a number for MaxAttempts, or a DelayBudget, MaxElapsed or Timeout \(P300\)`
}

var stingy = retry.Policy{
	InitialDelay: 2 * time.Second,
	DelayBudget:  time.Second, // want `DelayBudget 1s is smaller than the first delay 2s.*P301`
}

// The first delay is 1s by default.
var stingyByDefault = &retry.Policy{DelayBudget: 500 * time.Millisecond} // want `P301`

var upsideDown = []retry.Policy{{
	AttemptTimeout: time.Minute, // want `AttemptTimeout 1m exceeds Timeout 20s.*P401`
	Timeout:        20 * time.Second,
}}

func local() retry.Policy {
	return retry.Policy{Backoff: retry.Custom, Delays: []time.Duration{time.Minute, time.Minute}, MaxDelay: time.Hour, Timeout: 90 * time.Second} // want `only 2 of 3 attempts can begin.*P404`
}

// ---- what must stay silent ----

var nopeRight = retry.Policy{MaxAttempts: retry.Unlimited, DelayBudget: time.Minute}

func nopeVariable(d time.Duration) retry.Policy {
	return retry.Policy{InitialDelay: d, DelayBudget: time.Millisecond}
}

func nopeVariableBound(budget time.Duration) retry.Policy {
	return retry.Policy{MaxAttempts: retry.Unlimited, DelayBudget: budget}
}

type Policy struct{ MaxAttempts int }

var nopeOther = Policy{MaxAttempts: -1}
