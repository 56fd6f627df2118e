package job

// A Reason is the reason for a decision about a job: why its group ends or waits,
// why a retry is granted or refused, or what happens to a late result.
type Reason uint8

// The reasons.
const (
	// Of a [Decision].
	ReasonWaiting       Reason = iota // more successes are needed
	ReasonWaitingForAll               // more results are needed, without best effort
	ReasonAllReported                 // every unit has reported
	ReasonEnough                      // enough units have succeeded
	ReasonDeadline                    // the deadline of best effort has passed

	// Of a retry that a [Budget] has granted, and of a [BudgetError].
	ReasonAllowed    // the retry is granted
	ReasonJobBudget  // the job has used up its retries
	ReasonUnitBudget // the unit has used up its retries
	ReasonNoBudget   // the *Budget is nil: the job is unknown

	// Of a late result.
	ReasonLogged  // it was dropped
	ReasonUpdated // it is part of the final result
)

var reasonWords = [...]string{
	ReasonWaiting:       "waiting",
	ReasonWaitingForAll: "waiting_for_all_dcs",
	ReasonAllReported:   "all_dcs_reported",
	ReasonEnough:        "min_dcs_reached",
	ReasonDeadline:      "deadline_expired",
	ReasonAllowed:       "allowed",
	ReasonJobBudget:     "job_budget_exhausted",
	ReasonUnitBudget:    "workflow_budget_exhausted",
	ReasonNoBudget:      "retry_budget_missing",
	ReasonLogged:        "logged",
	ReasonUpdated:       "updated",
}

// String returns the word for the reason in AD-44, without counts. It can be a
// label of metrics.
func (r Reason) String() string {
	if int(r) < len(reasonWords) {
		return reasonWords[r]
	}
	return "unknown"
}
