//go:build unix

package kills

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/events"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// check compares what is recorded with the ledger.
func (p *place) check(ctx context.Context) error {
	r := p.report
	r.Runs = p.runs
	for _, line := range p.ledger.wrong {
		r.add("a worker has printed %q", line)
	}
	r.Canceled = len(p.canceled)
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
	id := s.Step
	if p.canceled[s.Run] && id == unit.Name {
		// Of a job that was canceled, and whose process has died, nobody has recorded the id.
		id = jobStep(s.Run)
	}
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
		recorded[attempt{s.Run, id, a.Attempt}] = a.Outcome
		if a.Wait > 0 {
			retries++
		}
	}
	for n := len(history) + 1; n <= s.Attempts; n++ {
		recorded[attempt{s.Run, id, n}] = executing
	}
	end := len(history) - 1
	last := events.OutcomeSucceeded
	ok := end >= 0 && len(history) == s.Attempts
	switch {
	case p.canceled[s.Run]:
		ok = s.Attempts-len(history) <= 1
		last = ""
	case s.Status == storage.StatusInDoubt && strings.HasPrefix(s.Run, chargeHandler):
		r.InDoubt++
		if last = events.OutcomeLost; ok && history[end] == events.OutcomeInterrupted {
			last = events.OutcomeInterrupted
		}
	case s.Status != storage.StatusSucceeded || s.Failures > 1:
		ok = false
	}
	if !ok || last != "" && history[end] != last || slices.Contains(history[:max(end, 0)], events.OutcomeSucceeded) {
		r.add("%s of %s is %s after %d attempts and %d failures, and its history is %v",
			s.Step, s.Run, s.Status, s.Attempts, s.Failures, history)
	}
	return retries, nil
}

// checkRun checks that a run has ended with its result, and what its budget has counted.
func (p *place) checkRun(ctx context.Context, n int, grants map[string]int) error {
	handler := handlers[n%len(handlers)]
	id := runID(handler, n)
	step := storage.Key{Kind: storage.KindStep, Run: id, ID: charge.Name}
	if handler == jobHandler {
		step.ID = jobStep(id)
	}
	records, err := p.Store.Get(ctx, []storage.Key{
		{Kind: storage.KindRun, Run: id}, {Kind: storage.KindBudget, Run: id}, step,
	})
	if err != nil {
		return err
	}
	switch run := records[0]; {
	case p.canceled[id]:
		if run.Status != storage.StatusCanceled {
			p.report.add("%s was canceled, and is %s", id, run.Status)
		}
		return nil
	case run.Status == storage.StatusPaused && handler == chargeHandler:
		return nil // its step is in doubt
	case run.Status != storage.StatusSucceeded:
		p.report.add("%s was started, and is %s", id, run.Status)
		return nil
	}
	if got, err := durable.Await[int](ctx, p.engine, id); err != nil || got != n {
		p.report.add("the result of %s is %d, %v, want %d", id, got, err, n)
	}
	if handler != stepsHandler && records[2].Version == 0 {
		p.report.OneRecord++
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
			r.add("%v was called %d times", a, n)
		}
		switch outcome, ok := recorded[a]; {
		case !ok:
			r.Uncounted++
			r.add("%v was called, and is not recorded", a)
		case outcome == events.OutcomeWithdrawn:
			r.add("%v was called, and is recorded as %s", a, outcome)
		}
		if strings.HasPrefix(a.run, chargeHandler) {
			if calls[a.run] += n; calls[a.run] > 1 {
				r.add("the function of %s must not be repeated, and was called %d times", a.run, calls[a.run])
			}
		}
	}
	for a, outcome := range recorded {
		r.Attempts++
		r.Outcomes[outcome]++
		called := l.calls[a] > 0
		if !slices.Contains(outcomes, outcome) {
			r.add("%v is recorded as %s", a, outcome)
		}
		if called || outcome == events.OutcomeWithdrawn {
			continue
		}
		r.Uncalled++
		if outcome == events.OutcomeSucceeded || outcome == events.OutcomeFailed {
			r.add("%v is recorded as %s, and was not called", a, outcome)
		}
	}
	for a := range l.done {
		r.Acknowledged++
		switch {
		case a.number == 0 && p.canceled[a.run]:
			r.Forgotten++
			r.add("the success of %s was acknowledged, and its cancellation, too", a.run)
		case a.number > 0 && recorded[a] != events.OutcomeSucceeded:
			r.Forgotten++
			r.add("the success of %v was acknowledged, and is not recorded", a)
		}
	}
}
