package prodigy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrygen/retrygen/runtime/breaker"
	"github.com/retrygen/retrygen/runtime/durable"
	"github.com/retrygen/retrygen/runtime/durable/admin"
	"github.com/retrygen/retrygen/runtime/durable/genapi"
	"github.com/retrygen/retrygen/runtime/durable/memory"
	"github.com/retrygen/retrygen/runtime/durable/storage"
)

// TestImportItems: items become calls of one step with ids, in a scope, and the
// dead ones dead letters.
func TestImportItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		c := merge(t, open(t, "testdata/job.json"), open(t, "testdata/dead-letters.json"))
		for i := range c.Commands {
			c.Commands[i].Step = Step{Name: "process", ID: genapi.ID(c.Commands[i].ID), Scope: []string{"map"}}
		}
		if _, err := Import(t.Context(), e.Admin(), "run", c); err != nil {
			t.Fatal(err)
		}
		var got []string
		for s, err := range e.Admin().Steps(t.Context(), admin.Filter{Run: "run", Attention: true}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s: %v, %d attempts", s.Step, s.Status, s.Attempts))
		}
		want := []string{
			"map:process/item-1: dead letter, 3 attempts", "map:process/item-2: open, 3 attempts",
			"map:process/item-5: dead letter, 1 attempts",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// attempts returns the history of the step "charge".
func attempts(t *testing.T, e *durable.Engine) (all []admin.AttemptInfo) {
	t.Helper()
	for a, err := range e.Admin().Attempts(t.Context(), "run", "charge") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// TestImportRepeat: a step whose result is not known is executed again once it is
// requeued, as the attempt after the last one.
func TestImportRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		imported(t, e, state(`"attempt_count": 2, "max_attempts": 3,
			"retry_history": [{"attempt_number": 1, "success": false}, {"attempt_number": 2, "success": true}]`))
		calls, err := resume(t, e, &policy5, 1)
		if len(calls) > 0 || !errors.Is(err, durable.ErrResult) {
			t.Errorf("attempts %v, error %v", calls, err)
		}
		if err := e.Admin().Requeue(t.Context(), "run", "charge", admin.Repeat()); err != nil {
			t.Fatal(err)
		}
		calls, err = resume(t, e, &policy5, 1)
		if err != nil {
			t.Fatal(err)
		}
		sameCalls(t, calls, call{3, 0})
	})
}

// TestImportHistory: the attempts before and after the import are one history,
// with one correlation id.
func TestImportHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		c := agent(t, "current", `{"command_retry_states": {"charge": {"attempt_count": 2, "max_attempts": 5,
			"next_retry_at": "2000-01-01T00:00:03Z", "backoff_state": {"strategy": "fixed", "current_delay": "4s"},
			"retry_history": [
				{"attempt_number": 1, "executed_at": "1999-12-31T23:59:50Z", "duration": "1s", "success": false,
					"error": "connection refused", "backoff_applied": "0s", "exit_code": 7},
				{"attempt_number": 2, "executed_at": "1999-12-31T23:59:55Z", "duration": "2s", "success": false,
					"error": "HTTP 503", "backoff_applied": "4s"},
				{"attempt_number": 2, "executed_at": "1999-12-31T23:59:56Z", "success": false, "error": "twice"}]}},
			"retry_correlation_map": {"charge": "c0ffee"}}`)
		report, err := Import(t.Context(), e.Admin(), "run", c)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(report.Conflicts); !strings.Contains(text, "two records of attempt 2") {
			t.Errorf("conflicts %s", text)
		}
		if _, err := resume(t, e, &policy5, 4); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range attempts(t, e) {
			got = append(got, fmt.Sprintf("%d %s after %v, then %v: %q, %s, %v",
				a.Attempt, a.Outcome, a.Duration, a.Wait, a.Error, a.Correlation, a.Started.Format(time.TimeOnly)))
		}
		want := []string{
			`1 failed after 1s, then 4s: "connection refused (exit code 7)", c0ffee, 23:59:50`,
			`2 failed after 2s, then 4s: "HTTP 503", c0ffee, 23:59:55`,
			`3 failed after 0s, then 4s: "HTTP 503", c0ffee, 00:00:03`,
			`4 succeeded after 0s, then 0s: "", c0ffee, 00:00:07`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestImportTwice: repeating an import changes nothing, neither before the run is
// executed nor after. The checkpoint of an agent that has made more attempts
// raises the count.
func TestImportTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		e := newEngine(t, store)
		const form = `"attempt_count": %d, "max_attempts": 5, "retry_history": [{"attempt_number": 1, "success": false}]`
		imported(t, e, state(form, 2))
		before := records(t, store)
		time.Sleep(time.Minute)
		for _, count := range []int{2, 1} {
			imported(t, e, state(form, count))
			if got := records(t, store); got != before {
				t.Errorf("got\n%s\nwant\n%s", got, before)
			}
		}
		imported(t, e, state(form, 3))
		calls, err := resume(t, e, &policy5, 1)
		if err != nil {
			t.Fatal(err)
		}
		sameCalls(t, calls, call{4, 0})
		before = records(t, store)
		for _, count := range []int{2, 3, 4} {
			if _, report := imported(t, e, state(form, count)); report.Unchanged != 1 || len(report.Conflicts) > 0 {
				t.Errorf("got %+v, want nothing changed", report)
			}
			if got := records(t, store); got != before {
				t.Errorf("got\n%s\nwant\n%s", got, before)
			}
		}
		if _, report := imported(t, e, state(form, 5)); len(report.Conflicts) != 1 {
			t.Errorf("got %+v, want the conflict with what was executed", report)
		}
		_, err = Import(t.Context(), e.Admin(), "run", agent(t, "other", `{"command_retry_states": {"other": {"attempt_count": 1,
			"max_attempts": 5}}}`))
		if got := records(t, store); !errors.Is(err, durable.ErrConflict) || got != before {
			t.Errorf("error %v, got\n%s\nwant\n%s", err, got, before)
		}
	})
}

// records returns the runs and steps of a store with their histories, as text.
func records(t *testing.T, s storage.Store) string {
	t.Helper()
	var b strings.Builder
	for _, kind := range []storage.Kind{storage.KindRun, storage.KindStep} {
		found, _, err := s.List(t.Context(), storage.Query{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range found {
			fmt.Fprintf(&b, "%v %d %v %s\n", r.Key, r.Version, r.Status, r.Body)
			if kind != storage.KindStep {
				continue
			}
			entries, _, err := s.History(t.Context(), r.Key, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				fmt.Fprintf(&b, "\t%d %s\n", e.Attempt, e.Body)
			}
		}
	}
	return b.String()
}

// TestImportBreaker: a breaker is restored in a process as it was: open until the
// same time.
func TestImportBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, memory.New())
		c, _ := imported(t, e, fmt.Sprintf(`{"command_retry_states": {}, "circuit_breaker_states": {"charge": {
			"state": "Open", "failure_count": 5, "failure_threshold": 5, "last_failure_at": %s,
			"recovery_timeout": "60s", "half_open_max_calls": 2}}}`, at(-40*time.Second)))
		policy, snapshot, ok := c.Breaker("charge")
		if !ok {
			t.Fatal("no breaker")
		}
		b := breaker.New(policy)
		b.Restore(snapshot)
		for _, want := range []breaker.State{breaker.Open, breaker.HalfOpen} {
			if got := b.State(); got != want {
				t.Errorf("state %v, want %v", got, want)
			}
			time.Sleep(20*time.Second + 1)
		}
		if _, _, ok := c.Breaker("other"); ok {
			t.Error("there is a breaker of another command")
		}
	})
}

// TestImportForms imports every checkpoint in testdata, and lists what was
// recorded.
func TestImportForms(t *testing.T) {
	for _, file := range glob(t, "testdata/*.json") {
		t.Run(file, func(t *testing.T) {
			e := newEngine(t, memory.New())
			c := open(t, file)
			report, err := Import(t.Context(), e.Admin(), "run", c)
			if err != nil {
				t.Fatal(err)
			}
			recorded := map[string]admin.StepInfo{}
			for s, err := range e.Admin().Steps(t.Context(), admin.Filter{Run: "run"}) {
				if err != nil {
					t.Fatal(err)
				}
				recorded[s.Name] = s
			}
			if len(recorded) != len(c.Commands) || len(report.Steps) != len(c.Commands) || len(report.Notes) < len(c.Notes) {
				t.Errorf("%d commands, %d steps, report %+v", len(c.Commands), len(recorded), report)
			}
			for i, cmd := range c.Commands {
				s := recorded[cmd.ID]
				if s.Attempts != cmd.Attempts || s.Status != report.Steps[i].Status || s.Correlation != cmd.Correlation {
					t.Errorf("%+v is recorded as %+v", cmd, s)
				}
			}
		})
	}
}

// TestImportRefused: a command whose id is too long for a step is not cut.
func TestImportRefused(t *testing.T) {
	e := newEngine(t, memory.New())
	c := agent(t, "long", fmt.Sprintf(`{"command_retry_states": {%q: {"attempt_count": 1, "max_attempts": 2}}}`,
		strings.Repeat("x", 5000)))
	if _, err := Import(t.Context(), e.Admin(), "run", c); !errors.Is(err, durable.ErrID) {
		t.Errorf("error %v, want %v", err, durable.ErrID)
	}
}
