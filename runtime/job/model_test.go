package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	retry "github.com/retrygen/retrygen/runtime"
	"github.com/retrygen/retrygen/runtime/breaker"
)

// A plannedUnit ends after a time that no sum of those of others equals.
type plannedUnit struct {
	name  string
	takes time.Duration
	fails bool
}

// An ending is the report of a unit.
type ending struct {
	plannedUnit
	at time.Duration
}

// endings returns the reports of units that so many workers run, in their order.
func endings(workers int, plan []plannedUnit) (list []ending) {
	free := make([]time.Duration, workers)
	for _, u := range plan {
		i := slices.Index(free, slices.Min(free))
		free[i] += u.takes
		list = append(list, ending{u, free[i]})
	}
	slices.SortFunc(list, func(a, b ending) int { return int(a.at - b.at) })
	return list
}

// failures returns the reports of units that have failed.
func failures(history []ending) []ending {
	return slices.DeleteFunc(slices.Clone(history), func(e ending) bool { return !e.fails })
}

// stopsBreaker reports whether the breaker was open when the last unit failed. It
// replays the history.
func stopsBreaker(b *breaker.Policy, history []ending) (stops bool) {
	if b == nil {
		return false
	}
	failed, succeeded := 0, 0
	var openUntil time.Duration
	state := "closed"
	for _, e := range history {
		if state == "open" && e.at > openUntil {
			state, succeeded = "half-open", 0
		}
		switch stops = false; {
		case state == "open":
			stops = e.fails
		case e.fails:
			if failed++; state == "half-open" || failed >= b.Failures {
				state, openUntil = "open", e.at+b.OpenFor
			}
		default:
			if succeeded++; state == "closed" || succeeded >= b.Successes {
				state, failed = "closed", 0
			}
		}
	}
	return stops
}

// stop returns why the error policy stops a group after the last report, or "".
// percent is the failure rate.
func stop(p GroupPolicy, percent int, history []ending) string {
	failed := len(failures(history))
	switch {
	case stopsBreaker(p.Breaker, history):
		return fmt.Sprintf("breaker_open (failed: %d)", failed)
	case p.MaxFailures > 0 && failed >= p.MaxFailures:
		return fmt.Sprintf("max_failures_reached (%d/%d)", failed, p.MaxFailures)
	case percent > 0 && len(history) >= p.MinUnits && 100*failed > percent*len(history):
		return fmt.Sprintf("failure_rate_exceeded (%d/%d)", failed, len(history))
	case p.OnUnitFailure == FailureStop && history[len(history)-1].fails:
		return fmt.Sprintf("unit_failed (failed: %d)", failed)
	}
	return ""
}

// predict returns what a run must do, as describe writes it.
func predict(p GroupPolicy, percent int, plan []plannedUnit) string {
	workers := p.Workers
	if workers == 0 {
		workers = len(plan)
	}
	end, isTimeout := p.Timeout, true
	enough := len(plan) + 1
	if e := p.BestEffort; e != nil {
		enough = min(e.MinSuccess, len(plan))
		if e.Deadline <= p.Timeout {
			end, isTimeout = e.Deadline, false
		}
	}
	released := ""
	var history []ending
	for _, e := range endings(workers, plan) {
		if e.at >= end {
			break
		}
		history = append(history, e)
		succeeded := len(history) - len(failures(history))
		if reason := stop(p, percent, history); reason != "" {
			return released + describe(e.at, reason, released != "", p, history)
		}
		if len(history) == len(plan) {
			return released + describe(e.at, "all_dcs_reported", succeeded > 0, p, history)
		}
		if succeeded < enough || released != "" {
			continue
		}
		outcome := describe(e.at, fmt.Sprintf("min_dcs_reached (%d/%d)", succeeded, enough), true, p, history)
		if p.BestEffort.Late == LateLog {
			return outcome
		}
		released = outcome + "; then "
	}
	if isTimeout {
		return released + describe(end, "timeout", false, p, history)
	}
	succeeded := len(history) - len(failures(history))
	return released + describe(end, fmt.Sprintf("deadline_expired (completed: %d)", succeeded), succeeded > 0, p, history)
}

// describe writes an outcome as the history of the units leads to it.
func describe(at time.Duration, reason string, success bool, p GroupPolicy, history []ending) string {
	var results, failed []string
	for _, e := range history {
		if e.fails {
			failed = append(failed, e.name)
		} else {
			results = append(results, e.name)
		}
	}
	kept, letters := failed, ""
	if n := int(p.Collect); n > 0 {
		kept = failed[len(failed)/n*n:]
	} else if n < 0 {
		kept = failed[:min(1, len(failed))]
	}
	if p.OnUnitFailure == FailureDeadLetter {
		letters = strings.Join(failed, "")
	}
	return line(at, reason, success, results, kept, letters)
}

// line writes an outcome.
func line(at time.Duration, reason string, success bool, results, errors []string, letters string) string {
	slices.Sort(results)
	errors = slices.Sorted(slices.Values(errors))
	return fmt.Sprintf("%v: %s, success %v, results %s, errors %s, dead letters %s", at, reason, success,
		strings.Join(results, ""), strings.Join(errors, ""), letters)
}

// random returns a policy, its failure rate in percent, and units.
func random(r *rand.Rand) (p GroupPolicy, percent int, plan []plannedUnit) {
	ms := func(most int) time.Duration { return time.Duration(1+r.IntN(most)) * time.Millisecond }
	share := r.IntN(101) // of units that fail
	for i := range 1 + r.IntN(14) {
		plan = append(plan, plannedUnit{string(rune('a' + i)), ms(50) + 1<<i, r.IntN(100) < share})
	}
	p = GroupPolicy{
		Timeout: ms(400), Workers: r.IntN(5), OnUnitFailure: FailureAction(r.IntN(3)), Collect: Collect(r.IntN(5) - 1),
		MinUnits: 1 + r.IntN(6),
	}
	if r.IntN(2) == 0 {
		p.MaxFailures = 1 + r.IntN(6)
	}
	if r.IntN(2) == 0 {
		percent = 1 + r.IntN(99)
		p.FailureRate = float64(percent) / 100
	}
	if r.IntN(2) == 0 {
		p.Breaker = &breaker.Policy{Failures: 1 + r.IntN(3), OpenFor: ms(60), Successes: 1 + r.IntN(3)}
	}
	if r.IntN(2) == 0 {
		p.BestEffort = &BestEffort{
			MinSuccess: 1 + r.IntN(8), Deadline: ms(400), Late: Late(r.IntN(2)), CheckEvery: ms(100),
		}
	}
	return p, percent, plan
}

// Run does what a simple model says, whatever the policy is.
func TestModel(t *testing.T) {
	for seed := range uint64(3000) {
		p, percent, plan := random(rand.New(rand.NewPCG(seed, 1)))
		want := predict(p, percent, plan)
		synctest.Test(t, func(t *testing.T) {
			if got := execute(t, p, plan); got != want {
				t.Errorf("seed %d: %+v %+v, effort %+v, breaker %+v:\n got %s\nwant %s", seed, p, plan, p.BestEffort,
					p.Breaker, got, want)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// execute runs the units, and writes the outcomes as describe does.
func execute(t *testing.T, p GroupPolicy, plan []plannedUnit) string {
	start := time.Now()
	write := func(out Outcome[int], err error) string {
		reason := out.String()
		if err != nil {
			reason = "timeout"
			if !errors.Is(err, retry.ErrTimeout) || out.Complete {
				t.Errorf("%+v, %v", out, err)
			}
		}
		if out.Completed != len(out.Results) || p.OnUnitFailure == FailureDeadLetter && out.Failed != len(out.DeadLetters) {
			if err == nil || out.Reason != ReasonEnough {
				t.Errorf("the counts are wrong: %+v", out)
			}
		}
		return line(time.Since(start), reason, out.Success && err == nil, slices.Collect(maps.Keys(out.Results)),
			slices.Collect(maps.Keys(out.Errors)), strings.ReplaceAll(units(out.DeadLetters), " ", ""))
	}
	byName := map[string]plannedUnit{}
	var names []string
	for _, u := range plan {
		byName[u.name] = u
		names = append(names, u.name)
	}
	g := NewGroup(p, "")
	passedOn := 0
	g.Observe(func(_ context.Context, e Event) {
		if e.Kind == EventFailures {
			passedOn += len(e.Failures)
			if len(e.Failures) != int(p.Collect) {
				t.Errorf("a batch of %d, want %d", len(e.Failures), p.Collect)
			}
		}
	})
	released := ""
	out, err := Run(t.Context(), g, names, func(ctx context.Context, name string) (int, error) {
		u := byName[name]
		select {
		case <-time.After(u.takes):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		if u.fails {
			return 0, errFailed
		}
		return 1, nil
	}, func(out Outcome[int]) { released = write(out, nil) + "; then " })
	got := released + write(out, err)
	if p.Collect > 0 && passedOn+len(out.Errors) != out.Failed {
		t.Errorf("%d failures, of which %d are passed on and %d kept", out.Failed, passedOn, len(out.Errors))
	}
	synctest.Wait()
	return got
}
