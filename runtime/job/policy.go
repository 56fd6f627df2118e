package job

import (
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// A GroupPolicy defines when work that fans out over units ends, and what happens
// when a unit fails. It is plain data.
//
// The group's error policy is applied to each failed unit that is not retried. First,
// Breaker, MaxFailures and FailureRate may stop the group. Then OnUnitFailure applies. A
// group that is stopped cancels its running units and starts no others. If none of these
// fields is set, no failure stops the group.
type GroupPolicy struct {
	// Name is the name of the group in events.
	Name string
	// Units is the number of units, or 0 if it is not known in advance. It is used only
	// to check policy files.
	Units int
	// Timeout limits the work of the whole group. Zero means no limit.
	Timeout time.Duration
	// Budget counts the retries of all units. Nil means no limit.
	Budget *BudgetPolicy
	// BestEffort allows the group to end before every unit has reported. Nil means that
	// the group waits for all of them.
	BestEffort *BestEffort

	// Workers is the number of units that run at the same time. Zero or a negative
	// number means all of them.
	Workers int
	// OnUnitFailure defines what happens when a unit fails. The default is FailureSkip.
	OnUnitFailure FailureAction
	// MaxFailures is the number of failed units that stops the group. Zero or a
	// negative number means no limit.
	MaxFailures int
	// FailureRate is the share of failed units, among those that have ended, above which
	// the group stops. It is checked once MinUnits units have ended. Zero or a negative
	// number means no limit.
	FailureRate float64
	// MinUnits is the number of units that must have ended before FailureRate is checked.
	// Zero or a negative number means 10.
	MinUnits int
	// Breaker stops the group when a unit fails while the breaker is open. Each unit that
	// ends is one sample. Each job has its own breaker. The breaker never refuses a unit,
	// so SlowCall, SlowRate, HalfOpenCalls and Count have no effect. Nil means no
	// breaker.
	Breaker *breaker.Policy
	// Collect defines which of the units' errors the outcome contains.
	Collect Collect
}

// defaultMinUnits is the default of GroupPolicy.MinUnits.
const defaultMinUnits = 10

// minUnits returns the number of ended units from which FailureRate is checked.
func (p *GroupPolicy) minUnits() int { return positiveOr(p.MinUnits, defaultMinUnits) }

// Effective returns a copy of p with every default set.
func (p GroupPolicy) Effective() GroupPolicy {
	p.Budget = effective(p.Budget)
	p.BestEffort = effective(p.BestEffort)
	p.Breaker = effective(p.Breaker)
	if p.FailureRate > 0 {
		p.MinUnits = p.minUnits()
	}
	return p
}

// effective returns a copy of *p with every default set, or nil.
func effective[P interface{ Effective() P }](p *P) *P {
	if p == nil {
		return nil
	}
	e := (*p).Effective()
	return &e
}

// A FailureAction defines what happens to a failed unit that is not retried.
type FailureAction uint8

// The possible actions.
const (
	FailureSkip       FailureAction = iota // the other units continue; the default
	FailureDeadLetter                      // the unit becomes a dead letter; the other units continue
	FailureStop                            // the group stops
)

var actionNames = [...]string{FailureSkip: "skip", FailureDeadLetter: "dead_letter", FailureStop: "stop"}

// String returns the action's name in a policy file.
func (a FailureAction) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "unknown"
}

// A Collect defines which of the units' errors a group keeps until it ends: all errors,
// the first one, or batches. With a positive number n, the group reports its errors in
// batches of n as [EventFailures], and the outcome contains the errors of the last,
// incomplete batch.
type Collect int

// The values of Collect, in addition to positive numbers.
const (
	CollectAll   Collect = 0  // keeps all errors; the default
	CollectFirst Collect = -1 // keeps the first error; other negative numbers have the same meaning
)

// MaxDeadline is the maximum Deadline of a [BestEffort].
const MaxDeadline = time.Hour

// Defaults of the fields of [BestEffort].
const (
	defaultMinSuccess = 1
	defaultDeadline   = 5 * time.Minute
	defaultCheckEvery = 5 * time.Second
)

// A BestEffort defines how many successes are enough. It is plain data. A zero or
// negative number means the field's default.
type BestEffort struct {
	// MinSuccess is the number of units that must succeed. The default is 1. If it is
	// greater than the number of units, all units must succeed.
	MinSuccess int
	// Deadline is the time, counted from the start of the run, after which the group ends
	// with the results so far. The default is 5 minutes, and the maximum is
	// [MaxDeadline].
	Deadline time.Duration
	// Late defines what happens to results that arrive after MinSuccess has been reached.
	Late Late
	// CheckEvery is the longest time between two checks of the deadline. The
	// default is 5 seconds.
	CheckEvery time.Duration
}

// Effective returns a copy of b with every default set, and with Deadline clamped
// to [MaxDeadline].
func (b BestEffort) Effective() BestEffort {
	b.MinSuccess = positiveOr(b.MinSuccess, defaultMinSuccess)
	b.Deadline = min(positiveOr(b.Deadline, defaultDeadline), MaxDeadline)
	b.CheckEvery = positiveOr(b.CheckEvery, defaultCheckEvery)
	return b
}

// Request returns a copy of b with the settings that a job asks for. If a requested
// setting is zero or negative, the setting in b is kept. Deadlines above [MaxDeadline]
// are clamped to it when the group runs.
func (b BestEffort) Request(minSuccess int, deadline time.Duration) BestEffort {
	b.MinSuccess = positiveOr(minSuccess, b.MinSuccess)
	b.Deadline = positiveOr(deadline, b.Deadline)
	return b
}

// A Late defines what happens to results that arrive after enough units have
// succeeded.
type Late uint8

// The values of Late.
const (
	LateLog    Late = iota // other units are canceled; late results are reported and dropped; the default
	LateUpdate             // Run passes on a provisional outcome once; the final one includes late results
)

var lateNames = [...]string{LateLog: "log_only", LateUpdate: "update_result"}

// String returns the value's name in a policy file.
func (l Late) String() string {
	if int(l) < len(lateNames) {
		return lateNames[l]
	}
	return "unknown"
}

// positiveOr returns n, or otherwise if n is not positive.
func positiveOr[T int | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}
