package policyliteral

import (
	"time"

	retry "github.com/retrygen/retrygen/runtime"
)

var unbounded = retry.Policy{
	Schedule: retry.Schedule{MaxAttempts: retry.Unlimited}, // want `nothing ends these retries: write a number for MaxAttempts, DelayBudget, MaxElapsed, or Timeout \(P300\)`
}

var stingy = retry.Policy{
	Schedule:    retry.Schedule{InitialDelay: 2 * time.Second},
	DelayBudget: time.Second, // want `DelayBudget 1s is smaller than the first delay 2s.*P301`
}

// The first delay is 1s by default.
var stingyByDefault = &retry.Policy{DelayBudget: 500 * time.Millisecond} // want `P301`

var upsideDown = []retry.Policy{{
	AttemptTimeout: time.Minute, // want `AttemptTimeout 1m exceeds Timeout 20s.*P401`
	Timeout:        20 * time.Second,
}}

var pointers = []*retry.Policy{{
	AttemptTimeout: time.Minute, // want `AttemptTimeout 1m exceeds Timeout 20s.*P401`
	Timeout:        20 * time.Second,
}}

// There is no delay for the second retry, and no cap to wait for.
var forever = retry.Policy{
	Schedule: retry.Schedule{Backoff: retry.BackoffCustom, Delays: []time.Duration{time.Second}, MaxDelay: retry.None}, // want `there is no delay for retry 2, and without MaxDelay it waits for 292 years.*P207`
}

func local() retry.Policy {
	return retry.Policy{Schedule: retry.Schedule{Backoff: retry.BackoffCustom, Delays: []time.Duration{time.Minute, time.Minute}, MaxDelay: time.Hour}, Timeout: 90 * time.Second} // want `only 2 of 3 attempts can begin.*P404`
}

// The default of RetryAfter is the wait of rate limits.
var limited = []retry.Policy{
	{Timeout: 50 * time.Second, RetryOn: []retry.Class{retry.ClassRateLimit}, Schedule: retry.Schedule{RetryAfter: retry.RetryAfter{Default: 45 * time.Second}}}, // want `where rate limits ask for no wait \(RetryAfter default 45s\), only 2 of 3 attempts can begin within Timeout 50s.*P404`
	{Schedule: retry.Schedule{Backoff: retry.BackoffCustom, Delays: []time.Duration{time.Second, time.Minute}}},                                                  // want `MaxDelay 30s cuts delay 2 of Delays, which is 1m.*P201`
}

// Every rule about one policy, in the order of the ids.
var each = []retry.Policy{
	{Schedule: retry.Schedule{Base: 0.5}},                                                                                                                      // want `P106`
	{Schedule: retry.Schedule{InitialDelay: time.Minute, MaxDelay: time.Second}},                                                                               // want `MaxDelay 1s is shorter than the first delay 1m.*P201`
	{Schedule: retry.Schedule{MaxAttempts: 5, Backoff: retry.BackoffFixed, InitialDelay: time.Microsecond}},                                                    // want `InitialDelay.*P204`
	{Schedule: retry.Schedule{MaxAttempts: 20, MaxDelay: retry.None}},                                                                                          // want `P205`
	{Schedule: retry.Schedule{MaxAttempts: 2, Backoff: retry.BackoffCustom, Delays: []time.Duration{time.Second, time.Second}}},                                // want `P206`
	{Schedule: retry.Schedule{MaxAttempts: 5, Backoff: retry.BackoffCustom, Delays: []time.Duration{time.Second, time.Second}}},                                // want `P207`
	{Schedule: retry.Schedule{Base: 1}},                                                                                                                        // want `P209`
	{Schedule: retry.Schedule{MaxAttempts: 5, Backoff: retry.BackoffFixed, Jitter: retry.JitterNone, InitialDelay: time.Second}, DelayBudget: 2 * time.Second}, // want `DelayBudget 2s allows.*P302`
	{DelayBudget: time.Minute, Timeout: 30 * time.Second},                                                                                                      // want `P304`
	{Schedule: retry.Schedule{MaxAttempts: 4}, AttemptTimeout: 5 * time.Second, Timeout: 15 * time.Second, RetryOn: []retry.Class{retry.ClassTimeout}},         // want `P405`
	{Timeout: 10 * time.Second, RetryOn: []retry.Class{retry.ClassTimeout}},                                                                                    // want `P406`
	{RetryOn: []retry.Class{retry.ClassNetwork, retry.ClassTimeout}, AbortOn: []retry.Class{retry.ClassTimeout}},                                               // want `P702`
}

// ---- what must stay silent ----

// It only informs.
var nopeInforms = retry.Policy{Schedule: retry.Schedule{MaxAttempts: 3, Backoff: retry.BackoffFixed, InitialDelay: time.Second}, DelayBudget: time.Minute}

// A class of the program's own may be a timeout too.
var nopeClasses = retry.Policy{Timeout: 10 * time.Second, RetryOn: []retry.Class{retry.ClassTimeout}, Classes: []retry.ErrorClass{{Class: "slow"}}}

func nopeClass(class retry.Class) retry.Policy {
	return retry.Policy{Timeout: 10 * time.Second, RetryOn: []retry.Class{retry.ClassTimeout, class}}
}

var nopeRight = retry.Policy{Schedule: retry.Schedule{MaxAttempts: retry.Unlimited}, DelayBudget: time.Minute}

func nopeLimited(class retry.Class, after retry.RetryAfter) []retry.Policy {
	return []retry.Policy{
		{Timeout: 50 * time.Second, RetryOn: []retry.Class{class}, Schedule: retry.Schedule{RetryAfter: retry.RetryAfter{Default: 45 * time.Second}}},
		{Timeout: 2 * time.Second, Schedule: retry.Schedule{RetryAfter: after}},
		{Schedule: retry.Schedule{MaxAttempts: 5, InitialDelay: retry.None, RetryAfter: retry.RetryAfter{Default: time.Minute}}, RetryOn: []retry.Class{retry.ClassRateLimit}},
	}
}

func nopeVariable(d time.Duration) retry.Policy {
	return retry.Policy{Schedule: retry.Schedule{InitialDelay: d}, DelayBudget: time.Millisecond}
}

func nopeVariableBound(budget time.Duration) retry.Policy {
	return retry.Policy{Schedule: retry.Schedule{MaxAttempts: retry.Unlimited}, DelayBudget: budget}
}

func nopeSchedule(s retry.Schedule) retry.Policy {
	return retry.Policy{Schedule: s, DelayBudget: time.Millisecond}
}

// As many attempts as fit into the timeout are meant.
var nopeMany = retry.Policy{Schedule: retry.Schedule{MaxAttempts: 100}, Timeout: time.Minute}

// It makes no delay.
var nopeOnce = retry.Policy{Schedule: retry.Schedule{MaxAttempts: 1, InitialDelay: time.Hour}}

type Policy struct{ MaxAttempts int }

var nopeOther = Policy{MaxAttempts: -1}
