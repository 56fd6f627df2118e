package job

// A Reason is a word of AD-44 for a decision about a job: why its group ends or
// waits, why a retry is refused, or what happens to a late result.
type Reason uint8

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
	ReasonNoBudget   // the job has no budget: it is not known

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

// String returns AD-44's word, without counts: a label for metrics.
func (r Reason) String() string {
	if int(r) < len(reasonWords) {
		return reasonWords[r]
	}
	return "unknown"
}
