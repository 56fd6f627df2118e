package job

import (
	"fmt"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
)

// A UnitStatus is the latest reported status of a unit.
type UnitStatus uint8

// The statuses of a unit.
const (
	UnitPending   UnitStatus = iota // the unit has not reported
	UnitSucceeded                   // the unit has a result
	UnitFailed                      // the unit has failed and is not retried
)

// A Progress is the state of a group. It consists of counts and decisions. It is plain
// data that can be stored, for example as JSON. The statuses of the units are not part of
// it, so its size does not depend on the number of units.
//
// The methods depend only on their arguments and return the next state. They do not
// change any state in place, so a transaction may repeat them. Each takes constant time.
type Progress struct {
	Pending   int `json:"pending,omitempty"`   // number of units that have not reported
	Succeeded int `json:"succeeded,omitempty"` // number of units that have succeeded
	Failed    int `json:"failed,omitempty"`    // number of units that have failed
	// Released is the number of successes in the provisional result, or 0 if
	// there is none.
	Released int `json:"released,omitempty"`
	// Ended is the reason why the group has ended. The zero value means that it has not
	// ended.
	Ended Reason `json:"ended,omitzero"`
	// Breaker is the state of [GroupPolicy.Breaker]. Its times are counted from the Unix
	// epoch, which represents the start of the group.
	Breaker breaker.Snapshot `json:"breaker,omitzero"`
}

// NewProgress returns the state of a group in which no unit has reported yet.
func NewProgress(units int) Progress { return Progress{Pending: units} }

// Units returns the number of units.
func (p Progress) Units() int { return p.Pending + p.Succeeded + p.Failed }

// Add returns the state after pending units have been added. A group that had ended is
// open again, unless its error policy stopped it.
func (p Progress) Add(units int) Progress {
	p.Pending += units
	if units > 0 && !p.Ended.stops() {
		p.Ended = notEnded
	}
	return p
}

// Report returns the state after a unit's status has changed, and the resulting decision.
// policy is the policy of the group, and elapsed is the time since its start.
//
// After the group has ended, a report changes nothing unless after is [UnitPending],
// because a requeued unit reopens the group.
func (p Progress) Report(
	policy *GroupPolicy, before, after UnitStatus, elapsed time.Duration,
) (Progress, Decision) {
	if before == after || p.Ended != notEnded && after != UnitPending {
		return p.Decide(policy, elapsed)
	}
	*p.count(before)--
	*p.count(after)++
	p.Ended = notEnded
	if after != UnitPending {
		p.Ended = p.stop(policy, after, elapsed)
	}
	return p.Decide(policy, elapsed)
}

// count returns the number of units with a status.
func (p *Progress) count(s UnitStatus) *int {
	switch s {
	case UnitSucceeded:
		return &p.Succeeded
	case UnitFailed:
		return &p.Failed
	}
	return &p.Pending
}

// stop returns the reason for which the error policy stops the group after a unit
// has ended, or notEnded.
func (p *Progress) stop(policy *GroupPolicy, after UnitStatus, elapsed time.Duration) Reason {
	refused := p.sample(policy.Breaker, after, elapsed)
	ended := p.Succeeded + p.Failed
	switch {
	case refused && after == UnitFailed:
		return ReasonBreakerOpen
	case policy.MaxFailures > 0 && p.Failed >= policy.MaxFailures:
		return ReasonMaxFailures
	case policy.FailureRate > 0 && ended >= policy.minUnits() &&
		float64(p.Failed)/float64(ended) > policy.FailureRate:
		return ReasonFailureRate
	case policy.OnUnitFailure == FailureStop && after == UnitFailed:
		return ReasonUnitFailed
	}
	return notEnded
}

// sample gives the breaker of the group, if any, the end of a unit. It reports
// whether the breaker was open.
func (p *Progress) sample(b *breaker.Policy, after UnitStatus, elapsed time.Duration) (refused bool) {
	if b == nil {
		return false
	}
	now := time.Unix(0, 0).UTC().Add(elapsed)
	permit, ok := b.Admit(&p.Breaker, now)
	if !ok {
		return true
	}
	sample := breaker.Success
	if after == UnitFailed {
		sample = breaker.Failure
	}
	b.Record(&p.Breaker, permit, sample, now)
	return false
}

// Decide returns the state after a decision, and the decision. Call it at the start, for
// a group without units, and when the best-effort deadline has passed. [Progress.Report]
// does the same after each report.
func (p Progress) Decide(policy *GroupPolicy, elapsed time.Duration) (Progress, Decision) {
	d := Decision{Completed: p.Succeeded, Failed: p.Failed, MaxFailures: max(policy.MaxFailures, 0)}
	if total := p.Units(); total > 0 {
		d.Ratio = float64(p.Succeeded) / float64(total)
	}
	var effort BestEffort
	if policy.BestEffort != nil {
		effort = policy.BestEffort.Effective()
		d.MinSuccess = min(effort.MinSuccess, p.Units())
	}
	d.Reason = p.reason(policy.BestEffort != nil, &effort, d.MinSuccess, elapsed)
	switch d.Reason {
	case ReasonWaiting, ReasonWaitingForAll:
		return p, d
	case ReasonEnough:
		d.Success = true
		if p.Ended == notEnded && effort.Late == LateUpdate && elapsed < effort.Deadline {
			return p.release(d)
		}
	case ReasonAllReported, ReasonDeadline:
		d.Success = p.Succeeded > 0
	default: // stopped by the error policy
		d.Success = p.Released > 0
	}
	d.Complete, p.Ended = true, d.Reason
	return p, d
}

// release makes the results so far the provisional result, once.
func (p Progress) release(d Decision) (Progress, Decision) {
	if p.Released == 0 {
		p.Released = p.Succeeded
		d.Complete, d.Provisional = true, true
	}
	d.Completed = p.Released
	return p, d
}

// reason applies the rules of completion in their order.
func (p *Progress) reason(hasEffort bool, effort *BestEffort, minSuccess int, elapsed time.Duration) Reason {
	switch {
	case p.Ended != notEnded:
		return p.Ended
	case p.Pending == 0:
		return ReasonAllReported
	case !hasEffort:
		return ReasonWaitingForAll
	case p.Released > 0 && elapsed < effort.Deadline:
		// The provisional result remains valid, even if a unit that succeeded
		// reports again.
		return ReasonEnough
	case p.Released == 0 && p.Succeeded >= minSuccess:
		return ReasonEnough
	case elapsed >= effort.Deadline:
		return ReasonDeadline
	}
	return ReasonWaiting
}

// A Decision reports whether a group has ended, and why.
type Decision struct {
	Complete    bool // the group has ended, or has a provisional result
	Provisional bool // more results may follow
	// Success means that enough units have succeeded. Without best effort, or after its
	// deadline, one success is enough. If the error policy has stopped the group, it is a
	// success only if it had a provisional result.
	Success     bool
	Reason      Reason  // why the group ends or waits
	Completed   int     // number of successes; with a provisional result, the number in it
	Failed      int     // number of failures
	MinSuccess  int     // number of successes needed; 0 without best effort
	MaxFailures int     // number of failures that stop the group; 0 without a limit
	Ratio       float64 // share of the units that have succeeded, from 0 to 1
}

// String returns the word for the reason with its counts, such as
// "min_dcs_reached (2/2)" or "max_failures_reached (5/5)".
func (d Decision) String() string {
	switch d.Reason {
	case ReasonEnough:
		return fmt.Sprintf("%s (%d/%d)", d.Reason, d.Completed, d.MinSuccess)
	case ReasonDeadline:
		return fmt.Sprintf("%s (completed: %d)", d.Reason, d.Completed)
	case ReasonMaxFailures:
		return fmt.Sprintf("%s (%d/%d)", d.Reason, d.Failed, d.MaxFailures)
	case ReasonFailureRate:
		return fmt.Sprintf("%s (%d/%d)", d.Reason, d.Failed, d.Completed+d.Failed)
	case ReasonBreakerOpen, ReasonUnitFailed:
		return fmt.Sprintf("%s (failed: %d)", d.Reason, d.Failed)
	}
	return d.Reason.String()
}

// Final reports whether the group has ended.
func (d Decision) Final() bool { return d.Complete && !d.Provisional }
