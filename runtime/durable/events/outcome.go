package events

// An Outcome describes how an attempt ended.
type Outcome string

// The outcomes.
const (
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed"
	OutcomeTimedOut  Outcome = "timed_out" // by the limit of the attempt
	// OutcomeInterrupted means that the end of its context, a shutdown or the panic of
	// another run has ended the attempt. It may have taken effect.
	OutcomeInterrupted Outcome = "interrupted"
	OutcomeLost        Outcome = "lost"      // its process died, or lost the run: it may have taken effect
	OutcomeWithdrawn   Outcome = "withdrawn" // before the call: it was not executed
	OutcomeRefused     Outcome = "refused"   // by a breaker: it was not executed
	OutcomeResolved    Outcome = "resolved"  // by an operator, who knew: see admin.Client.Resolve
	OutcomeRequeued    Outcome = "requeued"  // by an operator: see admin.Client.Requeue
	OutcomeDiscarded   Outcome = "discarded" // by an operator: see admin.Client.Discard
	OutcomeSignaled    Outcome = "signaled"  // no attempt: a value was sent: see admin.Client.Signal
)

// An Operator is a person who changes runs and steps, with the reason for the change: see
// admin.By.
type Operator struct {
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// String returns the name and the reason for messages.
func (o Operator) String() string {
	switch {
	case o.Reason == "":
		return o.Name
	case o.Name == "":
		return o.Reason
	}
	return o.Name + ": " + o.Reason
}
