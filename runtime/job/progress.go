package job

import (
	"fmt"
	"time"
)

// A Decision is whether a group has ended, and why.
type Decision struct {
	Complete    bool    // the group has ended, or has a provisional result
	Provisional bool    // more results may follow
	Success     bool    // enough units have succeeded; if the group ended for another reason, at least one
	Reason      Reason  // why the group ends or waits
	Completed   int     // number of successes; after a provisional result, the number in that
	MinSuccess  int     // number of successes that are enough; 0 without best effort
	Ratio       float64 // share of the units that have succeeded, from 0 to 1
}

// String returns the word for the reason in AD-44, with its counts, such as
// "min_dcs_reached (2/2)".
func (d Decision) String() string {
	switch d.Reason {
	case ReasonEnough:
		return fmt.Sprintf("%s (%d/%d)", d.Reason, d.Completed, d.MinSuccess)
	case ReasonDeadline:
		return fmt.Sprintf("%s (completed: %d)", d.Reason, d.Completed)
	}
	return d.Reason.String()
}

// final reports whether no result can change the decision.
func (d Decision) final() bool { return d.Complete && !d.Provisional }

// outlivesContext reports whether a final decision is valid although the context
// has ended: it does not depend on units that may have failed because of that.
func (d Decision) outlivesContext() bool {
	return d.final() && (d.Ratio == 1 || d.Reason != ReasonAllReported)
}

// A status is the last report of a unit.
type status uint8

const (
	pending status = iota
	succeeded
	failed
)

// A progress is the state of a group: plain data. Its methods depend on nothing
// but their arguments, and return the next state.
type progress struct {
	units    [failed + 1]int // number of units by status
	released bool            // there is a provisional result
	counted  int             // number of successes in it
}

// newProgress returns the state in which no unit has reported.
func newProgress(units int) progress {
	return progress{units: [failed + 1]int{pending: units}}
}

// report returns the state after the status of a unit has changed.
func (p progress) report(from, to status) progress {
	p.units[from]--
	p.units[to]++
	return p
}

// decide applies the rules of completion in their order. now is the time since
// the start of the run. effort is effective, or nil to wait for every unit.
func (p progress) decide(effort *BestEffort, now time.Duration) (progress, Decision) {
	total, done := p.units[pending]+p.units[succeeded]+p.units[failed], p.units[succeeded]
	d := Decision{Completed: done}
	if total > 0 {
		d.Ratio = float64(done) / float64(total)
	}
	if effort != nil {
		d.MinSuccess = min(effort.MinSuccess, total)
	}
	switch {
	case p.units[pending] == 0:
		d.Complete, d.Success, d.Reason = true, done > 0, ReasonAllReported
	case effort == nil:
		d.Reason = ReasonWaitingForAll
	case p.released && now < effort.Deadline:
		// The provisional result remains valid, even if a unit that succeeded
		// reports again.
		d.Success, d.Reason, d.Completed = true, ReasonEnough, p.counted
	case !p.released && done >= d.MinSuccess:
		d.Complete, d.Success, d.Reason = true, true, ReasonEnough
		if effort.Late == LateUpdate && now < effort.Deadline {
			d.Provisional, p.released, p.counted = true, true, done
		}
	case now >= effort.Deadline:
		d.Complete, d.Success, d.Reason = true, done > 0, ReasonDeadline
	default:
		d.Reason = ReasonWaiting
	}
	return p, d
}
