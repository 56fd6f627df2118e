//go:build unix

package kills

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// A Report has what a [Trial] has counted.
type Report struct {
	Kills, Stops, Disturbances int

	Runs, Steps  int
	Calls        int // of functions
	Attempts     int // that are recorded
	Succeeded    int
	Failed       int
	Lost         int
	Withdrawn    int
	InDoubt      int // steps
	Uncalled     int // attempts that are recorded and were not called: the process died in between
	Acknowledged int // successes

	Repeated   int // attempts that were called more than once
	Uncounted  int // attempts that were called and are not recorded
	Forgotten  int // successes that were acknowledged and are not recorded
	Violations []string
}

// String returns the counts, and the first violations.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d SIGKILL, %d SIGSTOP, %d other disturbances\n", r.Kills, r.Stops, r.Disturbances)
	fmt.Fprintf(&b, "%d runs, %d steps, %d calls, %d acknowledged\n", r.Runs, r.Steps, r.Calls, r.Acknowledged)
	fmt.Fprintf(&b, "%d attempts recorded: %d succeeded, %d failed, %d lost (%d of them not called), %d withdrawn\n",
		r.Attempts, r.Succeeded, r.Failed, r.Lost, r.Uncalled, r.Withdrawn)
	fmt.Fprintf(&b, "%d steps in doubt\n", r.InDoubt)
	fmt.Fprintf(&b, "%d called twice, %d called and not recorded, %d acknowledged and not recorded, %d violations\n",
		r.Repeated, r.Uncounted, r.Forgotten, len(r.Violations))
	for i, v := range r.Violations {
		if i == 20 {
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

// check compares what is recorded with the ledger.
func (p *place) check(ctx context.Context) error {
	r := p.report
	r.Runs = p.runs
	for _, line := range p.ledger.wrong {
		r.add("a worker has printed %q", line)
	}
	recorded, grants := map[attempt]events.Outcome{}, map[string]int{}
	for s, err := range p.engine.Admin().Steps(ctx, admin.Filter{}) {
		if err != nil {
			return err
		}
		n, err := p.checkStep(ctx, s, recorded)
		if err != nil {
			return err
		}
		grants[s.Run] += n
	}
	for n := range p.runs {
		if err := p.checkRun(ctx, n, grants); err != nil {
			return err
		}
	}
	p.checkLedger(recorded)
	return nil
}

// checkStep compares a step with its history. It returns the number of retries.
func (p *place) checkStep(
	ctx context.Context, s admin.StepInfo, recorded map[attempt]events.Outcome,
) (retries int, err error) {
	r := p.report
	r.Steps++
	var history []events.Outcome
	for a, err := range p.engine.Admin().Attempts(ctx, s.Run, s.Step) {
		switch {
		case err != nil:
			return 0, err
		case a.Late:
			continue
		case a.Attempt != len(history)+1:
			r.add("%s of %s: attempt %d follows %d", s.Step, s.Run, a.Attempt, len(history))
		}
		history = append(history, a.Outcome)
		recorded[attempt{s.Run, s.Step, a.Attempt}] = a.Outcome
		if a.Wait > 0 {
			retries++
		}
	}
	last := events.OutcomeSucceeded
	switch {
	case s.Status == storage.StatusInDoubt && strings.HasPrefix(s.Run, chargeHandler):
		r.InDoubt++
		last = events.OutcomeLost
	case s.Status != storage.StatusSucceeded || s.Failures > 1:
		r.add("%s of %s is %s after %d failures", s.Step, s.Run, s.Status, s.Failures)
	}
	end := len(history) - 1
	if end < 0 || len(history) != s.Attempts || history[end] != last ||
		slices.Contains(history[:end], events.OutcomeSucceeded) {
		r.add("%s of %s is %s after %d attempts, and its history is %v", s.Step, s.Run, s.Status, s.Attempts, history)
	}
	return retries, nil
}

// checkRun checks that a run has ended with its result, and what its budget has counted.
func (p *place) checkRun(ctx context.Context, n int, grants map[string]int) error {
	handler := handlers[n%len(handlers)]
	id := runID(handler, n)
	records, err := p.Store.Get(ctx, []storage.Key{
		{Kind: storage.KindRun, Run: id}, {Kind: storage.KindBudget, Run: id},
	})
	if err != nil {
		return err
	}
	switch run := records[0]; {
	case run.Status == storage.StatusPaused && handler == chargeHandler:
		return nil // its step is in doubt
	case run.Status != storage.StatusSucceeded:
		p.report.add("%s was started, and is %s", id, run.Status)
		return nil
	}
	if got, err := durable.Await[int](ctx, p.engine, id); err != nil || got != n {
		p.report.add("the result of %s is %d, %v, want %d", id, got, err, n)
	}
	if handler == stepsHandler {
		var budget struct{ Consumed int }
		if err := json.Unmarshal(records[1].Body, &budget); err != nil || budget.Consumed != grants[id] {
			p.report.add("the budget of %s has counted %d retries, its histories have %d", id, budget.Consumed, grants[id])
		}
	}
	return nil
}

// checkLedger compares the ledger with the attempts that are recorded.
func (p *place) checkLedger(recorded map[attempt]events.Outcome) {
	r, l := p.report, p.ledger
	calls := map[string]int{} // of runs that must not repeat theirs
	for a, n := range l.calls {
		r.Calls += n
		if n > 1 {
			r.Repeated++
			r.add("attempt %d of %s of %s was called %d times", a.number, a.step, a.run, n)
		}
		switch outcome, ok := recorded[a]; {
		case !ok:
			r.Uncounted++
			r.add("attempt %d of %s of %s was called, and is not recorded", a.number, a.step, a.run)
		case outcome == events.OutcomeWithdrawn:
			r.add("attempt %d of %s of %s was called, and is recorded as %s", a.number, a.step, a.run, outcome)
		}
		if strings.HasPrefix(a.run, chargeHandler) {
			if calls[a.run] += n; calls[a.run] > 1 {
				r.add("the function of %s must not be repeated, and was called %d times", a.run, calls[a.run])
			}
		}
	}
	ended := map[string]bool{}
	for a, outcome := range recorded {
		r.Attempts++
		called := l.calls[a] > 0
		switch outcome {
		case events.OutcomeSucceeded:
			r.Succeeded++
			ended[a.run] = true
		case events.OutcomeFailed:
			r.Failed++
		case events.OutcomeLost:
			r.Lost++
			if !called {
				r.Uncalled++
			}
		case events.OutcomeWithdrawn:
			r.Withdrawn++
		default:
			r.add("attempt %d of %s of %s is recorded as %s", a.number, a.step, a.run, outcome)
		}
		if !called && (outcome == events.OutcomeSucceeded || outcome == events.OutcomeFailed) {
			r.add("attempt %d of %s of %s is recorded as %s, and was not called", a.number, a.step, a.run, outcome)
		}
	}
	for a := range l.done {
		r.Acknowledged++
		if a.number == 0 && !ended[a.run] || a.number > 0 && recorded[a] != events.OutcomeSucceeded {
			r.Forgotten++
			r.add("the success of attempt %d of %s of %s was acknowledged, and is not recorded", a.number, a.step, a.run)
		}
	}
}
