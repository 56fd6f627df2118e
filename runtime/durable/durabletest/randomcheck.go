package durabletest

import (
	"encoding/json"
	"slices"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// check compares the records with what has happened.
func (w *world) check() {
	p := w.process(w.store)
	defer p.die()
	e := p.Engine
	grants := 0
	for s, err := range e.Admin().Steps(w.t.Context(), admin.Filter{Run: worldRun}) {
		if err != nil {
			w.t.Fatal(err)
		}
		grants += w.checkStep(e, s.Step, s)
	}
	key := storage.Key{Kind: storage.KindBudget, Space: w.namespace(), Run: worldRun}
	records, err := w.store.Get(w.t.Context(), []storage.Key{key})
	if err != nil {
		w.t.Fatal(err)
	}
	var budget struct{ Consumed int }
	if err := json.Unmarshal(records[0].Body, &budget); err != nil {
		w.t.Fatal(err)
	}
	if budget.Consumed != grants || budget.Consumed > w.budget {
		w.fail("the budget of %d has counted %d retries, the histories have %d", w.budget, budget.Consumed, grants)
	}
}

// checkStep checks one step and returns the number of its retries.
func (w *world) checkStep(e *durable.Engine, name string, s admin.StepInfo) (grants int) {
	succeeded, last := 0, 0
	outcomes := map[int]events.Outcome{}
	for a, err := range e.Admin().Attempts(w.t.Context(), worldRun, name) {
		if err != nil {
			w.t.Fatal(err)
		}
		if a.Late || a.Outcome == events.OutcomeResolved {
			continue
		}
		if a.Attempt != last+1 {
			w.fail("step %s: attempt %d follows %d", name, a.Attempt, last)
		}
		last, outcomes[a.Attempt] = a.Attempt, a.Outcome
		if a.Outcome == events.OutcomeSucceeded {
			succeeded = a.Attempt
		}
		if a.Wait > 0 && a.Outcome != events.OutcomeInterrupted {
			grants++
		}
	}
	p := w.policy[name]
	switch {
	case s.Attempts != last:
		w.fail("step %s has %d attempts, its history %d", name, s.Attempts, last)
	case succeeded > 0 && succeeded != last:
		w.fail("step %s: attempt %d follows the success of %d", name, last, succeeded)
	case s.Failures > p.Policy.MaxAttempts:
		w.fail("step %s has failed %d times, at most %d are allowed", name, s.Failures, p.Policy.MaxAttempts)
	}
	w.checkCalls(name, s, outcomes)
	if name == "a" {
		w.checkGiven(s, succeeded)
	}
	return grants
}

// checkGiven checks that step b was only called with the result of step a that is
// recorded: the number of the attempt that has succeeded.
func (w *world) checkGiven(a admin.StepInfo, succeeded int) {
	for _, c := range w.calls {
		if c.Step == "b" && c.given != succeeded {
			w.fail("step b was called with the result %d of step a, which is %v with %d", c.given, a.Status, succeeded)
		}
	}
}

// checkCalls checks the calls of the function of a step.
func (w *world) checkCalls(name string, s admin.StepInfo, outcomes map[int]events.Outcome) {
	called := map[int]bool{}
	calls := slices.DeleteFunc(slices.Clone(w.calls), func(c worldCall) bool { return c.Step != name })
	slices.SortFunc(calls, func(a, b worldCall) int { return a.order - b.order })
	for i, c := range calls {
		outcome := outcomes[c.Attempt]
		switch {
		case called[c.Attempt]:
			w.fail("step %s: attempt %d was executed twice", name, c.Attempt)
		case c.Attempt > s.Attempts:
			w.fail("step %s: attempt %d was executed, %d are recorded", name, c.Attempt, s.Attempts)
		case outcome == events.OutcomeWithdrawn || outcome == events.OutcomeRefused:
			w.fail("step %s: attempt %d was executed, and recorded as %s", name, c.Attempt, outcome)
		case outcome == events.OutcomeSucceeded && c.err != nil || outcome == events.OutcomeFailed && c.err == nil:
			w.fail("step %s: attempt %d returned %v, recorded as %s", name, c.Attempt, c.err, outcome)
		case c.Key != s.Key:
			w.fail("step %s: attempt %d had the key %s, want %s", name, c.Attempt, c.Key, s.Key)
		}
		called[c.Attempt] = true
		if i == 0 {
			continue
		}
		before := calls[i-1]
		if before.Attempt > c.Attempt {
			w.fail("step %s: attempt %d was executed after attempt %d", name, c.Attempt, before.Attempt)
		}
		lost := outcomes[before.Attempt] == events.OutcomeLost || outcomes[before.Attempt] == events.OutcomeInterrupted
		if lost && name == "b" && w.policy["b"].OnLost != genapi.OnLostRetry && !w.resolved["b"] {
			w.fail("step b: attempt %d was executed although %d is in doubt", c.Attempt, before.Attempt)
		}
	}
}
