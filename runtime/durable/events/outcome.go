package events

// An Outcome describes how an attempt ended.
type Outcome string

// The outcomes.
const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"
	OutcomeTimedOut  Outcome = "timed_out" // the attempt's own limit had passed
	// OutcomeInterrupted means that the attempt was interrupted because its context was
	// done, the process was shutting down or another run had panicked. The attempt may
	// have taken effect.
	OutcomeInterrupted Outcome = "interrupted"
	OutcomeLost        Outcome = "lost"      // the process died or lost the run, so the attempt may have taken effect
	OutcomeWithdrawn   Outcome = "withdrawn" // withdrawn before the call, so not executed
	OutcomeRefused     Outcome = "refused"   // refused by a breaker, so not executed
	OutcomeResolved    Outcome = "resolved"  // recorded by an operator who knew the outcome: see admin.Client.Resolve
	OutcomeRequeued    Outcome = "requeued"  // requeued by an operator: see admin.Client.Requeue
	OutcomeDiscarded   Outcome = "discarded" // discarded by an operator: see admin.Client.Discard
	OutcomeSignaled    Outcome = "signaled"  // not an attempt: a value was sent, see admin.Client.Signal
)

// An Operator identifies the person who has changed a run or a step, and gives the reason
// for the change: see admin.By.
type Operator struct {
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// String returns the name and the reason, for use in messages.
func (o Operator) String() string {
	switch {
	case o.Reason == "":
		return o.Name
	case o.Name == "":
		return o.Reason
	}
	return o.Name + ": " + o.Reason
}
