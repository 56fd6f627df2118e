package job

import "fmt"

// A Reason is the reason for a decision about a job: why its group ends or waits, why a
// retry is granted or refused, or what happens to a late result. Its text form is the
// result of [Reason.String].
type Reason uint8

// The reasons.
const (
	// Reasons of a [Decision].
	ReasonWaiting       Reason = iota // more successes are needed
	ReasonWaitingForAll               // more results are needed, without best effort
	ReasonAllReported                 // every unit has reported
	ReasonEnough                      // enough units have succeeded
	ReasonDeadline                    // the deadline of best effort has passed

	// Reasons of a [Decision] to stop the group because of its error policy.
	ReasonBreakerOpen // a unit failed while the group's breaker was open
	ReasonMaxFailures // MaxFailures units have failed
	ReasonFailureRate // the share of failed units is above FailureRate
	ReasonUnitFailed  // a unit failed, and OnUnitFailure is FailureStop

	// Reasons of a retry that a [Budget] has granted, and of a [BudgetError].
	ReasonAllowed    // the retry is granted
	ReasonJobBudget  // the job has used up its retries
	ReasonUnitBudget // the unit has used up its retries
	ReasonNoBudget   // the *Budget is nil, so the job is unknown

	// Reasons of a late result.
	ReasonLogged  // the result was dropped
	ReasonUpdated // the result is part of the final outcome
)

// notEnded is the value of [Progress.Ended] of a group that has not ended.
const notEnded = ReasonWaiting

var reasonWords = [...]string{
	ReasonWaiting:       "waiting",
	ReasonWaitingForAll: "waiting_for_all_dcs",
	ReasonAllReported:   "all_dcs_reported",
	ReasonEnough:        "min_dcs_reached",
	ReasonDeadline:      "deadline_expired",
	ReasonBreakerOpen:   "breaker_open",
	ReasonMaxFailures:   "max_failures_reached",
	ReasonFailureRate:   "failure_rate_exceeded",
	ReasonUnitFailed:    "unit_failed",
	ReasonAllowed:       "allowed",
	ReasonJobBudget:     "job_budget_exhausted",
	ReasonUnitBudget:    "workflow_budget_exhausted",
	ReasonNoBudget:      "retry_budget_missing",
	ReasonLogged:        "logged",
	ReasonUpdated:       "updated",
}

// String returns the word for the reason, without counts. If AD-44 has a word for the
// reason, String returns that word. It is suitable as a metric label.
func (r Reason) String() string {
	if int(r) < len(reasonWords) {
		return reasonWords[r]
	}
	return "unknown"
}

// MarshalText implements [encoding.TextMarshaler].
func (r Reason) MarshalText() ([]byte, error) {
	if int(r) >= len(reasonWords) {
		return nil, fmt.Errorf("%d is not a job.Reason", uint8(r))
	}
	return []byte(reasonWords[r]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts the words that
// [Reason.String] returns.
func (r *Reason) UnmarshalText(text []byte) error {
	for i, word := range reasonWords {
		if string(text) == word {
			*r = Reason(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a job.Reason", text)
}

// stops reports whether the error policy of a group has stopped it.
func (r Reason) stops() bool { return ReasonBreakerOpen <= r && r <= ReasonUnitFailed }
