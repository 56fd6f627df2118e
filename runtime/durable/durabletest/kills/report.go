//go:build unix

package kills

import (
	"fmt"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable/events"
)

// A Report contains the counts of a [Trial].
type Report struct {
	Kills, Stops, Disturbances int

	Runs, Canceled int // runs that were started, and runs whose cancellation was acknowledged
	OneRecord      int // successful jobs without a record of their step
	Paused         int // how often a run was paused and resumed
	Steps          int
	InDoubt        int // steps in doubt
	Calls          int // function calls
	Acknowledged   int // acknowledged successes

	Attempts int                    // recorded attempts
	Outcomes map[events.Outcome]int // outcomes of the attempts
	Uncalled int                    // recorded attempts without a call, because the process died between the two

	Repeated   int      // attempts whose function was called more than once
	Uncounted  int      // attempts that were executed but not recorded
	Forgotten  int      // acknowledged successes that are not recorded
	Violations []string // descriptions of the attempts and successes above, and of all other violations
}

// executing is the outcome of an attempt whose end is not recorded, as of a run that was
// canceled.
const executing events.Outcome = "executing"

// outcomes are those that attempts may have.
var outcomes = []events.Outcome{
	events.OutcomeSucceeded, events.OutcomeFailed, events.OutcomeLost, events.OutcomeInterrupted,
	events.OutcomeWithdrawn, executing,
}

// maxViolations is the number of violations that String returns.
const maxViolations = 20

// String returns the counts and the first violations.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d SIGKILL, %d SIGSTOP, %d other disturbances\n", r.Kills, r.Stops, r.Disturbances)
	fmt.Fprintf(&b, "%d runs, %d of them jobs of one record, %d canceled, %d times one was paused and resumed\n",
		r.Runs, r.OneRecord, r.Canceled, r.Paused)
	fmt.Fprintf(&b, "%d steps, %d of them in doubt\n", r.Steps, r.InDoubt)
	fmt.Fprintf(&b, "%d calls, %d successes acknowledged\n", r.Calls, r.Acknowledged)
	fmt.Fprintf(&b, "%d attempts recorded, %d of them not called", r.Attempts, r.Uncalled)
	for _, outcome := range outcomes {
		fmt.Fprintf(&b, ", %d %s", r.Outcomes[outcome], outcome)
	}
	fmt.Fprintf(&b, "\n%d called twice, %d called and not recorded, %d acknowledged and not recorded, %d violations\n",
		r.Repeated, r.Uncounted, r.Forgotten, len(r.Violations))
	for i, v := range r.Violations {
		if i == maxViolations {
			fmt.Fprintf(&b, "and %d more\n", len(r.Violations)-i)
			break
		}
		fmt.Fprintln(&b, v)
	}
	return b.String()
}

func (r *Report) add(format string, args ...any) {
	r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
}
